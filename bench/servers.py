"""Servers: how fast several processes on one PostgreSQL drain one queue."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from bench import far
from bench.bed import bed, working
from bench.drain import fill, wait_for, wait_here
from headway.storage.engine.transaction import READY, Transaction


def drain(
    count: int, servers: int, slots: int, db: str, *, limited: bool, away_ms: float = 0.0
) -> float:
    """Jobs a second. Without a limit that all share, no claim waits for another."""
    with bed(db) as scheduler, _url(scheduler.store.database.url, away_ms) as url:
        if not limited:
            scheduler.store.write(lambda tx: tx.do("remove_limit", name="capacity"))
        fill(scheduler, count)
        scheduler.store.write(_pause)
        command = [sys.executable, "-m", "bench.servers", url, str(slots)]
        started = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(servers)
        ]
        for one in started:
            assert one.stdout is not None
            one.stdout.readline()
        began = time.perf_counter()
        scheduler.store.write(_resume)
        wait_for(scheduler, count)
        seconds = time.perf_counter() - began
        for one in started:
            one.communicate()
    return count / seconds


@contextmanager
def _url(near: str, away_ms: float) -> Iterator[str]:
    if not away_ms:
        yield near
        return
    with far.relay(near, away_ms) as url:
        yield url


def drain_beside_the_dead(count: int, dead: int, db: str) -> float:
    """Jobs a second of one server beside so many jobs that ended long ago."""
    with bed(db) as scheduler:
        fill(scheduler, 1)
        scheduler.store.write(lambda tx: _bury(tx, dead))
        with psycopg.connect(scheduler.store.database.url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")  # they ended long ago
            connection.execute("CHECKPOINT")
        fill(scheduler, count - 1)
        began = time.perf_counter()
        with working(scheduler, 400):
            wait_here(scheduler, count)
        return count / (time.perf_counter() - began)


def _pause(tx: Transaction) -> None:
    tx.do("put_pause", queue="", job_type="", since=tx.now_ms)


def _resume(tx: Transaction) -> None:
    tx.do("remove_pauses")
    tx.wake(READY)


def _bury(tx: Transaction, count: int) -> None:
    """Finished jobs with their runs and their history."""
    for statement in _DEAD:
        tx.select(f"WITH made AS ({statement} RETURNING 1) SELECT count(*) FROM made", {"n": count})
    tx.select(
        "SELECT setval('job_numbers', 1 + :n), setval('positions', (1 + :n) * 100)", {"n": count}
    )


_DEAD = (
    """
    INSERT INTO jobs (number, job_id, lane_id, payload_id, status, priority, position, terms, chain,
        run_id, created_at, queued_at, started_at, finished_at)
    SELECT n + 1, gen_random_uuid(), 1, 0, 'SUCCEEDED', 0, n * 100, '{}', n + 1,
        'run-' || n, n, n, n, n
    FROM generate_series(1, CAST(:n AS bigint)) n
    """,
    """
    INSERT INTO runs (run_id, job_number, attempt, generation, status, payload_id,
        started_at, finished_at)
    SELECT 'run-' || n, n + 1, 0, 1, 'COMPLETED', 0, n, n
    FROM generate_series(1, CAST(:n AS bigint)) n
    """,
    """
    INSERT INTO events (at, kind, job_number)
    SELECT n, 'job.finished', n + 1 FROM generate_series(1, CAST(:n AS bigint)) n
    """,
)


def _serve(url: str, slots: int) -> None:
    with bed(url, None, fresh=False) as scheduler, working(scheduler, slots):
        print("ready", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]))
