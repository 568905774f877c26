"""A process that needs a lock of the file waits for the one that has it."""

import contextlib
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.helpers import MovableClock, newest_numbers

from headway import local_wiring
from headway.domain import errors
from headway.settings import Settings
from headway.storage.sqlite import files
from headway.storage.sqlite.database import SqliteDatabase


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """SQLite's own time-out has passed at once; the event is set when a statement is retried."""
    retried = threading.Event()

    class Waiting:
        monotonic = staticmethod(time.monotonic)

        @staticmethod
        def sleep(seconds: float) -> None:
            retried.set()
            threading.Event().wait(seconds)

    monkeypatch.setattr(files, "BUSY_TIMEOUT_MS", 1)
    monkeypatch.setattr(files, "time", Waiting)
    return retried


def test_a_new_file_that_another_process_writes_to_is_opened_when_that_has_ended(
    tmp_path: Path, impatient: threading.Event
) -> None:
    path = tmp_path / "headway.db"
    with (
        contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        other.execute("BEGIN IMMEDIATE")
        opening = pool.submit(files.connect, path)
        assert impatient.wait(10)
        assert not opening.done()
        other.execute("COMMIT")
        with contextlib.closing(opening.result(10)) as raw:
            assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_migration_waits_for_a_long_transaction_of_another_process(
    tmp_path: Path, clock: MovableClock, impatient: threading.Event
) -> None:
    path = tmp_path / "headway.db"
    database = SqliteDatabase(path, clock, durable=False)
    with (
        contextlib.closing(database),
        contextlib.closing(files.connect(path)) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        other.execute("BEGIN IMMEDIATE")
        migrating = pool.submit(database.migrate)
        assert impatient.wait(10)
        other.execute("ROLLBACK")
        assert migrating.result(30)
        assert not database.pending_migrations()


def test_a_file_that_stays_locked_is_unavailable_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, impatient: threading.Event
) -> None:
    monkeypatch.setattr(files, "GIVE_UP_AFTER_S", 0.0)
    path = tmp_path / "headway.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(errors.Unavailable, match="another process has been writing"):
            files.connect(path)


def test_a_store_that_another_process_has_just_made_is_not_an_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_new = SqliteDatabase.is_new

    def made_meanwhile(database: SqliteDatabase) -> bool:
        database.migrate()
        return is_new(database)

    monkeypatch.setattr(SqliteDatabase, "is_new", made_meanwhile)
    with contextlib.closing(local_wiring.open_store(Settings(data=str(tmp_path)))) as store:
        assert store.read(newest_numbers) == []
