"""One SQLite file as a database for the store."""

import contextlib
import queue
import sqlite3
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

from headway.domain import errors, moments
from headway.storage import queries
from headway.storage.sqlite.connection import PACKAGE, SqliteConnection, SqliteSession
from headway.storage.sqlite.datagrams import Datagrams
from headway.storage.sqlite.files import DatabaseFiles, connect, looking, refuse_orphaned_log
from headway.storage.store import Clock
from headway.storage.transaction import Transaction

BACKUP_PAGES = 1000

_MIGRATIONS_TABLE = """
CREATE TABLE IF NOT EXISTS schema_migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL)
"""
_MIGRATIONS_TABLE_IS_THERE = "SELECT 1 FROM sqlite_master WHERE name = 'schema_migrations'"


class SqliteDatabase:
    """The file, its readers and its socket."""

    parallel = False
    deaf_s = 0.0

    def __init__(self, path: Path, clock: Clock, *, durable: bool = True) -> None:
        self.url = f"sqlite:///{path}"
        self.path = path
        self.clock = clock
        self._durable = durable
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._files = DatabaseFiles(path)
        self._readers: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()

    @cached_property
    def _datagrams(self) -> Datagrams:
        """The socket, which is made for who writes or listens: to look leaves nothing behind."""
        return Datagrams(self.path)

    def migrate(self, to: int | None = None) -> list[str]:
        """Bring the schema up to date; each step is a transaction, so two processes may try."""
        taken = []
        refuse_orphaned_log(self.path)
        with contextlib.closing(connect(self.path, durable=self._durable)) as raw:
            for number, name, text in queries.migrations(PACKAGE):
                if (to is None or number <= to) and _take(raw, number, name, text):
                    taken.append(f"{number:04} {name}")
        return taken

    def pending_migrations(self) -> list[str]:
        """The steps that `migrate` would take."""
        done = 0
        if self.path.exists():
            with looking(self.path) as raw:
                done = _applied(raw)
        return [
            f"{number:04} {name}"
            for number, name, _ in queries.migrations(PACKAGE)
            if number > done
        ]

    def check(self) -> None:
        """A file that can be opened can be worked with."""

    def doubts(self) -> list[str]:
        """None: each connection here is told to wait for the disk."""
        return []

    def session(self) -> SqliteSession:
        """The one connection for writing."""
        return SqliteSession(self._files, self.clock, self._datagrams, durable=self._durable)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A snapshot; connections are kept for the next reader."""
        raw = self._reader()
        try:
            raw.execute("BEGIN")
            yield Transaction(SqliteConnection(raw), moments.cut(self.clock.now()))
        except sqlite3.OperationalError as error:
            raise _unreadable(error) from error
        finally:
            if raw.in_transaction:
                raw.execute("ROLLBACK")
            self._readers.put(raw)

    def _reader(self) -> sqlite3.Connection:
        try:
            return self._readers.get_nowait()
        except queue.Empty:
            pass
        try:
            return self._files.connect(durable=self._durable, read_only=True)
        except sqlite3.OperationalError as error:
            raise _unreadable(error) from error

    def listen(self, tell: Callable[[set[str]], None]) -> Callable[[], None]:
        """Pass on wake-ups from other processes."""
        return self._datagrams.receive(tell)

    def backup(self, target: Path, progress: Callable[[int, int], None]) -> None:
        """Copy the whole database while it is in use."""
        with (
            contextlib.closing(connect(self.path, read_only=True, create=False)) as source,
            contextlib.closing(sqlite3.connect(target)) as copy,
        ):
            source.backup(
                copy,
                pages=BACKUP_PAGES,
                progress=lambda _, left, total: progress(total - left, total),
            )

    def integrity(self) -> list[str]:
        """What SQLite itself finds wrong."""
        with contextlib.closing(connect(self.path, read_only=True, create=False)) as raw:
            found = [row[0] for row in raw.execute("PRAGMA integrity_check")]
            orphans = [
                f"{row[0]} row {row[1]} refers to a missing {row[2]}"
                for row in raw.execute("PRAGMA foreign_key_check")
            ]
        return [problem for problem in found if problem != "ok"] + orphans

    def close(self) -> None:
        """Close every connection and remove the socket."""
        while not self._readers.empty():
            self._files.disconnect(self._readers.get())
        if "_datagrams" in vars(self):
            self._datagrams.close()


def _unreadable(error: sqlite3.Error) -> errors.Unavailable:
    return errors.Unavailable(f"the database cannot be read: {error}")


def _applied(raw: sqlite3.Connection) -> int:
    if not raw.execute(_MIGRATIONS_TABLE_IS_THERE).fetchone():
        return 0
    return int(raw.execute("SELECT coalesce(max(number), 0) FROM schema_migrations").fetchone()[0])


def _take(raw: sqlite3.Connection, number: int, name: str, text: str) -> bool:
    if _applied(raw) >= number:
        return False
    raw.execute("BEGIN IMMEDIATE")
    try:
        if _applied(raw) >= number:  # another process was quicker
            raw.execute("ROLLBACK")
            return False
        raw.execute(_MIGRATIONS_TABLE)
        for statement in _statements(text):
            raw.execute(statement)
        raw.execute("INSERT INTO schema_migrations VALUES (?, ?)", (number, name))
        raw.execute("COMMIT")
    except BaseException:
        if raw.in_transaction:
            raw.execute("ROLLBACK")
        raise
    return True


def _statements(text: str) -> Iterator[str]:
    """`executescript` would commit first, so the script is cut into statements here."""
    pending = ""
    for line in text.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
