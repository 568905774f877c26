"""What is wrong with the file is told from what is wrong with a statement."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.helpers import MovableClock

from headway.storage.sqlite.connection import SqliteSession
from headway.storage.sqlite.database import SqliteDatabase


@pytest.fixture
def session(tmp_path: Path, clock: MovableClock) -> Iterator[SqliteSession]:
    database = SqliteDatabase(tmp_path / "headway.db", clock, durable=False)
    with contextlib.closing(database), contextlib.closing(database.session()) as opened:
        yield opened


@pytest.fixture
def raw(tmp_path: Path, session: SqliteSession) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(tmp_path / "headway.db", timeout=0)) as opened:
        opened.execute("CREATE TABLE disk_is_full (locked TEXT NOT NULL)")
        yield opened


def failure(raw: sqlite3.Connection, statement: str) -> sqlite3.Error:
    with pytest.raises(sqlite3.Error) as caught:
        raw.execute(statement)
    return caught.value


def test_a_full_disk_a_file_that_cannot_be_written_and_a_broken_one_are_troubles_of_the_file(
    session: SqliteSession, raw: sqlite3.Connection, tmp_path: Path
) -> None:
    raw.execute("PRAGMA max_page_count=1")
    assert session.is_lost(failure(raw, "INSERT INTO disk_is_full VALUES (zeroblob(1000000))"))
    raw.execute("PRAGMA query_only=ON")
    assert session.is_lost(failure(raw, "DELETE FROM disk_is_full"))
    (tmp_path / "broken.db").write_text("not a database " * 100)
    with contextlib.closing(sqlite3.connect(tmp_path / "broken.db")) as broken:
        assert session.is_lost(failure(broken, "SELECT * FROM sqlite_master"))


def test_another_writer_is_a_trouble_of_the_file(
    session: SqliteSession, raw: sqlite3.Connection
) -> None:
    session.begin()
    assert session.is_lost(failure(raw, "BEGIN IMMEDIATE"))
    session.rollback()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM disk_is_malformed",
        "SELECT readonly FROM disk_is_full",
        "INSERT INTO disk_is_full VALUES (NULL)",
        "SELECT json('unable to open')",
    ],
)
def test_a_statement_that_cannot_be_run_is_no_trouble_of_the_file_whatever_its_words(
    session: SqliteSession, raw: sqlite3.Connection, statement: str
) -> None:
    assert not session.is_lost(failure(raw, statement))


def test_a_closed_connection_is_no_trouble_of_the_file(
    session: SqliteSession, raw: sqlite3.Connection
) -> None:
    raw.close()
    assert not session.is_lost(failure(raw, "SELECT 1"))
