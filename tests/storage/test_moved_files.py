"""A file that is deleted, moved or replaced while it is open is noticed before an answer."""

import contextlib
import logging
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.helpers import MovableClock

from headway.domain import errors
from headway.storage.engine.store import Store
from headway.storage.engine.transaction import Transaction
from headway.storage.sqlite.database import SqliteDatabase

Harm = Callable[[Path], None]


def rename(path: Path) -> None:
    path.rename(path.with_suffix(".away"))


def put_back(path: Path) -> None:
    path.with_suffix(".away").rename(path)


def replace(path: Path) -> None:
    rename(path)
    shutil.copy(path.with_suffix(".away"), path)


def move_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "headway.db"


@pytest.fixture
def open_one(path: Path) -> Iterator[Callable[[], Store]]:
    opened: list[Store] = []

    def open_one() -> Store:
        database = SqliteDatabase(path, MovableClock(), durable=False)
        database.migrate()
        opened.append(Store(database))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_one: Callable[[], Store]) -> Store:
    return open_one()


def put(store: Store, name: str) -> None:
    store.write(lambda tx: tx.do("put_fact", name=name, value=name))


def has(store: Store, name: str) -> bool:
    return bool(store.read(lambda tx: tx.rows("fact", name=name)))


@pytest.mark.parametrize("harm", [Path.unlink, rename, replace, move_folder])
def test_nothing_is_acknowledged_once_the_file_is_not_at_its_path(
    store: Store, path: Path, harm: Harm
) -> None:
    put(store, "before")
    assert has(store, "before")  # from a connection that stays open for readers
    harm(path)
    for _ in range(3):
        with pytest.raises(errors.DatabaseMoved, match=r"headway\.db was"):
            put(store, "after")
    assert not has(store, "after")
    assert has(store, "before")


@pytest.mark.parametrize("harm", [rename, replace])
def test_writing_goes_on_when_the_same_file_is_back(
    store: Store, open_one: Callable[[], Store], path: Path, harm: Harm
) -> None:
    put(store, "before")
    harm(path)
    with pytest.raises(errors.DatabaseMoved):
        put(store, "meanwhile")
    put_back(path)
    put(store, "after")
    assert store.problem is None
    assert [has(open_one(), name) for name in ("before", "meanwhile", "after")] == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("ending", ["-wal", "-shm"])
def test_the_files_beside_the_database_count_as_well(
    store: Store, open_one: Callable[[], Store], path: Path, ending: str
) -> None:
    put(store, "before")
    path.with_name(f"headway.db{ending}").unlink()
    with pytest.raises(errors.DatabaseMoved, match=f"headway.db{ending} was moved or deleted"):
        put(store, "after")
    store.close()
    assert has(open_one(), "before")


def test_a_file_that_goes_away_during_the_commit_is_noticed_before_the_answer(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(sqlite3.Connection):
        """Loses the file once the commit has begun."""

        def execute(self, sql: str, *params: Any) -> sqlite3.Cursor:
            if sql == "COMMIT" and losing:
                rename(path)
            return super().execute(sql, *params)

    losing: list[bool] = []
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Slow))
    database = SqliteDatabase(path, MovableClock(), durable=False)
    database.migrate()
    with contextlib.closing(Store(database)) as store:
        put(store, "before")
        losing.append(True)
        with pytest.raises(errors.DatabaseMoved):
            put(store, "during")


def test_readers_make_no_new_file_at_the_path(store: Store, path: Path) -> None:
    put(store, "before")
    rename(path)
    both_read = threading.Barrier(2, timeout=30)

    def second(_: Transaction) -> None:
        both_read.wait()

    def read() -> None:
        with contextlib.suppress(errors.DatabaseMoved):
            store.read(second)
            return
        both_read.wait()

    other = threading.Thread(target=read)
    other.start()
    read()
    other.join()
    assert not path.exists()


def empty(path: Path) -> None:
    os.truncate(path, 0)


def test_nothing_is_acknowledged_once_the_file_was_emptied(store: Store, path: Path) -> None:
    put(store, "before")
    kept = path.read_bytes()
    empty(path)
    for _ in range(2):
        with pytest.raises(errors.DatabaseDamaged, match="emptied while it was in use"):
            put(store, "after")
    path.write_bytes(kept)  # the log may have gone on since then
    with pytest.raises(errors.DatabaseDamaged):
        put(store, "later")
    assert store.problem is not None


def cut_off(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"x" * path.stat().st_size)


def put_another_in_its_place(path: Path) -> None:
    another = path.with_suffix(".another")
    with contextlib.closing(sqlite3.connect(another)) as raw:
        raw.execute("CREATE TABLE notes (text)")
    with path.open("r+b") as file:
        file.write(another.read_bytes())


@pytest.mark.parametrize("harm", [cut_off, overwrite, put_another_in_its_place])
def test_nothing_is_acknowledged_once_the_file_was_changed_in_place(
    store: Store, path: Path, harm: Callable[[Path], None]
) -> None:
    put(store, "before")
    harm(path)
    for _ in range(2):
        with pytest.raises(errors.DatabaseDamaged, match="while it was in use"):
            put(store, "after")


def test_a_checkpoint_and_a_vacuum_of_another_program_are_no_damage(
    store: Store, path: Path
) -> None:
    put(store, "before")
    with contextlib.closing(sqlite3.connect(path)) as raw:
        raw.execute("CREATE TABLE filler (text)")
        raw.execute("INSERT INTO filler VALUES (zeroblob(1000000))")
        raw.commit()
        raw.execute("PRAGMA wal_checkpoint(FULL)")
        put(store, "beside")
        raw.execute("DROP TABLE filler")
        raw.commit()
        raw.execute("VACUUM")
        raw.execute("PRAGMA wal_checkpoint(FULL)")
    put(store, "after")


def test_what_a_reader_finds_damaged_is_not_written_to(store: Store, path: Path) -> None:
    put(store, "before")
    with contextlib.closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA wal_checkpoint(FULL)")

    def find_damage(_: Transaction) -> None:
        error = sqlite3.DatabaseError("database disk image is malformed")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error

    with pytest.raises(errors.DatabaseDamaged):
        store.read(find_damage)
    with pytest.raises(errors.DatabaseDamaged, match="disk image is malformed"):
        put(store, "after")


def test_a_link_that_leads_elsewhere_is_noticed(tmp_path: Path) -> None:
    for name in ("one", "two"):
        SqliteDatabase(tmp_path / name / "headway.db", MovableClock(), durable=False).migrate()
    link = tmp_path / "headway.db"
    link.symlink_to(tmp_path / "one" / "headway.db")
    with contextlib.closing(Store(SqliteDatabase(link, MovableClock(), durable=False))) as store:
        put(store, "before")
        draft = tmp_path / "draft"
        draft.symlink_to(tmp_path / "two" / "headway.db")
        os.replace(draft, link)
        with pytest.raises(errors.DatabaseMoved):
            put(store, "after")


def test_it_is_logged_once_and_so_is_its_end(
    store: Store, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "headway.storage")
    rename(path)
    for _ in range(5):
        with pytest.raises(errors.DatabaseMoved):
            put(store, "after")
    assert store.problem is not None
    put_back(path)
    put(store, "after")
    put(store, "later")
    assert [(one.levelname, one.message[:40]) for one in caplog.records] == [
        ("ERROR", "nothing could be written: headway.db was"),
        ("INFO", "the database can be written again"),
    ]


@pytest.mark.parametrize("harm", [rename, empty])
def test_no_empty_database_is_made_beside_the_log_of_another(
    store: Store, path: Path, harm: Harm
) -> None:
    put(store, "before")
    log = path.with_name("headway.db-wal")
    harm(path)
    kept = log.read_bytes()
    assert kept
    other = SqliteDatabase(path, MovableClock(), durable=False)
    for begin in (other.migrate, other.session):
        with pytest.raises(errors.OrphanedLog):
            begin()
    assert log.read_bytes() == kept
    assert not path.exists() or not path.stat().st_size
