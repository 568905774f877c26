"""The floor: plain SQLite, insert + claim + complete, with nothing else."""

import sqlite3
import tempfile
import time
from pathlib import Path


def rate(count: int, per_transaction: int) -> float:
    """Jobs a second through a bare table, so many in a transaction, durable."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        raw = sqlite3.connect(Path(folder) / "floor.db", isolation_level=None)
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("PRAGMA synchronous=FULL")
        raw.execute("CREATE TABLE jobs (id INTEGER PRIMARY KEY, status TEXT, params TEXT)")
        raw.execute("CREATE INDEX ready ON jobs (id) WHERE status = 'QUEUED'")
        began = time.perf_counter()
        for start in range(0, count, per_transaction):
            _round(raw, per_transaction, start)
        seconds = time.perf_counter() - began
        raw.close()
    return count / seconds


def _round(raw: sqlite3.Connection, size: int, start: int) -> None:
    raw.execute("BEGIN IMMEDIATE")
    raw.executemany(
        "INSERT INTO jobs VALUES (?, 'QUEUED', '{}')", [(start + n,) for n in range(size)]
    )
    raw.execute("COMMIT")
    raw.execute("BEGIN IMMEDIATE")
    query = "SELECT id FROM jobs WHERE status = 'QUEUED' ORDER BY id LIMIT ?"
    ids = [(row[0],) for row in raw.execute(query, (size,)).fetchall()]
    raw.executemany("UPDATE jobs SET status = 'RUNNING' WHERE id = ?", ids)
    raw.execute("COMMIT")
    raw.execute("BEGIN IMMEDIATE")
    raw.executemany("UPDATE jobs SET status = 'DONE' WHERE id = ?", ids)
    raw.execute("COMMIT")
