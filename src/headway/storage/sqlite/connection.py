"""Connections to one SQLite file: one writes, others read."""

import contextlib
import operator
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

import msgspec

from headway.domain import errors
from headway.domain.values import moments
from headway.storage import queries
from headway.storage.engine.question import Row
from headway.storage.engine.store import Clock
from headway.storage.engine.transaction import Transaction
from headway.storage.sqlite.datagrams import Datagrams
from headway.storage.sqlite.files import (
    BUSY,
    DAMAGED,
    DatabaseFiles,
    code,
    execute_when_free,
    said,
)

T = TypeVar("T")

PACKAGE = "headway.storage.sqlite"
_LOST = (
    BUSY
    | DAMAGED
    | {
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
    }
)


class SqliteConnection:
    """Named queries on a `sqlite3` connection; rows come back as dictionaries."""

    beside = False
    repeats = True

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw

    def alone(self) -> None:
        """SQLite has one writer at a time."""

    def tell(self, topics: set[str]) -> None:
        """There is no notice of the commit of a borrowed transaction: workers poll by then."""

    def all(self, name: str, params: Mapping[str, Any]) -> Sequence[Row]:
        """All rows of a named query."""
        statement = _statements()[name]
        return _dictionaries(self.raw.execute(statement.sql, statement.values(params)))

    def values(self, kind: type[T], name: str, params: Mapping[str, Any]) -> list[T]:
        """All rows of a named query as values whose fields are its columns, in their order.

        They come as one JSON text. `sqlite3` lets go of the interpreter for every row it fetches,
        and between busy threads it has to wait for it each time.
        """
        statement = _statements()[name]
        bound = statement.values(params)
        (found,) = self.raw.execute(statement.as_json(self.raw, bound), bound).fetchone()
        return msgspec.json.decode(found, type=list[kind])  # type: ignore[valid-type]

    def select(self, sql: str, params: Mapping[str, Any]) -> Sequence[Row]:
        """All rows of a query that was put together from filters."""
        return _dictionaries(self.raw.execute(queries.expanded(PACKAGE, sql), params))

    def expect(self, name: str, params: Mapping[str, Any]) -> None:
        """There is no round trip to save."""

    def run(self, name: str, params: Mapping[str, Any]) -> int:
        """Run a statement; return how many rows it touched."""
        statement = _statements()[name]
        return self.raw.execute(statement.sql, statement.values(params)).rowcount

    def many(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement for many rows at once, inside SQLite."""
        statement = _statements()[name]
        self.raw.executemany(statement.sql, map(statement.values, rows))


class _Statement:
    """A query with its parameters by place, which `sqlite3` binds much faster than names."""

    def __init__(self, text: str) -> None:
        names = _PARAMETER.findall(text)
        self.sql = _PARAMETER.sub("?", text)
        self.values: Callable[[Mapping[str, Any]], Any]
        if len(names) > 1:
            self.values = operator.itemgetter(*names)
        elif names:
            only = names[0]
            self.values = lambda params: (params[only],)
        else:
            self.values = lambda _: ()
        self._as_json: str | None = None

    def as_json(self, raw: sqlite3.Connection, bound: Any) -> str:
        """The query with all its rows in one: an array of arrays, in the order of the query."""
        if self._as_json is None:
            columns = raw.execute(f"SELECT * FROM ({self.sql}) LIMIT 0", bound).description
            listed = ", ".join(column[0] for column in columns)
            self._as_json = f"SELECT json_group_array(json_array({listed})) FROM ({self.sql})"
        return self._as_json


_PARAMETER = re.compile(r"(?<![:\w]):(\w+)")


@cache
def _statements() -> dict[str, _Statement]:
    return {name: _Statement(text) for name, text in queries.load(PACKAGE).items()}


def _dictionaries(cursor: sqlite3.Cursor) -> Sequence[Row]:
    rows = cursor.fetchall()
    if not rows:
        return []
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in rows]


class SqliteSession:
    """The one connection that writes."""

    def __init__(
        self, files: DatabaseFiles, clock: Clock, datagrams: Datagrams, *, durable: bool
    ) -> None:
        self._files = files
        self._clock = clock
        self._datagrams = datagrams
        self._durable = durable
        self._open()

    def reopen(self) -> None:
        """Make a new connection."""
        old = self._raw
        self._open()
        self._files.disconnect(old)

    def _open(self) -> None:
        self._raw = self._files.connect(durable=self._durable)
        self._connection = SqliteConnection(self._raw)

    def begin(self, *, beside: bool = False) -> None:
        """Become the only writer; another process that writes is waited for."""
        execute_when_free(self._raw, "BEGIN IMMEDIATE")

    def transaction(self) -> Transaction:
        """The handle for one piece of work."""
        return Transaction(self._connection, self._now())

    def savepoint(self) -> None:
        """Remember where this piece of work begins."""
        self._raw.execute("SAVEPOINT work")

    def release(self) -> None:
        """Keep this piece of work."""
        self._raw.execute("RELEASE work")

    def undo(self) -> None:
        """Throw away this piece of work alone."""
        self._raw.execute("ROLLBACK TO work")
        self._raw.execute("RELEASE work")

    def commit(self, wakes: set[str]) -> None:
        """Commit and notify other processes.

        The files may be removed at any moment, so the second check is what allows an answer.
        """
        self._files.check()
        self._raw.execute("COMMIT")
        self._files.check()
        if wakes:
            self._datagrams.send(wakes)

    def rollback(self) -> None:
        """Throw away everything since begin."""
        with contextlib.suppress(sqlite3.Error):  # a lost file has nothing to roll back
            if self._raw.in_transaction:
                self._raw.execute("ROLLBACK")

    def is_lost(self, error: Exception) -> bool:
        """Errors of the disk or the file, unlike errors of one statement."""
        is_file_lost = isinstance(error, errors.DatabaseMoved | errors.DatabaseDamaged)
        return is_file_lost or code(error) in _LOST

    def explain(self, error: Exception) -> str:
        """What happened, and what to do about it if that is known."""
        return said(self._files.path, error)

    def must_repeat(self, error: Exception) -> bool:
        """SQLite has one writer, so there is nothing to lock."""
        return False

    def close(self) -> None:
        """Close the connection."""
        self._files.disconnect(self._raw)

    def _now(self) -> datetime:
        return moments.cut(self._clock.now())
