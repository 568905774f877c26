"""Connections to one PostgreSQL database: one writes, others read."""

import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg.types.numeric import Int8Dumper

from headway.domain import errors, moments
from headway.storage.postgres.statements import Statement, named, statement
from headway.storage.store import Clock
from headway.storage.transaction import Row, Transaction

RawConnection = psycopg.Connection[Any]

LOST = (psycopg.OperationalError, psycopg.InterfaceError)
"""Errors of the connection or of the whole transaction, unlike errors of one statement."""

TURN = b"SELECT pg_advisory_xact_lock(4929)"
"""Whoever writes holds this lock until the end of the transaction."""

CHANNEL = "headway"
GIVE_UP_AFTER_S = 10.0
SHORTEST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 1.0

_CONNECTING = {
    "application_name": "headway",
    "connect_timeout": 5,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
# Every query here goes by an index. Left alone, PostgreSQL plans for the statistics of a moment,
# keeps the plan, and reads whole tables once they have grown.
_PLANNING = b"""
SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
SET plan_cache_mode = force_generic_plan; SET jit = off
"""
# A writer that hangs, or one that the network lost, must not hold up the others for ever.
_WRITING = b"SET lock_timeout = '60s'; SET idle_in_transaction_session_timeout = '60s'"


_BEGIN_WRITING = b"BEGIN ISOLATION LEVEL READ COMMITTED; " + TURN + b"; SAVEPOINT work"


def connect(url: str) -> RawConnection:
    """Open a connection on which nothing begins by itself."""
    options: dict[str, Any] = {**_CONNECTING, **conninfo_to_dict(url)}
    raw = psycopg.connect(autocommit=True, **options)
    raw.prepared_max = 500
    raw.adapters.register_dumper(int, Int8Dumper)  # one type of integer, one prepared statement
    raw.execute(_PLANNING)
    return raw


class PostgresConnection:
    """Named queries on a psycopg connection; rows come back as dictionaries.

    A connection that somebody else began a transaction on takes its turn among the writers here.
    """

    def __init__(self, raw: RawConnection, *, takes_turn: bool = True) -> None:
        self.raw = raw
        self._cursor = raw.cursor(row_factory=dict_row)
        if takes_turn:
            _refuse_without_transaction(raw)
            self._cursor.execute(TURN)

    def all(self, name: str, params: Mapping[str, Any]) -> Sequence[Row]:
        """All rows of a named query."""
        return self._execute(named(name), params).fetchall()

    def tuples(self, name: str, params: Mapping[str, Any]) -> Sequence[tuple[Any, ...]]:
        """All rows of a named query, their values in the order of the columns."""
        return [tuple(row.values()) for row in self.all(name, params)]

    def select(self, sql: str, params: Mapping[str, Any]) -> Sequence[Row]:
        """All rows of a query that was put together from filters."""
        return self._execute(statement(sql), params).fetchall()

    def run(self, name: str, params: Mapping[str, Any]) -> int:
        """Run a statement; answers how many rows it touched."""
        return self._execute(named(name), params).rowcount

    def many(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement for many rows at once: as one array if it takes `:rows`."""
        found = named(name)
        if found.takes_rows:
            self._cursor.execute(found.text, found.rows(rows), prepare=found.prepare)
        elif len(rows) == 1:
            self._cursor.execute(found.text, found.values(rows[0]))
        else:
            self._cursor.executemany(found.text, [found.values(row) for row in rows])

    def _execute(self, found: Statement, params: Mapping[str, Any]) -> psycopg.Cursor[Row]:
        values = found.rows([params]) if found.takes_rows else found.values(params)
        return self._cursor.execute(found.text, values, prepare=found.prepare)


def _refuse_without_transaction(raw: RawConnection) -> None:
    if raw.autocommit and raw.info.transaction_status is TransactionStatus.IDLE:
        raise errors.InvalidRequest(
            "connection", "it commits each statement by itself: begin a transaction first"
        )


class PostgresSession:
    """The one connection that writes.

    To save round trips, `begin` sets the first savepoint, and one that is kept is released together
    with the setting of the next.
    """

    def __init__(self, url: str, clock: Clock, sender: str) -> None:
        self._url = url
        self._clock = clock
        self._sender = sender
        self._at_savepoint = False
        self._open()

    def _open(self) -> None:
        self._raw = connect(self._url)
        self._raw.execute(_WRITING)
        self._connection = PostgresConnection(self._raw, takes_turn=False)

    def begin(self) -> None:
        """Become the only writer. Nothing is written yet, so a lost connection is made anew."""
        give_up = time.monotonic() + GIVE_UP_AFTER_S
        pause = SHORTEST_PAUSE_S
        while True:
            try:
                self._begin()
                return
            except LOST:
                if time.monotonic() > give_up:
                    raise
                self._raw.close()
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)

    def _begin(self) -> None:
        if self._raw.closed:
            self._open()
        try:
            self._raw.execute(
                b"BEGIN ISOLATION LEVEL READ COMMITTED; " + TURN + b"; SAVEPOINT work"
            )
        except psycopg.errors.LockNotAvailable:
            raise errors.Unavailable(
                "another process has been writing to the database for a minute"
            ) from None
        self._at_savepoint = True

    def transaction(self) -> Transaction:
        """The handle for one piece of work."""
        return Transaction(self._connection, moments.cut(self._clock.now()))

    def savepoint(self) -> None:
        """Remember where this piece of work begins."""
        if not self._at_savepoint:
            self._raw.execute(b"RELEASE work; SAVEPOINT work")
            self._at_savepoint = True

    def release(self) -> None:
        """Keep this piece of work; refused if it hid an error, for that undid it already."""
        if self._raw.info.transaction_status is not TransactionStatus.INTRANS:
            raise psycopg.errors.InFailedSqlTransaction("the work went on after an error")
        self._at_savepoint = False

    def undo(self) -> None:
        """Throw away this piece of work alone."""
        self._raw.execute(b"ROLLBACK TO work")
        self._at_savepoint = True

    def commit(self, wakes: set[str]) -> None:
        """Make it durable and tell other processes."""
        if wakes:
            message = " ".join([self._sender, *sorted(wakes)])
            notify = sql.SQL("NOTIFY {}, {}; COMMIT")
            self._raw.execute(notify.format(sql.Identifier(CHANNEL), sql.Literal(message)))
        else:
            self._raw.execute(b"COMMIT")

    def rollback(self) -> None:
        """Throw away everything since begin."""
        with contextlib.suppress(psycopg.Error):
            self._raw.execute(b"ROLLBACK")

    def is_lost(self, error: Exception) -> bool:
        """Errors of the connection or of the transaction, unlike errors of one statement."""
        return isinstance(error, LOST) or self._raw.closed

    def reopen(self) -> None:
        """Let go of the connection; the next `begin` makes a new one."""
        self._raw.close()

    def close(self) -> None:
        """Close the connection."""
        self._raw.close()
