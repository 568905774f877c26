"""The floor: one table in plain SQLite, with nothing around it."""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.cost import Cost, Meter

TABLE = """
CREATE TABLE jobs (
    number      INTEGER PRIMARY KEY,
    job_type    TEXT NOT NULL,
    params      TEXT NOT NULL,
    status      TEXT NOT NULL DEFAULT 'QUEUED',
    priority    INTEGER NOT NULL DEFAULT 0,
    created_at  INTEGER NOT NULL,
    worker      TEXT,
    started_at  INTEGER,
    finished_at INTEGER,
    result      TEXT
)
"""
READY = "CREATE INDEX ready ON jobs (priority DESC, number) WHERE status = 'QUEUED'"
SUBMIT = "INSERT INTO jobs (job_type, params, created_at) VALUES ('noop', '{}', 1)"
CLAIM = """
UPDATE jobs SET status = 'RUNNING', worker = 'w', started_at = 2 WHERE number IN (
    SELECT number FROM jobs WHERE status = 'QUEUED' ORDER BY priority DESC, number LIMIT ?
) RETURNING number
"""
DONE = "UPDATE jobs SET status = 'SUCCEEDED', finished_at = 3, result = 'null' WHERE number = ?"


def submit(count: int, batch: int) -> Cost:
    """Insert so many jobs, a batch in each transaction."""
    with _table() as raw:
        meter = Meter()
        for start in range(0, count, batch):
            _insert(raw, min(batch, count - start))
        return meter.cost(count)


def claim_and_done(count: int, batch: int) -> Cost:
    """Claim a batch in one transaction and end it in the next, until no job is left."""
    with _table() as raw:
        _insert(raw, count)
        meter = Meter()
        while claimed := _claim(raw, batch):
            raw.execute("BEGIN IMMEDIATE")
            raw.executemany(DONE, claimed)
            raw.execute("COMMIT")
        return meter.cost(count)


def _claim(raw: sqlite3.Connection, batch: int) -> list[tuple[int]]:
    raw.execute("BEGIN IMMEDIATE")
    claimed = raw.execute(CLAIM, (batch,)).fetchall()
    raw.execute("COMMIT")
    return claimed


def _insert(raw: sqlite3.Connection, count: int) -> None:
    raw.execute("BEGIN IMMEDIATE")
    raw.executemany(SUBMIT, [()] * count)
    raw.execute("COMMIT")


@contextmanager
def _table() -> Iterator[sqlite3.Connection]:
    """An empty table whose writes are as durable as Headway's."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        raw = sqlite3.connect(Path(folder) / "floor.db", isolation_level=None)
        try:
            raw.execute("PRAGMA journal_mode=WAL")
            raw.execute("PRAGMA synchronous=FULL")
            raw.execute(TABLE)
            raw.execute(READY)
            yield raw
        finally:
            raw.close()
