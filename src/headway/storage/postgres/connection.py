"""Connections to one PostgreSQL database, and named queries on them."""

import contextlib
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row, tuple_row
from psycopg.types.numeric import Int8Dumper

from headway.domain import errors
from headway.storage import queries
from headway.storage.engine.question import Row
from headway.storage.engine.transaction import MustBeAlone
from headway.storage.postgres.statements import PACKAGE, Statement, named, statement

T = TypeVar("T")
RawConnection = psycopg.Connection[Any]

GRANTS = (
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA and USAGE, SELECT, UPDATE ON ALL"
    " SEQUENCES IN SCHEMA to Headway's role; to migrate, it must own the tables and may CREATE"
)
WRITABLE = "use a database that can be written: no standby, and default_transaction_read_only off"
_POOLER = (
    "a connection pooler in front must give each client a session of its own (PgBouncer:"
    " pool_mode = session)"
)
UNUSABLE = (
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.InvalidSqlStatementName,
    psycopg.errors.DuplicatePreparedStatement,
)
"""Errors of a session that stay with it: another session may work once the cause is mended."""

_ADVICE = dict(zip(UNUSABLE, (GRANTS, WRITABLE, _POOLER, _POOLER), strict=True))

LOST = (psycopg.OperationalError, psycopg.InterfaceError, *UNUSABLE)
"""Errors of the connection or of the whole transaction, unlike errors of one statement."""

TURN = b"SELECT pg_advisory_xact_lock(4929)"
"""A transaction that writes alone holds this lock until it ends."""

BESIDE = b"SELECT pg_advisory_xact_lock_shared(4929)"
"""Concurrent writers share it."""

CHANNEL = "headway"
SHORTEST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 1.0

# The URL may say otherwise. A path that swallows packets is noticed within half a minute, whether
# something was just sent or an answer is awaited; the system would try for a quarter of an hour.
_CONNECTING = {
    "application_name": "headway",
    "client_encoding": "utf-8",
    "connect_timeout": 5,
    "tcp_user_timeout": 20_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
# Every query here goes by an index, in its order. Left alone, PostgreSQL plans for what it knows at
# a moment, keeps the plan, and reads whole tables or sorts whole queues once they have grown.
_PLANNING = b"""
SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
SET enable_bitmapscan = off; SET plan_cache_mode = force_generic_plan; SET jit = off
"""

_MARK = b"SELECT current_setting('headway.session', true)"
_ISOLATION = b"SELECT current_setting('transaction_isolation')"
_OLD_SNAPSHOTS = ("repeatable read", "serializable")


def connect(url: str) -> RawConnection:
    """Open a connection on which nothing begins by itself."""
    raw = psycopg.connect(autocommit=True, **{**_CONNECTING, **_read(url)})
    raw.prepared_max = 500
    raw.adapters.register_dumper(int, Int8Dumper)  # one type of integer, one prepared statement
    raw.execute(_PLANNING)
    return raw


def _read(url: str) -> dict[str, Any]:
    try:
        return conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # PostgreSQL's own words repeat the URL, which may hold a password.
        raise errors.InvalidRequest(
            "db", "this PostgreSQL URL cannot be read; is a %, / or @ in it not written as %XX?"
        ) from None


def said(error: Exception) -> str:
    """What an error says, on one line, and what to do about it if that is known."""
    if isinstance(error, UNUSABLE) and error.diag.message_primary:
        return f"{error.diag.message_primary}; {_ADVICE[type(error)]}"
    return " ".join(str(error).split()) or type(error).__name__


def refuse_shared_sessions(raw: RawConnection, url: str) -> None:
    """Behind a pooler that hands a session from one to the other, statements would be mixed up."""
    mark = secrets.token_hex(8)
    raw.execute(b"SELECT set_config('headway.session', %s, false)", [mark])
    with contextlib.closing(connect(url)) as other:
        found = [one.execute(_MARK).fetchone() for one in (other, raw)]
    if found[0] == (mark,) or found[1] != (mark,):
        raise errors.Unavailable(f"connections to the database share a session: {_POOLER}")


class PostgresConnection:
    """Named queries on a psycopg connection; rows come back as dictionaries."""

    repeats = True

    def __init__(self, raw: RawConnection) -> None:
        self.raw = raw
        self.beside = False
        self.wrote = False
        self._cursor = raw.cursor(row_factory=dict_row)
        self._plain = raw.cursor(row_factory=tuple_row)

    def alone(self) -> None:
        """Refused among concurrent writers: two that wait for each other would deadlock."""
        if self.beside:
            raise MustBeAlone

    def all(self, name: str, params: Mapping[str, Any]) -> Sequence[Row]:
        """All rows of a named query."""
        return self._execute(named(name), params).fetchall()

    def values(self, kind: type[T], name: str, params: Mapping[str, Any]) -> list[T]:
        """All rows of a named query as values whose fields are its columns, in their order."""
        rows = self._execute(named(name), params, self._plain).fetchall()
        return msgspec.convert(rows, list[kind])  # type: ignore[valid-type]

    def select(self, sql: str, params: Mapping[str, Any]) -> Sequence[Row]:
        """All rows of a query that was put together from filters."""
        return self._execute(statement(queries.expanded(PACKAGE, sql)), params).fetchall()

    def expect(self, name: str, params: Mapping[str, Any]) -> None:
        """Each query has a round trip of its own."""

    def run(self, name: str, params: Mapping[str, Any]) -> int:
        """Run a statement; return how many rows it touched."""
        return self._execute(named(name), params).rowcount

    def many(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement for many rows at once: as one array if it takes `:rows`."""
        found = named(name)
        self.wrote = True
        if found.takes_rows:
            self._cursor.execute(found.text, found.rows(rows), prepare=found.prepare)
        elif len(rows) == 1:
            self._cursor.execute(found.text, found.values(rows[0]))
        else:
            self._cursor.executemany(found.text, [found.values(row) for row in rows])

    def _execute(
        self, found: Statement, params: Mapping[str, Any], cursor: psycopg.Cursor[Any] | None = None
    ) -> psycopg.Cursor[Any]:
        self.wrote = self.wrote or found.writes
        values = found.rows([params]) if found.takes_rows else found.values(params)
        return (cursor or self._cursor).execute(found.text, values, prepare=found.prepare)


class BorrowedConnection(PostgresConnection):
    """A connection on which the caller began a transaction.

    It writes beside others, without a lock: a transaction left open blocks no one else. Only
    what must be alone takes its turn, and keeps it until that transaction ends.
    """

    repeats = False

    def __init__(self, raw: RawConnection) -> None:
        _refuse_without_transaction(raw)
        super().__init__(raw)
        self.beside = True

    def alone(self) -> None:
        """Wait for all other writers; refused if their writes would not be visible."""
        if self.beside:
            (level,) = self._plain.execute(_ISOLATION).fetchone() or ("",)
            if level in _OLD_SNAPSHOTS:
                raise errors.InvalidRequest(
                    "connection",
                    f"its transaction is {level.upper()} and does not see what others commit"
                    " meanwhile, as this job must: use READ COMMITTED",
                )
            self.raw.execute(TURN)
            self.beside = False

    def tell(self, topics: set[str]) -> None:
        """Wake the listeners of these topics when the transaction is committed."""
        message = " ".join(["submit_on", *sorted(topics)])
        self.raw.execute("SELECT pg_notify(%s, %s)", [CHANNEL, message])


def _refuse_without_transaction(raw: RawConnection) -> None:
    if raw.autocommit and raw.info.transaction_status is TransactionStatus.IDLE:
        raise errors.InvalidRequest(
            "connection", "it commits each statement by itself: begin a transaction first"
        )
