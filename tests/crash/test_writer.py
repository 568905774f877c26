"""The one thread that writes survives its callers and its database."""

import sqlite3
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any, cast

import pytest

from headway.clock import SystemClock
from headway.domain import errors
from headway.storage.engine.store import Store
from headway.storage.engine.transaction import Connection, Transaction
from headway.storage.engine.writer import Writer
from headway.storage.sqlite.database import SqliteDatabase

WAIT_S = 30


class FlakySession:
    """A session whose file can go away and come back."""

    def __init__(self) -> None:
        self.is_gone = False
        self.is_closed = False
        self.opened = 0

    def begin(self, *, beside: bool = False) -> None:
        """Fails while the file is gone, and afterwards until it is opened again."""
        if self.is_gone or self.is_closed:
            self.is_closed = True
            raise sqlite3.OperationalError("disk I/O error")

    def transaction(self) -> Any:
        """One that asks the database nothing."""
        return Transaction(cast("Connection", None), SystemClock().now())

    def savepoint(self) -> None:
        """Nothing to remember."""

    def release(self) -> None:
        """Nothing to keep."""

    def undo(self) -> None:
        """Nothing to undo."""

    def commit(self, wakes: set[str]) -> None:
        """Nothing to write."""

    def rollback(self) -> None:
        """Nothing to throw away."""

    def is_lost(self, error: Exception) -> bool:
        """Every error of the database is."""
        return isinstance(error, sqlite3.Error)

    def explain(self, error: Exception) -> str:
        """Its own words."""
        return str(error)

    def reopen(self) -> None:
        """Fails while the file is gone."""
        if self.is_gone:
            raise sqlite3.OperationalError("unable to open database file")
        self.is_closed = False
        self.opened += 1

    def must_repeat(self, error: Exception) -> bool:
        """Never."""
        return False

    def close(self) -> None:
        """Nothing to close."""


def answer(value: str) -> Any:
    """Work that needs no database."""

    def work(tx: Transaction) -> str:
        tx.wakes = set()
        return value

    return work


def test_a_caller_that_gives_up_affects_no_other_caller() -> None:
    writer = Writer(FlakySession(), lambda topics: None)
    entered, go_on = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> str:
        tx.wakes = set()
        entered.set()
        go_on.wait(WAIT_S)
        return "slow"

    first: Future[str] = writer.submit(slow)
    assert entered.wait(WAIT_S)
    gone: Future[str] = writer.submit(answer("gone"))
    assert gone.cancel()
    assert not first.cancel()
    go_on.set()
    assert first.result(WAIT_S) == "slow"
    assert writer.submit(answer("next")).result(WAIT_S) == "next"
    writer.close()


def test_writing_goes_on_when_the_file_is_back() -> None:
    session = FlakySession()
    writer = Writer(session, lambda topics: None)
    session.is_gone = True
    for _ in range(3):
        with pytest.raises(errors.Unavailable):
            writer.submit(answer("lost")).result(WAIT_S)
    assert writer.problem
    session.is_gone = False
    assert writer.submit(answer("back")).result(WAIT_S) == "back"
    assert session.opened == 1
    writer.close()


def test_work_that_comes_while_it_closes_is_done_or_refused_but_never_left() -> None:
    writer = Writer(FlakySession(), lambda topics: None)
    entered, go_on = threading.Event(), threading.Event()
    given: list[Future[str]] = []

    def slow(tx: Transaction) -> str:
        tx.wakes = set()
        entered.set()
        go_on.wait(WAIT_S)
        return "done"

    def submit_until_refused() -> None:
        while not (given and given[-1].done() and given[-1].exception()):
            given.append(writer.submit(answer("done")))

    first: Future[str] = writer.submit(slow)
    assert entered.wait(WAIT_S)
    submitting = threading.Thread(target=submit_until_refused)
    submitting.start()
    go_on.set()
    writer.close()
    submitting.join(WAIT_S)
    assert first.result(WAIT_S) == "done"
    for one in given[:-1]:
        assert one.result(WAIT_S) == "done"
    with pytest.raises(errors.Stopping):
        given[-1].result(WAIT_S)


def test_a_write_inside_a_write_is_refused_instead_of_waiting_for_itself(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "headway.db", SystemClock())
    database.migrate()
    store = Store(database)
    try:
        with pytest.raises(RuntimeError, match="inside a write"):
            store.write(lambda tx: store.write(lambda inner: None))
        assert store.write(lambda tx: "goes on") == "goes on"
    finally:
        store.close()
