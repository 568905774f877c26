"""Group commit: one thread writes for the whole process.

It takes everything that is waiting, runs each piece of work in a savepoint inside one transaction,
commits once, and only then returns to the callers. Many callers share one fsync; one caller's
failure undoes only its own work.

A thread that waits anyway writes by itself when no other does: that spares two hand-overs. Only
the main thread never does, where a Ctrl-C may come at any moment.

Where the database lets several write at once, a transaction of nothing but work that allows it runs
beside those of other processes. Work that collides with theirs is done again, alone.
"""

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from headway.domain import errors
from headway.storage.engine.transaction import Manner, MustBeAlone, Transaction
from headway.storage.engine.units import (
    Again,
    Piece,
    Refused,
    RefusedTogether,
    Unit,
    Waiting,
    Work,
    split,
)

T = TypeVar("T")

MOST_PER_COMMIT = 500
MOST_TRIES = 3

log = logging.getLogger("headway.storage")


class Session(Protocol):
    """A dialect's connection for writing."""

    def begin(self, *, beside: bool = False) -> None:
        """Start a transaction as the only writer, or beside others; wait for conflicting ones."""

    def transaction(self) -> Transaction:
        """The handle for one piece of work in the running transaction."""

    def savepoint(self) -> None:
        """Remember where this piece of work begins."""

    def release(self) -> None:
        """Keep this piece of work."""

    def undo(self) -> None:
        """Throw away this piece of work alone."""

    def commit(self, wakes: set[str]) -> None:
        """Commit and notify other processes."""

    def rollback(self) -> None:
        """Throw away everything since begin; never raises."""

    def is_lost(self, error: Exception) -> bool:
        """Whether the error means that the whole transaction is gone."""

    def explain(self, error: Exception) -> str:
        """What such an error means to a person, on one line."""

    def must_repeat(self, error: Exception) -> bool:
        """Whether the work, of which nothing is left, is to be done again."""

    def reopen(self) -> None:
        """Make a new connection after the old one was lost."""

    def close(self) -> None:
        """Close the connection."""


class Writer:
    """The thread, and the queue in front of it."""

    def __init__(self, session: Session, tell: Callable[[set[str]], None]) -> None:
        self._session = session
        self._tell = tell
        self._waiting: queue.SimpleQueue[list[Waiting] | None] = queue.SimpleQueue()
        self._is_closed = False
        self._door = threading.Lock()  # nothing is queued behind the None that ends the loop
        self._queued = 0
        self._turn = threading.Lock()
        self._who_writes: int | None = None
        self._is_lost = False
        self.problem: str | None = None
        self.commits = 0
        self.writes = 0
        self._thread = threading.Thread(target=self._loop, name="headway-writer", daemon=True)
        self._thread.start()

    def submit(
        self, work: "Callable[[Transaction], T] | Piece", manner: Manner = Manner.ALONE
    ) -> "Future[T]":
        """Queue a piece of work; the future is done once it is on disk."""
        return self.submit_all([(work, manner)])[0]

    def submit_all(
        self, works: "Sequence[tuple[Work | Piece, Manner]]", *, waits: bool = False
    ) -> "list[Future[Any]]":
        """Queue pieces of work for one transaction, in this order; each fails by itself.

        A caller that waits for the results may have to do the work.
        """
        waiting: list[Waiting] = [(work, Future(), manner) for work, manner in works]
        with self._door:
            accepted = not self._is_closed
            own_turn = accepted and waits and self._may_write()
            if accepted and not own_turn:
                self._queued += 1
                self._waiting.put(waiting)
        if own_turn:
            try:
                self._write(waiting)
            finally:
                self._end_turn()
        for _, future, _ in () if accepted else waiting:
            future.set_exception(errors.Stopping())
        return [future for _, future, _ in waiting]

    def _may_write(self) -> bool:
        """Whether it is the caller's turn: no other waits or writes."""
        if self._queued or threading.current_thread() is threading.main_thread():
            return False
        if not self._turn.acquire(blocking=False):
            return False
        self._who_writes = threading.get_ident()
        return True

    def _end_turn(self) -> None:
        self._who_writes = None
        self._turn.release()

    def check_outside(self) -> None:
        """Refuse to wait for a write inside a write: it would be a deadlock."""
        if threading.get_ident() == self._who_writes:
            raise RuntimeError(
                "store.write was called inside a write, which would wait for itself for ever;"
                " use the transaction that is open"
            )

    def close(self) -> None:
        """Finish what is waiting, then stop."""
        with self._door:
            if self._is_closed:
                return
            self._is_closed = True
            self._waiting.put(None)
        self._thread.join()
        with self._turn:
            self._session.close()

    def _loop(self) -> None:
        while True:
            first = self._waiting.get()
            with self._turn:
                self._who_writes = threading.get_ident()
                stopping = self._write_all_from(first)
                self._who_writes = None
            if stopping and self._waiting.empty():
                return

    def _write_all_from(self, first: list[Waiting] | None) -> bool:
        """Write what is waiting; return whether that was the last."""
        taken = [first]
        found = len(first or ())
        while found < MOST_PER_COMMIT and not self._waiting.empty():
            taken.append(self._waiting.get())
            found += len(taken[-1] or ())
        # A caller who gave up takes the work along; from here on it is too late to give up.
        batch = [
            one for some in taken for one in some or () if one[1].set_running_or_notify_cancel()
        ]
        if batch:
            self._write(batch)
        with self._door:
            self._queued -= len([some for some in taken if some is not None])
        return None in taken

    def _write(self, batch: list[Waiting], tries: int = 1, *, apart: bool = False) -> None:
        """Do and commit the work; `apart` means that each caller's is done for itself."""
        beside = all(manner is not Manner.ALONE for _, _, manner in batch)
        units = split(batch, apart=apart)
        try:
            self._reopen_if_lost()
            self._session.begin(beside=beside)
            answers, wakes = self._run_all(units)
            self._session.commit(wakes)
        except Exception as error:
            self._recover(batch, error, tries, alone=len(units) == 1)
            return
        self._note(None)
        self.commits += 1
        self._answer(batch, answers, tries)
        self._tell(wakes)
        again = [
            (work, future, Manner.ALONE)
            for place, (work, future, _) in enumerate(batch)
            if isinstance(answers[place], Again) and not future.done()
        ]
        if again:
            self._write(again, tries + 1)
        refused = [
            one for place, one in enumerate(batch) if isinstance(answers[place], RefusedTogether)
        ]
        if refused:
            self._write(refused, tries, apart=True)

    def _answer(self, batch: list[Waiting], answers: dict[int, Any], tries: int) -> None:
        for place, (_, future, _) in enumerate(batch):
            answer = answers[place]
            if isinstance(answer, Again):
                if tries >= MOST_TRIES:
                    future.set_exception(
                        errors.Unavailable(
                            f"it lost {MOST_TRIES} races with concurrent writers: {answer.error}"
                        )
                    )
            elif isinstance(answer, Refused):
                future.set_exception(answer.error)
            elif not isinstance(answer, RefusedTogether):
                self.writes += 1
                future.set_result(answer)

    def _run_all(self, units: list[Unit]) -> tuple[dict[int, Any], set[str]]:
        """Do every piece of work; return results by place in the batch. One needs no savepoint."""
        if len(units) == 1:
            transaction = self._session.transaction()
            return units[0].spread(_do(units[0].work, transaction)), transaction.wakes
        answers: dict[int, Any] = {}
        wakes: set[str] = set()
        for unit in units:
            answers.update(unit.spread(self._run(unit.work, wakes)))
        return answers, wakes

    def _run(self, work: Work, wakes: set[str]) -> Any:
        transaction = self._session.transaction()
        self._session.savepoint()
        try:
            answer = _do(work, transaction)
            self._session.release()
        except Exception as error:
            if self._session.is_lost(error):
                raise
            self._session.undo()
            if isinstance(error, MustBeAlone) or self._session.must_repeat(error):
                return Again(error)
            return Refused(error)
        wakes |= transaction.wakes
        return answer

    def _recover(self, batch: list[Waiting], error: Exception, tries: int, *, alone: bool) -> None:
        """The transaction was rolled back: try again, or return why not."""
        self._session.rollback()
        lost = self._session.is_lost(error)
        again = isinstance(error, MustBeAlone) or self._session.must_repeat(error)
        if again and tries < MOST_TRIES:
            self._is_lost = lost
            if not lost:
                batch = [(work, future, Manner.ALONE) for work, future, _ in batch]
            self._write(batch, tries + 1)
        elif alone and len(batch) > 1 and not lost and not isinstance(error, errors.Unavailable):
            self._write(batch, tries, apart=True)
        else:
            self._fail(batch, error)

    def _fail(self, batch: list[Waiting], error: Exception) -> None:
        if self._session.is_lost(error):
            self._note(self._session.explain(error))
            if not isinstance(error, errors.Unavailable):
                error = errors.Unavailable(f"nothing could be written: {self.problem}")
            self._is_lost = True
        for _, future, _ in batch:
            future.set_exception(error)

    def _note(self, problem: str | None) -> None:
        """Log a problem once, however many writes it fails, and its end."""
        if problem == self.problem:
            return
        self.problem = problem
        if problem is None:
            log.info("the database can be written again")
        else:
            log.error("nothing could be written: %s", problem)

    def _reopen_if_lost(self) -> None:
        if self._is_lost:
            self._session.reopen()
            self._is_lost = False


def _do(work: Work, transaction: Transaction) -> Any:
    """Do the work and write its history; a plug-in that exits must not take the writer along."""
    try:
        answer = work(transaction)
        transaction.write_notes()
        return answer
    except Exception:
        raise
    except BaseException as error:
        raise RuntimeError(f"{error!r} was raised inside a write") from error
