"""The files of one SQLite database, and connections to them.

An open file outlives its name: what is written to one that was deleted or replaced is gone after a
restart. So every commit compares device and inode of what was opened with what the path names now,
and looks whether a database file that was changed in place is still the same database.
"""

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headway.domain import errors
from headway.files import private_files

BUSY_TIMEOUT_MS = 5000
GIVE_UP_AFTER_S = 60.0
RETRY_AFTER_S = 0.005

BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})

DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

Identity = tuple[int, int]


class DatabaseFiles:
    """The database file with its `-wal` and `-shm`, as the first open connection found them."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._known: dict[str, Identity] = {}
        self._damage: str | None = None
        self._seen = _Seen()
        self._open = 0
        self._lock = threading.Lock()

    def connect(self, *, durable: bool = True, read_only: bool = False) -> sqlite3.Connection:
        """A connection to the same files as those that are open."""
        with self._lock:
            raw = self._connect(durable=durable, read_only=read_only)
            self._open += 1
        return raw

    def disconnect(self, raw: sqlite3.Connection) -> None:
        """Close a connection. SQLite removes `-wal` and `-shm` with the last one."""
        with self._lock:
            raw.close()
            self._open -= 1
            if not self._open:
                self._known = {}
                self._damage = None
                self._seen = _Seen()

    def _connect(self, *, durable: bool, read_only: bool) -> sqlite3.Connection:
        is_first = not self._open
        if is_first:
            refuse_orphaned_log(self.path)
        self.check()
        raw = connect(self.path, durable=durable, read_only=read_only, create=is_first)
        try:
            if is_first:
                raw.execute("SELECT 1 FROM sqlite_master").fetchone()  # this makes -wal and -shm
                self._known = self._found()
            self.check()
        except BaseException:
            raw.close()
            raise
        return raw

    def check(self) -> None:
        """Refuse to go on if a path names another file than was opened, or the file is damaged."""
        for path, known in self._known.items():
            found = _status(path)
            if found is None or _identity(found) != known:
                raise errors.DatabaseMoved(
                    self.path.name, os.path.basename(path), replaced=found is not None
                )
            if path == str(self.path) and not self._seen.covers(found):
                self._look_into(found)
        if self._damage is not None:  # what is put into it later does not fit the log
            raise errors.DatabaseDamaged(self.path.name, self._damage)

    def note_damage(self, problem: str) -> None:
        """SQLite has found the file damaged: nothing more is written to it."""
        self._damage = self._damage or problem

    def _look_into(self, status: os.stat_result) -> None:
        """Look at the file itself, without its log. As a rule, a checkpoint has written to it."""
        seen = self._seen
        if not status.st_size:
            return self.note_damage("it was emptied while it was in use")
        try:
            version = _schema_version(self.path)
        except sqlite3.DatabaseError as error:
            # While another process extends the file, its first page counts pages that follow.
            if code(error) == sqlite3.SQLITE_CORRUPT and status.st_size < seen.largest:
                return self.note_damage("it was cut off while it was in use")
            if code(error) == sqlite3.SQLITE_NOTADB:
                return self.note_damage("it was overwritten while it was in use")
            return None
        if version < seen.schema:
            return self.note_damage("it was overwritten while it was in use")
        self._seen = _Seen.of(status, version, max(seen.largest, status.st_size))
        return None

    def _found(self) -> dict[str, Identity]:
        real = os.path.realpath(self.path)  # SQLite follows links, and writes beside the target
        found = {}
        for path in (str(self.path), f"{real}-wal", f"{real}-shm"):
            status = _status(path)
            if status is None:
                raise errors.DatabaseMoved(self.path.name, os.path.basename(path), replaced=False)
            found[path] = _identity(status)
        return found


@dataclass(frozen=True)
class _Seen:
    """The database file when it was last looked into."""

    size: int = -1
    changed: int = 0
    largest: int = 0
    schema: int = 0

    @classmethod
    def of(cls, status: os.stat_result, schema: int, largest: int) -> "_Seen":
        return cls(status.st_size, status.st_mtime_ns, largest, schema)

    def covers(self, status: os.stat_result) -> bool:
        """Whether it was not written to since."""
        return (status.st_size, status.st_mtime_ns) == (self.size, self.changed)


def _schema_version(path: Path) -> int:
    """The number of changes to the schema, as the first page of the file itself has it."""
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"  # without locks and without the log
    with contextlib.closing(sqlite3.connect(uri, uri=True)) as raw:
        return int(raw.execute("PRAGMA schema_version").fetchone()[0])


def _status(path: str) -> os.stat_result | None:
    """What the path names. Never by opening: to close a file drops the locks SQLite has on it."""
    try:
        return os.stat(path)
    except OSError:
        return None


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def refuse_orphaned_log(path: Path) -> None:
    """Refuse to make a database where SQLite would throw away what is left of an older one."""
    log = path.with_name(f"{path.name}-wal")
    status = _status(str(path))
    with contextlib.suppress(FileNotFoundError):
        if not (status and status.st_size) and log.stat().st_size:
            raise errors.OrphanedLog(path.name, log.name, is_empty=status is not None)


def connect(
    path: Path, *, durable: bool = True, read_only: bool = False, create: bool = True
) -> sqlite3.Connection:
    """Open the file with the settings that everything here relies on."""
    if create:
        private_files.make_file(path)  # `-wal` and `-shm` get the mode of the file
    raw = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}",
        uri=True,
        timeout=BUSY_TIMEOUT_MS / 1000,
        isolation_level=None,
        check_same_thread=False,
    )
    execute_when_free(raw, "PRAGMA journal_mode=WAL")
    raw.execute(f"PRAGMA synchronous={'FULL' if durable else 'OFF'}")
    raw.execute("PRAGMA temp_store=MEMORY")
    raw.execute("PRAGMA cache_size=-16000")
    raw.execute("PRAGMA wal_autocheckpoint=4000")
    if read_only:
        raw.execute("PRAGMA query_only=ON")
    return raw


def execute_when_free(raw: sqlite3.Connection, statement: str) -> None:
    """Execute a statement that needs a lock of the file, and wait while another process has it.

    SQLite's own time-out is not enough. It is shorter than a long transaction, and it does not
    apply where two connections could wait for each other: when both turn a new file to WAL, one
    of them fails at once.
    """
    give_up = time.monotonic() + GIVE_UP_AFTER_S
    while True:
        try:
            raw.execute(statement)
            return
        except sqlite3.OperationalError as error:
            if code(error) not in BUSY:
                raise
            if time.monotonic() > give_up:
                raise errors.Unavailable(
                    "another process has been writing to the database for a minute"
                ) from None
            time.sleep(RETRY_AFTER_S)


def code(error: Exception) -> int:
    """What SQLite calls it, without the finer distinctions; 0 if it says nothing."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def said(path: Path, error: Exception) -> str:
    """What an error says, on one line, and what to do about a damaged file."""
    told = " ".join(str(error).split()) or type(error).__name__
    return errors.DatabaseDamaged(path.name, told).detail if code(error) in DAMAGED else told


@contextlib.contextmanager
def naming_damage(path: Path) -> Iterator[None]:
    """Let an error of a damaged file say which one it is and what to do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if code(error) in DAMAGED:
            raise errors.DatabaseDamaged(path.name, str(error)) from error
        raise


@contextlib.contextmanager
def looking(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file that is there and change nothing, not even the settings that are kept in it."""
    raw = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=BUSY_TIMEOUT_MS / 1000
    )
    with contextlib.closing(raw):
        raw.execute("PRAGMA query_only=ON")
        yield raw
