"""The SQLite schema, as migrating from empty makes it."""

import contextlib
import sqlite3
import tempfile
from pathlib import Path

from headway.clock import SystemClock
from headway.storage.sqlite.database import SqliteDatabase

HEAD = """\
-- The SQLite schema as the migrations make it. Written by `python -m docs_tools`.
-- PostgreSQL has the same tables; compare src/headway/storage/*/migrations.
"""


def page() -> str:
    """Every table and index, in the order in which they were made."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "headway.db"
        database = SqliteDatabase(path, SystemClock())
        database.migrate()
        database.close()
        with contextlib.closing(sqlite3.connect(path)) as connection:
            rows = connection.execute(
                "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%'"
                " ORDER BY rowid"
            ).fetchall()
    return HEAD + "".join(f"\n{sql};\n" for (sql,) in rows)
