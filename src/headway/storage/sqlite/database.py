"""One SQLite file as a database for the store."""

import contextlib
import queue
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from headway.domain import errors
from headway.domain.values import moments
from headway.files import private_files
from headway.storage import queries
from headway.storage.engine.store import Clock
from headway.storage.engine.transaction import Transaction
from headway.storage.queries import Migration
from headway.storage.sqlite import file_systems
from headway.storage.sqlite.connection import PACKAGE, SqliteConnection, SqliteSession
from headway.storage.sqlite.datagrams import Datagrams
from headway.storage.sqlite.files import (
    DatabaseFiles,
    connect,
    execute_when_free,
    looking,
    naming_damage,
    refuse_orphaned_log,
)

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
        private_files.make_folder(path.parent)
        self._files = DatabaseFiles(path)
        self._readers: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()

    @cached_property
    def _datagrams(self) -> Datagrams:
        """The socket, made for writers and listeners only: a reader leaves no file behind."""
        return Datagrams(self.path)

    def migrate(self, to: int | None = None) -> list[str]:
        """Bring the schema up to date; each step is a transaction, so two processes may try.

        A new database gets all of them in one: what others see is either new or up to date.
        """
        steps = [step for step in queries.migrations(PACKAGE) if to is None or step[0] <= to]
        refuse_orphaned_log(self.path)
        with (
            naming_damage(self.path),
            contextlib.closing(connect(self.path, durable=self._durable)) as raw,
        ):
            taken = [] if _applied(raw) else _take(raw, steps)
            for step in steps:
                taken += _take(raw, [step])
        return taken

    def pending_migrations(self) -> list[str]:
        """The steps that `migrate` would take."""
        done = 0
        if self.path.exists():
            with naming_damage(self.path), looking(self.path) as raw:
                done = _applied(raw)
        return [
            f"{number:04} {name}"
            for number, name, _ in queries.migrations(PACKAGE)
            if number > done
        ]

    def is_new(self) -> bool:
        """Whether it has no tables yet."""
        if not self.path.exists():
            return True
        with naming_damage(self.path), looking(self.path) as raw:
            return not _applied(raw)

    def check(self) -> None:
        """Refuse a folder in which SQLite cannot work reliably."""
        file_systems.refuse_network(self.path.parent)

    def doubts(self) -> list[str]:
        """None: each connection here waits for the disk."""
        return []

    def session(self) -> SqliteSession:
        """The one connection for writing."""
        with naming_damage(self.path):
            return SqliteSession(self._files, self.clock, self._datagrams, durable=self._durable)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A snapshot; connections are kept for the next reader."""
        with self._readable():
            raw = self._reader()
            try:
                raw.execute("BEGIN")
                yield Transaction(SqliteConnection(raw), moments.cut(self.clock.now()))
            finally:
                if raw.in_transaction:
                    raw.execute("ROLLBACK")
                self._readers.put(raw)

    def _reader(self) -> sqlite3.Connection:
        try:
            return self._readers.get_nowait()
        except queue.Empty:
            return self._files.connect(durable=self._durable, read_only=True)

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            with naming_damage(self.path):
                yield
        except errors.DatabaseDamaged as damage:
            self._files.note_damage(str(damage.__cause__ or damage.detail))
            raise
        except sqlite3.OperationalError as error:
            raise errors.Unavailable(f"the database cannot be read: {error}") from error

    def listen(self, tell: Callable[[set[str]], None]) -> Callable[[], None]:
        """Pass on wake-ups from other processes."""
        return self._datagrams.receive(tell)

    def backup(self, target: Path, progress: Callable[[int, int], None]) -> None:
        """Copy the whole database while it is in use."""
        private_files.make_file(target)
        with (
            naming_damage(self.path),
            contextlib.closing(connect(self.path, read_only=True, create=False)) as source,
            contextlib.closing(sqlite3.connect(target)) as copy,
        ):
            source.backup(
                copy,
                pages=BACKUP_PAGES,
                progress=lambda _, left, total: progress(total - left, total),
            )

    def damage(self) -> list[str]:
        """What SQLite finds wrong with its file."""
        found: list[str] = []
        try:
            with contextlib.closing(connect(self.path, read_only=True, create=False)) as raw:
                for (told,) in raw.execute("PRAGMA integrity_check"):
                    found += [line for line in told.splitlines() if not line.startswith("***")]
        except sqlite3.DatabaseError as error:
            found.append(str(error))
        return [line for line in found if line != "ok"]

    def close(self) -> None:
        """Close every connection and remove the socket."""
        while not self._readers.empty():
            self._files.disconnect(self._readers.get())
        if "_datagrams" in vars(self):
            self._datagrams.close()


def _applied(raw: sqlite3.Connection) -> int:
    if not raw.execute(_MIGRATIONS_TABLE_IS_THERE).fetchone():
        return 0
    return int(raw.execute("SELECT coalesce(max(number), 0) FROM schema_migrations").fetchone()[0])


def _take(raw: sqlite3.Connection, steps: Sequence[Migration]) -> list[str]:
    """Take steps in one transaction; returns the names of those that were not taken before."""
    if not steps or _applied(raw) >= steps[-1][0]:
        return []
    taken = []
    execute_when_free(raw, "BEGIN IMMEDIATE")
    try:
        raw.execute(_MIGRATIONS_TABLE)
        done = _applied(raw)  # another process may have been quicker
        for number, name, text in steps:
            if number > done:
                for statement in _statements(text):
                    raw.execute(statement)
                raw.execute("INSERT INTO schema_migrations VALUES (?, ?)", (number, name))
                taken.append(f"{number:04} {name}")
        raw.execute("COMMIT")
    except BaseException:
        if raw.in_transaction:
            raw.execute("ROLLBACK")
        raise
    return taken


def _statements(text: str) -> Iterator[str]:
    """`executescript` would commit first, so the script is cut into statements here."""
    pending = ""
    for line in text.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
