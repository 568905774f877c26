"""Peers in an environment of their own: Procrastinate and PgQueuer, draining no-op jobs."""

import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import postgres

PACKAGES = ("procrastinate", "pgqueuer", "asyncpg", "psycopg[binary,pool]")

PROCRASTINATE = """
import asyncio, sys, time
import procrastinate

async def main(url, count, concurrency):
    connector = procrastinate.PsycopgConnector(conninfo=url, max_size=20)
    app = procrastinate.App(connector=connector)

    @app.task(name="noop")
    async def noop():
        pass

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for start in range(0, count, 1000):
            await noop.batch_defer_async(*[{} for _ in range(min(1000, count - start))])
        began = time.perf_counter()
        await app.run_worker_async(concurrency=concurrency, wait=False, listen_notify=False)
        print(count / (time.perf_counter() - began))

asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
"""

PGQUEUER = """
import asyncio, sys, time
import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode

async def main(url, count, batch, most=None):
    async with asyncpg.create_pool(url, min_size=4, max_size=10) as pool:
        driver = AsyncpgPoolDriver(pool)
        queries = Queries(driver)
        await queries.install()
        queue = PgQueuer(driver)

        @queue.entrypoint("noop")
        async def noop(job):
            pass

        for start in range(0, count, 1000):
            size = min(1000, count - start)
            await queries.enqueue(["noop"] * size, [None] * size, [0] * size)
        began = time.perf_counter()
        await queue.run(
            batch_size=batch, max_concurrent_tasks=most, mode=QueueExecutionMode.drain)
        print(count / (time.perf_counter() - began))

asyncio.run(main(sys.argv[1], *map(int, sys.argv[2:])))
"""


class Peers:
    """An environment with the peers in it."""

    def __init__(self, python: Path) -> None:
        self._python = python

    def drain(self, program: str, url: str, count: int, *numbers: int) -> float:
        """Jobs a second; the numbers say how many are taken, and how many are at work, at once."""
        with postgres.database(url) as db:
            answer = subprocess.run(
                [self._python, "-c", program, db, str(count), *map(str, numbers)],
                check=True,
                capture_output=True,
                text=True,
                timeout=300,
            )
        return float(answer.stdout.strip().splitlines()[-1])


@contextmanager
def installed() -> Iterator[Peers]:
    """Make the environment; the packages are fetched."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        install = [str(python), "-m", "pip", "install", "-q", *PACKAGES]
        subprocess.run(install, check=True, stdout=sys.stderr)
        yield Peers(python)
