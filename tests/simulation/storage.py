"""The real stores, made brittle: a process may die at every commit, and a commit may fail."""

import contextlib
import enum
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from headway.domain import errors
from headway.domain.values import moments
from headway.storage.engine.store import Clock, Database
from headway.storage.engine.transaction import Transaction
from headway.storage.engine.writer import Session
from headway.storage.sqlite.connection import SqliteConnection, SqliteSession
from headway.storage.sqlite.database import SqliteDatabase
from headway.testing import MovableClock


class Crash(BaseException):
    """The process that was writing is dead. No `except Exception` of the product survives it."""


class Fate(enum.Enum):
    """What becomes of a commit."""

    BEFORE = "dies before its commit"
    AFTER = "dies after its commit"
    REFUSED = "cannot commit"


class Fates:
    """Which of the next commits goes wrong, and how."""

    def __init__(self) -> None:
        self._fate: Fate | None = None
        self._commits_left = 0

    def arm(self, fate: Fate, commits_left: int) -> None:
        """Let the commit after so many others go wrong."""
        self._fate, self._commits_left = fate, commits_left

    def disarm(self) -> None:
        """Let every commit succeed."""
        self._fate = None

    def take(self) -> Fate | None:
        """The fate of the commit that is being made now."""
        if self._fate is None:
            return None
        if self._commits_left:
            self._commits_left -= 1
            return None
        fate, self._fate = self._fate, None
        return fate


class BrittleSession:
    """A dialect's session whose commits go wrong when their fate says so."""

    def __init__(self, inner: Session, fates: Fates) -> None:
        self._inner = inner
        self._fates = fates

    def commit(self, wakes: set[str]) -> None:
        """Commit, or not; the caller learns of it, or not."""
        fate = self._fates.take()
        if fate is Fate.BEFORE:
            self._inner.rollback()
            raise Crash
        if fate is Fate.REFUSED:
            raise errors.Unavailable("the disk is full")
        self._inner.commit(wakes)
        if fate is Fate.AFTER:
            raise Crash

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class BrittleDatabase:
    """A database whose sessions are brittle; everything else is the dialect's own."""

    def __init__(self, inner: Database, fates: Fates) -> None:
        self._inner = inner
        self._fates = fates

    def session(self) -> Session:
        """A connection for writing that may go wrong."""
        session: Session = BrittleSession(self._inner.session(), self._fates)
        return session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class MemoryDatabase:
    """SQLite in memory, with the dialect's own queries and session, on one connection.

    A play makes one verb at a time, so nobody needs a connection of their own.
    """

    url = "sqlite:///:memory:"
    parallel = False
    deaf_s = 0.0

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._raw = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False, cached_statements=1000
        )
        self._raw.execute("PRAGMA temp_store=MEMORY")
        self.empty()

    def empty(self) -> None:
        """Go back to the empty schema, as the migrations make it."""
        _migrated().backup(self._raw)

    def session(self) -> Session:
        """The dialect's session."""
        return SqliteSession(self, self.clock, self, durable=False)  # type: ignore[arg-type]

    @contextlib.contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A snapshot; nobody writes meanwhile."""
        yield Transaction(SqliteConnection(self._raw), moments.cut(self.clock.now()))

    def listen(self, tell: Callable[[set[str]], None]) -> Callable[[], None]:
        """There is no other process."""
        return lambda: None

    def changes(self) -> int:
        """How many rows were ever changed, also in work that was undone."""
        return self._raw.total_changes

    def damage(self) -> list[str]:
        """What SQLite finds wrong."""
        found = [row[0] for row in self._raw.execute("PRAGMA integrity_check")]
        return [line for line in found if line != "ok"]

    def close(self) -> None:
        """Forget everything."""
        self._raw.close()

    # What the session knows of its files and of other processes.

    def connect(self, **_: bool) -> sqlite3.Connection:
        """The one connection."""
        return self._raw

    def disconnect(self, raw: sqlite3.Connection) -> None:
        """It is kept for the others."""

    def check(self) -> None:
        """There is no file that could be moved."""

    def send(self, topics: set[str]) -> None:
        """There is no other process."""


@cache
def _migrated() -> sqlite3.Connection:
    """A database in memory with the current schema, which is made once and copied for each play."""
    made = sqlite3.connect(":memory:", check_same_thread=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "headway.db"
        SqliteDatabase(path, MovableClock(), durable=False).migrate()
        with contextlib.closing(sqlite3.connect(path)) as raw:
            raw.backup(made)
    return made
