"""The store: write, read, wait. Which database is behind it shows only in how it is opened."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol, TypeVar

from headway.domain import errors
from headway.storage.engine.transaction import Manner, Transaction
from headway.storage.engine.units import Piece
from headway.storage.engine.wakeups import Wakeups
from headway.storage.engine.writer import Session, Writer

T = TypeVar("T")
Item = TypeVar("Item")


class Clock(Protocol):
    """Time, handed in."""

    def now(self) -> datetime:
        """The current moment, in UTC."""


class Database(Protocol):
    """What a dialect must offer."""

    url: str
    clock: Clock
    """The clock that all processes on the database share."""

    parallel: bool
    """Whether several may write at once."""

    def migrate(self, to: int | None = None) -> list[str]:
        """Bring the schema up to date; return the names of the steps taken."""

    def pending_migrations(self) -> list[str]:
        """The steps that `migrate` would take."""

    def is_new(self) -> bool:
        """Whether it has no tables yet."""

    def check(self) -> None:
        """Refuse a database that can be reached, but could not be worked with."""

    def doubts(self) -> list[str]:
        """Why an acknowledged write might not survive a crash of the machine, a sentence each."""

    def session(self) -> Session:
        """A connection for writing; where several may write at once, a process has two."""

    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that sees one state of the database and changes nothing."""

    def listen(self, tell: Callable[[set[str]], None]) -> Callable[[], None]:
        """Pass on wake-ups from other processes; return a function that stops it."""

    @property
    def deaf_s(self) -> float:
        """For how long wake-ups from other processes have not been heard; 0 if they are."""

    def damage(self) -> list[str]:
        """What the database itself finds wrong with its files."""

    def close(self) -> None:
        """Close every connection."""


class Store:
    """Everything above this line is the same on every database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._process = os.getpid()
        self.wakeups = Wakeups()
        self.writer = Writer(database.session(), self.wakeups.tell)
        self._apart = (
            Writer(database.session(), self.wakeups.tell) if database.parallel else self.writer
        )
        self._stop_listening = database.listen(self.wakeups.tell)

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run the work as the only writer, and wait until it is on disk."""
        return self._write(work, Manner.ALONE)

    def write_beside(self, work: Callable[[Transaction], T]) -> T:
        """Like `write`, but others may write meanwhile, where the database allows it."""
        return self._write(work, Manner.BESIDE)

    def write_apart(self, work: Callable[[Transaction], T]) -> T:
        """Like `write_beside`, in no transaction with other work: it locks what many need."""
        return self._write(work, Manner.APART)

    def write_later(self, work: Callable[[Transaction], T]) -> "Future[T]":
        """Like `write`, without waiting."""
        return self._write_later(work, Manner.ALONE)

    def write_beside_later(self, work: Callable[[Transaction], T]) -> "Future[T]":
        """Like `write_beside`, without waiting."""
        return self._write_later(work, Manner.BESIDE)

    def write_apart_later(self, work: Callable[[Transaction], T]) -> "Future[T]":
        """Like `write_apart`, without waiting."""
        return self._write_later(work, Manner.APART)

    def _write(self, work: Callable[[Transaction], T], manner: Manner) -> T:
        self._refuse_after_fork()
        self.writer.check_outside()
        self._apart.check_outside()
        (done,) = self._writer(manner).submit_all([(work, manner)], waits=True)
        answer: T = done.result()
        return answer

    def _write_later(self, work: Callable[[Transaction], T], manner: Manner) -> "Future[T]":
        self._refuse_after_fork()
        return self._writer(manner).submit(work, manner)

    def write_both(
        self, first: Callable[[Transaction], T], second: Callable[[Transaction], Item]
    ) -> "tuple[Future[T], Future[Item]]":
        """Two pieces of work for one commit, one after the other; each fails by itself."""
        self._refuse_after_fork()
        works = [(first, Manner.ALONE), (second, Manner.ALONE)]
        one, two = self.writer.submit_all(works, waits=True)
        return one, two

    def write_together(
        self,
        together: Callable[[Transaction, Sequence[Item]], Sequence[T]],
        item: Item,
    ) -> "Future[T]":
        """Like `write_beside_later`, sharing the statements of concurrent callers of the same."""
        return self._write_later(Piece(together, item), Manner.BESIDE)

    def _refuse_after_fork(self) -> None:
        """The writer's thread, the connections and their locks are the parent's."""
        if os.getpid() != self._process:
            raise errors.OpenedBeforeFork

    def _writer(self, manner: Manner) -> Writer:
        return self._apart if manner is Manner.APART else self.writer

    @property
    def problem(self) -> str | None:
        """Why the last write failed, if it did."""
        return self.writer.problem or self._apart.problem

    @property
    def counts(self) -> tuple[int, int]:
        """How many commits there were, and how many pieces of work in them."""
        writers = {self.writer, self._apart}
        return sum(one.commits for one in writers), sum(one.writes for one in writers)

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run the work on one consistent state, in the caller's thread."""
        self._refuse_after_fork()
        try:
            with self.database.reading() as transaction:
                return work(transaction)
        except errors.ConnectionLost:  # as a rule only this connection is gone
            with self.database.reading() as transaction:
                return work(transaction)

    def close(self) -> None:
        """Write what is waiting and close the database; in a fork, nothing is ours to close."""
        if os.getpid() != self._process:
            return
        self._apart.close()
        self.writer.close()
        self._stop_listening()
        self.database.close()
