"""Two workers are killed, frozen and stopped at random while short jobs run: it all adds up.

`HEADWAY_CHAOS_JOBS=10000` makes it a long one; `HEADWAY_CHAOS_SEED` repeats one.
"""

import os
import random
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.servers import Process, Server, Stage

COUNT = int(os.environ.get("HEADWAY_CHAOS_JOBS", "400"))
SEED = int(os.environ.get("HEADWAY_CHAOS_SEED", str(random.randrange(10**9))))
PATIENCE_S = 60 + COUNT / 10
TTL_S = 2.0
AT_ONCE = 3
"""How many of these jobs may run at once: fewer than the workers have slots for."""

APP = """
import os, time
import headway

app = headway.App()


@app.job
def line(ctx: headway.JobContext, name: str) -> str:
    time.sleep(0.03)
    handle = os.open("lines.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, f"{name} {ctx.run_id}\\n".encode())
    os.close(handle)
    return name
"""

BALANCE = """
SELECT (SELECT count(*) FROM leases), (SELECT count(*) FROM jobs WHERE status = 'RUNNING'),
    (SELECT count(*) FROM runs WHERE status IS NULL),
    (SELECT count(*) FROM jobs WHERE finished_at IS NULL)
"""


class Books:
    """Looks into the database all the time: leases, running jobs and open runs are the same."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.wrong: list[Any] = []
        self.looks = 0
        self.left = COUNT

    def _watch(self) -> None:
        books = sqlite3.connect(f"file:{self._file}?mode=ro", uri=True)
        while not self._closing.wait(0.01):
            leases, running, open_runs, self.left = books.execute(BALANCE).fetchone()
            self.looks += 1
            if not leases == running == open_runs <= AT_ONCE:
                self.wrong.append((leases, running, open_runs))
        books.close()

    @contextmanager
    def open(self) -> Iterator[None]:
        """Look from now on."""
        self._thread.start()
        try:
            yield
        finally:
            self._closing.set()
            self._thread.join()


class Chaos:
    """Two workers, and what happens to them."""

    def __init__(self, stage: Stage, server: Server) -> None:
        self._stage = stage
        self._server = server
        self._chance = random.Random(SEED)
        self._kinds: list[dict[str, Any]] = [{"capabilities": ["gpu"]}, {}]
        self._workers = [self._start(kind) for kind in self._kinds]
        self.deeds: Counter[str] = Counter()

    def _start(self, kind: dict[str, Any]) -> Process:
        return self._stage.work(self._server, app="lines:app", slots=2, **kind)

    def strike(self) -> None:
        """Something happens to one of them."""
        which = self._chance.randrange(2)
        deeds: list[Callable[[int], None]] = [self._kill, self._freeze, self._stop]
        deed = self._chance.choice(deeds)
        self.deeds[deed.__name__] += 1
        deed(which)

    def _kill(self, which: int) -> None:
        self._workers[which].kill()
        self._workers[which] = self._start(self._kinds[which])

    def _freeze(self, which: int) -> None:
        """Often for longer than its leases last."""
        self._workers[which].send(signal.SIGSTOP)
        time.sleep(self._chance.uniform(0.1, 1.5 * TTL_S))
        self._workers[which].send(signal.SIGCONT)

    def _stop(self, which: int) -> None:
        assert self._workers[which].stop() == 0
        self._workers[which] = self._start(self._kinds[which])


@pytest.mark.timeout(PATIENCE_S + 60)
def test_every_line_is_there_and_no_run_happened_twice(stage: Stage) -> None:
    (stage.folder / "lines.py").write_text(APP)
    server = stage.serve(app=None, lease_ttl_s=TTL_S)
    server.http.put("/api/limits/type:line", json={"size": AT_ONCE})
    for start in range(0, COUNT, 1000):
        submit(server, range(start, min(start + 1000, COUNT)))
    books = Books(server.data / "headway.db")
    give_up = time.monotonic() + PATIENCE_S
    with books.open():
        chaos = Chaos(stage, server)
        while books.left > COUNT / 10 and time.monotonic() < give_up:
            chaos.strike()
        while books.left and time.monotonic() < give_up:
            time.sleep(0.05)
    print(f"seed {SEED}: {dict(chaos.deeds)}, {books.looks} looks")
    assert books.left == 0, f"seed {SEED}: jobs are left"
    assert books.wrong == [], f"seed {SEED}"
    check(server.data / "headway.db", lines_of(stage))


def submit(server: Server, numbers: range) -> None:
    policy = {"max_attempts": 1000, "base_delay_s": 0, "max_crashes": 1000}
    jobs = [
        {
            "job_type": "line",
            "params": {"name": str(number)},
            "requires": ["gpu"] if number % 2 else [],
            "retry_policy": policy,
        }
        for number in numbers
    ]
    server.post("/api/jobs/batch", jobs=jobs)


def lines_of(stage: Stage) -> list[tuple[str, str]]:
    """Job and run of each line."""
    lines = (stage.folder / "lines.txt").read_text().splitlines()
    return [(name, run_id) for name, run_id in (line.split() for line in lines)]


def check(file: Path, lines: list[tuple[str, str]]) -> None:
    """Each job has one run that was acknowledged, with one line, and no run has two."""
    books = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    rows = books.execute(
        "SELECT j.chain, r.run_id FROM runs r JOIN jobs j ON j.number = r.job_number"
        " WHERE r.status = 'COMPLETED'"
    ).fetchall()
    books.close()
    good = {run_id for _, run_id in rows}
    assert Counter(chain for chain, _ in rows) == Counter(range(1, COUNT + 1)), f"seed {SEED}"
    per_run = Counter(run_id for _, run_id in lines)
    assert set(per_run.values()) == {1}, f"seed {SEED}: a run happened twice"
    written = {name for name, run_id in lines if run_id in good}
    assert written == {str(number) for number in range(COUNT)}, f"seed {SEED}: lines are missing"
