"""Peers in environments of their own: Procrastinate, PgQueuer and Oban, draining no-op jobs."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import postgres

PACKAGES = ("procrastinate", "pgqueuer", "asyncpg", "psycopg[binary,pool]")
OBAN_PACKAGES = ("oban", "psycopg[binary,pool]")
OBAN_PYTHONS = (sys.executable, "python3.14", "python3.13", "python3.12")
"""Where a Python is looked for that is new enough for Oban: 3.12."""

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

OBAN = """
import asyncio, sys, time
from oban import Oban, worker
from oban.schema import install

@worker()
class Noop:
    async def process(self, job):
        pass

async def main(url, count, most):
    pool = await Oban.create_pool(dsn=url, max_size=20)
    await install(pool)
    client = Oban(pool=pool)
    for start in range(0, count, 1000):
        await client.enqueue_many(*[Noop.new({}) for _ in range(min(1000, count - start))])
    began = time.perf_counter()
    async with Oban(pool=pool, queues={"default": most}):
        while await left(pool):
            await asyncio.sleep(0.05)
        print(count / (time.perf_counter() - began))
    await pool.close()

async def left(pool):
    async with pool.connection() as connection:
        cursor = await connection.execute(
            "SELECT 1 FROM oban_jobs WHERE state <> 'completed' LIMIT 1")
        return await cursor.fetchone()

asyncio.run(main(sys.argv[1], *map(int, sys.argv[2:])))
"""


class Peers:
    """An environment with peers in it."""

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
    """Procrastinate and PgQueuer; the packages are fetched."""
    with _environment(sys.executable, PACKAGES) as peers:
        yield peers


@contextmanager
def oban() -> Iterator[Peers | None]:
    """Oban, if there is a Python that is new enough for it."""
    found = next((one for one in map(shutil.which, OBAN_PYTHONS) if one and _is_new(one)), None)
    if found is None:
        yield None
        return
    with _environment(found, OBAN_PACKAGES) as peers:
        yield peers


def _is_new(python: str) -> bool:
    check = [python, "-c", "import sys, ensurepip; sys.exit(sys.version_info < (3, 12))"]
    return subprocess.run(check, capture_output=True).returncode == 0


@contextmanager
def _environment(python: str, packages: tuple[str, ...]) -> Iterator[Peers]:
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        subprocess.run([python, "-m", "venv", folder], check=True, stdout=sys.stderr)
        own = Path(folder) / "bin" / "python"
        install = [str(own), "-m", "pip", "install", "-q", *packages]
        subprocess.run(install, check=True, stdout=sys.stderr)
        yield Peers(own)
