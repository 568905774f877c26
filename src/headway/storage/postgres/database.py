"""A PostgreSQL database for the store."""

import contextlib
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import psycopg

from headway.domain import errors
from headway.domain.values import moments
from headway.storage import queries
from headway.storage.engine.columns import COLUMNS
from headway.storage.engine.store import Clock
from headway.storage.engine.transaction import Transaction
from headway.storage.postgres.connection import (
    GRANTS,
    LOST,
    TURN,
    UNUSABLE,
    WRITABLE,
    PostgresConnection,
    RawConnection,
    connect,
    refuse_shared_sessions,
    said,
)
from headway.storage.postgres.messenger import Messenger
from headway.storage.postgres.session import PostgresSession
from headway.storage.postgres.statements import PACKAGE
from headway.storage.postgres.sweeper import Sweeper
from headway.storage.queries import Migration

OLDEST_SERVER = 13
MOST_READERS = 8
LONGEST_WAIT_S = 30.0
MOST_TRIES = 30
PAUSE_S = 1.0
"""How often a migration asks for what others hold, and how long it lets them go on in between."""

_MIGRATIONS_TABLE = b"""
CREATE TABLE IF NOT EXISTS schema_migrations (number BIGINT PRIMARY KEY, name TEXT NOT NULL)
"""
SEQUENCES = ("job_numbers", "positions", "payload_ids")
_CLOSED = b"""
SELECT name
FROM unnest(CAST(%(tables)s AS text[])) AS name,
    unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS wanted
WHERE NOT has_table_privilege(to_regclass(name), wanted)
UNION ALL
SELECT name
FROM unnest(CAST(%(sequences)s AS text[])) AS name, unnest(ARRAY['USAGE', 'UPDATE']) AS wanted
WHERE NOT has_sequence_privilege(to_regclass(name), wanted)
"""
_UNSAFE = b"""
SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off'
ORDER BY name
"""
# `off` becomes `on` in every session that writes.
_NOT_WAITED_FOR = b"""
SELECT setting FROM pg_settings WHERE name = 'synchronous_commit'
AND setting IN ('local', 'remote_write') AND current_setting('synchronous_standby_names') <> ''
"""
_SHORT_WAIT = b"SET LOCAL lock_timeout = '1s'"
_BEGIN_READING = b"BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"


class PostgresDatabase:
    """The database, its readers and its wake-ups."""

    parallel = True

    def __init__(self, url: str, clock: Clock) -> None:
        self.url = url
        self.clock = clock
        self._name = secrets.token_hex(8)
        self._readers: queue.SimpleQueue[RawConnection] = queue.SimpleQueue()
        self._places = threading.BoundedSemaphore(MOST_READERS)
        self._messenger: Messenger | None = None
        self._sweeper: Sweeper | None = None

    def migrate(self, to: int | None = None) -> list[str]:
        """Bring the schema up to date; each step is a transaction, so two processes may try.

        A new database gets all of them in one: what others see is either new or up to date.
        """
        steps = [step for step in queries.migrations(PACKAGE) if to is None or step[0] <= to]
        with _reached(), contextlib.closing(connect(self.url)) as raw:
            taken = [] if _applied(raw) else _take(raw, steps)
            for step in steps:
                taken += _take(raw, [step])
        return taken

    def pending_migrations(self) -> list[str]:
        """The steps that `migrate` would take."""
        with _reached(), contextlib.closing(connect(self.url)) as raw:
            done = _applied(raw)
        return [
            f"{number:04} {name}"
            for number, name, _ in queries.migrations(PACKAGE)
            if number > done
        ]

    def is_new(self) -> bool:
        """Whether it has no tables yet."""
        with _reached(), contextlib.closing(connect(self.url)) as raw:
            return not _applied(raw)

    def check(self) -> None:
        """Refuse a database that can be reached, but could not be worked with."""
        with _reached(), contextlib.closing(connect(self.url)) as raw:
            _refuse_old_server(raw)
            refuse_shared_sessions(raw, self.url)
            if raw.execute(b"SHOW transaction_read_only").fetchone() == ("on",):
                raise errors.Unavailable(f"the database is read-only; {WRITABLE}")
            names = {"tables": [*COLUMNS, "facts", "writers"], "sequences": [*SEQUENCES]}
            if closed := raw.execute(_CLOSED, names).fetchone():
                raise errors.Unavailable(f"permission denied for {closed[0]}; {GRANTS}")

    def doubts(self) -> list[str]:
        """Settings of the server with which a commit is not on disk."""
        with _reached(), contextlib.closing(connect(self.url)) as raw:
            found = [f"{name} = off" for (name,) in raw.execute(_UNSAFE)]
            hasty = [setting for (setting,) in raw.execute(_NOT_WAITED_FOR)]
        return [
            f"the PostgreSQL server runs with {setting}: if its machine crashes, jobs that were"
            " acknowledged can be lost, and the database can be damaged"
            for setting in found
        ] + [
            f"PostgreSQL has a synchronous standby, but commits run with synchronous_commit ="
            f" {setting}: if the standby takes over, jobs that were acknowledged can be lost"
            for setting in hasty
        ]

    def session(self) -> PostgresSession:
        """A connection for writing."""
        with _reached():
            return PostgresSession(self.url, self.clock, self._name, self._committed)

    def _committed(self, wakes: set[str]) -> None:
        if self._messenger is not None and self._sweeper is not None:
            self._messenger.send(wakes)
            self._sweeper.poke()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A snapshot; connections are kept for the next reader."""
        if not self._places.acquire(timeout=LONGEST_WAIT_S):
            raise errors.Unavailable("too many reads from the database at once")
        try:
            with _reached():
                raw = self._begin_reading()
                try:
                    yield Transaction(PostgresConnection(raw), moments.cut(self.clock.now()))
                finally:
                    self._end_reading(raw)
        finally:
            self._places.release()

    def _begin_reading(self) -> RawConnection:
        """A kept connection that still lives, or a new one."""
        while True:
            try:
                raw = self._readers.get_nowait()
            except queue.Empty:
                raw = connect(self.url)
                raw.execute(_BEGIN_READING)
                return raw
            try:
                raw.execute(_BEGIN_READING)
                return raw
            except LOST:
                raw.close()

    def _end_reading(self, raw: RawConnection) -> None:
        try:
            raw.execute(b"ROLLBACK")
            self._readers.put(raw)
        except LOST:
            raw.close()

    def listen(self, tell: Callable[[set[str]], None]) -> Callable[[], None]:
        """Pass on wake-ups from other processes."""
        with _reached():
            self._messenger = Messenger(self.url, self._name, tell)
        self._sweeper = Sweeper(self.url)
        return self._stop_threads

    def _stop_threads(self) -> None:
        for one in (self._messenger, self._sweeper):
            if one is not None:
                one.stop()

    @property
    def deaf_s(self) -> float:
        """For how long wake-ups from other processes have not been heard."""
        return self._messenger.deaf_s if self._messenger else 0.0

    def damage(self) -> list[str]:
        """None that could be seen from here: PostgreSQL guards its own files."""
        return []

    def close(self) -> None:
        """Close every connection."""
        while not self._readers.empty():
            self._readers.get().close()


@contextlib.contextmanager
def _reached() -> Iterator[None]:
    try:
        yield
    except UNUSABLE as error:
        raise errors.Unavailable(said(error)) from error
    except LOST as error:
        raise errors.ConnectionLost(said(error)) from error


def _refuse_old_server(raw: RawConnection) -> None:
    found = raw.info.server_version // 10_000
    if found < OLDEST_SERVER:
        raise errors.Unavailable(
            f"the database is PostgreSQL {found}; use PostgreSQL {OLDEST_SERVER} or newer"
        )


def _applied(raw: RawConnection) -> int:
    if raw.execute("SELECT to_regclass('schema_migrations')").fetchone() == (None,):
        return 0
    row = raw.execute("SELECT coalesce(max(number), 0) FROM schema_migrations").fetchone()
    return int(row[0]) if row else 0


def _take(raw: RawConnection, steps: Sequence[Migration]) -> list[str]:
    """Take steps in one transaction; returns the names of those that were not taken before.

    All who write wait behind one who waits for a table: it waits in short bits.
    """
    if not steps or _applied(raw) >= steps[-1][0]:
        return []
    for tries in range(MOST_TRIES):
        if tries:
            time.sleep(PAUSE_S)
        try:
            return _try_to_take(raw, steps)
        except psycopg.errors.LockNotAvailable as error:
            found = said(error)
    raise errors.Unavailable(
        f"migration {steps[0][0]:04} was not done: another process has held the tables or"
        f" the migration lock for a while ({found}); end long transactions"
        " (docs/operations.md) and try again"
    )


def _try_to_take(raw: RawConnection, steps: Sequence[Migration]) -> list[str]:
    taken = []
    with raw.transaction():
        raw.execute(_SHORT_WAIT)
        raw.execute(TURN)
        raw.execute(_MIGRATIONS_TABLE)
        done = _applied(raw)  # another process may have been quicker
        for number, name, text in steps:
            if number > done:
                raw.execute(text.encode())
                raw.execute("INSERT INTO schema_migrations VALUES (%s, %s)", (number, name))
                taken.append(f"{number:04} {name}")
    return taken
