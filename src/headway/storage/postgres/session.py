"""The connection that writes, in transactions of its own."""

import contextlib
import secrets
import time
from collections.abc import Callable
from datetime import datetime

import psycopg

from headway.domain import errors
from headway.domain.values import moments
from headway.storage.engine.store import Clock
from headway.storage.engine.transaction import Transaction
from headway.storage.postgres.clock import SharedClock
from headway.storage.postgres.connection import (
    BESIDE,
    LONGEST_PAUSE_S,
    LOST,
    SHORTEST_PAUSE_S,
    TURN,
    connect,
    said,
)
from headway.storage.postgres.wire import WireConnection

GIVE_UP_AFTER_S = 10.0
READ_CLOCK_EVERY_S = 1.0

COLLISIONS = (
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.LockNotAvailable,
)
"""Errors that others cause: the same work may well succeed the next time."""

SAVEPOINT = b"SAVEPOINT work"

# A writer that hangs, or one that the network lost, must not hold up the others for ever. And a
# commit waits for the disk, even where the server, the role or the URL say that it need not.
_SETTINGS = b"""
SET lock_timeout = '60s'; SET idle_in_transaction_session_timeout = '60s';
SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') = 'off'
"""
_NOTE = """
INSERT INTO writers (name, commits) VALUES (:name, :commits)
ON CONFLICT (name) DO UPDATE SET commits = excluded.commits, at = excluded.at
"""
_FORGET_THE_DEAD = b"DELETE FROM writers WHERE at < now() - interval '1 day'"


class PostgresSession:
    """One connection that writes.

    What `begin` sends beside others goes along with the first statement, and the last statements go
    along with the commit. With each commit goes its number: when the connection is lost and the
    answer with it, the number tells whether the commit took place.
    """

    def __init__(
        self, url: str, clock: Clock, process: str, committed: Callable[[set[str]], None]
    ) -> None:
        self._url = url
        self._clock = clock
        self._committed = committed
        self._read_clock_at = 0.0
        self._name = f"{process}-{secrets.token_hex(4)}"
        self._commits = 0
        self._open()
        self._raw.execute(_FORGET_THE_DEAD)

    def _open(self) -> None:
        self._raw = connect(self._url)
        self._raw.execute(_SETTINGS)
        self._read_clock()
        self._connection = WireConnection(self._raw)

    def begin(self, *, beside: bool = False) -> None:
        """Become a writer. Nothing is written yet, so a lost connection is made anew."""
        give_up = time.monotonic() + GIVE_UP_AFTER_S
        pause = SHORTEST_PAUSE_S
        while True:
            try:
                self._begin(beside)
                return
            except LOST as error:
                self._raw.close()
                if time.monotonic() > give_up:
                    raise errors.ConnectionLost(said(error)) from error
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)

    def _begin(self, beside: bool) -> None:
        if self._raw.closed:
            self._open()
        self._read_clock()
        self._connection.beside = beside
        self._connection.wrote = False
        self._connection.forget()
        self._connection.send(b"BEGIN ISOLATION LEVEL READ COMMITTED")
        self._connection.send(BESIDE if beside else TURN)
        if not beside:
            self._wait_for_turn()

    def _wait_for_turn(self) -> None:
        try:
            self._connection.flush()
        except psycopg.errors.LockNotAvailable:
            raise errors.Unavailable(
                "another process has been writing to the database for a minute"
            ) from None

    def _read_clock(self) -> None:
        if isinstance(self._clock, SharedClock) and time.monotonic() > self._read_clock_at:
            self._read_clock_at = time.monotonic() + READ_CLOCK_EVERY_S
            asked = time.monotonic()
            row = self._raw.execute(b"SELECT clock_timestamp()").fetchone()
            assert row is not None
            self._clock.agree(row[0], took_s=time.monotonic() - asked)

    def transaction(self) -> Transaction:
        """The handle for one piece of work."""
        self._connection.expect_nothing()
        return Transaction(self._connection, self._now(), self._now)

    def _now(self) -> datetime:
        return moments.cut(self._clock.now())

    def savepoint(self) -> None:
        """Remember where this piece of work begins."""
        self._connection.send(SAVEPOINT)

    def release(self) -> None:
        """Keep this piece of work; refused if it hid an error, for that undid it already."""
        self._connection.send(b"RELEASE work")
        self._connection.flush()

    def undo(self) -> None:
        """Throw away this piece of work alone."""
        if not self._connection.forget_from(SAVEPOINT):
            self._raw.execute(b"ROLLBACK TO work; RELEASE work")

    def commit(self, wakes: set[str]) -> None:
        """Commit and notify other processes."""
        self._commits += 1
        wrote = self._connection.wrote
        if wrote:
            self._connection.put(_NOTE, {"name": self._name, "commits": self._commits})
        self._connection.send(b"COMMIT")
        try:
            self._connection.flush()
        except COLLISIONS:
            raise
        except LOST:
            # An answer that came says that nothing was kept; only one that was lost leaves doubt.
            if not (self._raw.closed and wrote and self._was_kept()):
                raise
        if wrote or wakes:
            self._committed(wakes)

    def _was_kept(self) -> bool:
        """Whether the last commit took place; known once its transaction is over."""
        try:
            self.begin()
            found = self._raw.execute(
                "SELECT commits FROM writers WHERE name = %s", [self._name]
            ).fetchone()
            self._raw.execute(b"ROLLBACK")
        except (*LOST, errors.Unavailable) as error:
            raise errors.Unavailable(
                f"the connection was lost, and perhaps this was written: {said(error)}"
            ) from error
        return found == (self._commits,)

    def rollback(self) -> None:
        """Throw away everything since begin."""
        self._connection.forget()
        with contextlib.suppress(psycopg.Error):
            self._raw.execute(b"ROLLBACK")

    def is_lost(self, error: Exception) -> bool:
        """Errors of the connection or of the transaction, unlike errors of one statement."""
        return self._raw.closed or (isinstance(error, LOST) and not isinstance(error, COLLISIONS))

    def explain(self, error: Exception) -> str:
        """What happened, and what to do about it if that is known."""
        return said(error)

    def must_repeat(self, error: Exception) -> bool:
        """Others were in the way, or the connection was lost before the commit."""
        if isinstance(error, psycopg.errors.UniqueViolation):
            return self._connection.beside
        return isinstance(error, LOST)

    def reopen(self) -> None:
        """Close the connection; the next `begin` opens a new one."""
        self._raw.close()

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(psycopg.Error):
            self._raw.execute("DELETE FROM writers WHERE name = %s", [self._name])
        self._raw.close()
