"""Group commit: one thread writes for the whole process.

It takes everything that is waiting, runs each piece of work in a savepoint inside one transaction,
commits once, and only then answers the callers. Many callers share one fsync; one caller's failure
undoes only its own work.
"""

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from headway.domain import errors
from headway.storage.transaction import Transaction

T = TypeVar("T")
Work = Callable[[Transaction], Any]
Waiting = tuple["Work | Piece", "Future[Any]"]

MOST_PER_COMMIT = 500

log = logging.getLogger("headway.storage")


@dataclass(frozen=True)
class Piece:
    """Work that is done for many callers at once: their items go to one function together.

    Where that fails, it is done for each item alone, so that one caller's bad item is its own.
    """

    together: Callable[[Transaction, Sequence[Any]], Sequence[Any]]
    item: Any

    def __call__(self, tx: Transaction) -> Any:
        """Do it for this item alone."""
        return self.together(tx, [self.item])[0]


class Session(Protocol):
    """A dialect's connection for writing."""

    def begin(self) -> None:
        """Start a transaction as the only writer; waits for others."""

    def transaction(self) -> Transaction:
        """The handle for one piece of work in the running transaction."""

    def savepoint(self) -> None:
        """Remember where this piece of work begins."""

    def release(self) -> None:
        """Keep this piece of work."""

    def undo(self) -> None:
        """Throw away this piece of work alone."""

    def commit(self, wakes: set[str]) -> None:
        """Make it durable and tell other processes."""

    def rollback(self) -> None:
        """Throw away everything since begin; never raises."""

    def is_lost(self, error: Exception) -> bool:
        """Whether the error means that the whole transaction is gone."""

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
        self._is_lost = False
        self.problem: str | None = None
        self.commits = 0
        self.writes = 0
        self._thread = threading.Thread(target=self._loop, name="headway-writer", daemon=True)
        self._thread.start()

    def submit(self, work: "Callable[[Transaction], T] | Piece") -> "Future[T]":
        """Queue a piece of work; the future is done once it is on disk."""
        return self.submit_all([work])[0]

    def submit_all(self, works: "Sequence[Work | Piece]") -> "list[Future[Any]]":
        """Queue pieces of work for one transaction, in this order; each fails by itself."""
        waiting: list[Waiting] = [(work, Future()) for work in works]
        with self._door:
            accepted = not self._is_closed
            if accepted:
                self._waiting.put(waiting)
        for _, future in () if accepted else waiting:
            future.set_exception(errors.Stopping())
        return [future for _, future in waiting]

    def check_outside(self) -> None:
        """Refuse to wait for a write inside a write: nobody is left to do it."""
        if threading.current_thread() is self._thread:
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
        self._session.close()

    def _loop(self) -> None:
        while True:
            first = self._waiting.get()
            batch = [] if first is None else first
            stopping = first is None
            while len(batch) < MOST_PER_COMMIT and not self._waiting.empty():
                item = self._waiting.get()
                if item is None:
                    stopping = True
                else:
                    batch += item
            if batch:
                self._write(batch)
            if stopping and self._waiting.empty():
                return

    def _write(self, batch: list[Waiting]) -> None:
        # A caller who gave up takes the work along; from here on it is too late to give up.
        batch = [one for one in batch if one[1].set_running_or_notify_cancel()]
        try:
            self._reopen_if_lost()
            self._session.begin()
            answers, wakes = self._run_all(batch)
            self._session.commit(wakes)
        except Exception as error:
            self._fail(batch, error)
            return
        self.problem = None
        self.commits += 1
        self.writes += len(batch)
        for place, (_, future) in enumerate(batch):
            answer = answers[place]
            if isinstance(answer, _Refused):
                future.set_exception(answer.error)
            else:
                future.set_result(answer)
        self._tell(wakes)

    def _run_all(self, batch: list[Waiting]) -> tuple[dict[int, Any], set[str]]:
        """Do every piece of work; answers by place in the batch."""
        answers: dict[int, Any] = {}
        wakes: set[str] = set()
        for together, shared in _shared(batch).items():
            items = [piece.item for _, piece in shared]
            found = self._run(partial(_do_together, together, items), wakes)
            if not isinstance(found, _Refused):
                answers.update(zip((place for place, _ in shared), found, strict=True))
        for place, (work, _) in enumerate(batch):
            if place not in answers:
                answers[place] = self._run(work, wakes)
        return answers, wakes

    def _run(self, work: Work, wakes: set[str]) -> Any:
        transaction = self._session.transaction()
        self._session.savepoint()
        try:
            answer = work(transaction)
            self._session.release()
        except Exception as error:
            if self._session.is_lost(error):
                raise
            self._session.undo()
            return _Refused(error)
        wakes |= transaction.wakes
        return answer

    def _fail(self, batch: list[Waiting], error: Exception) -> None:
        self._session.rollback()
        if self._session.is_lost(error):
            self.problem = str(error).strip() or type(error).__name__
            log.error("nothing could be written: %s", self.problem)
            error = errors.Unavailable(f"nothing could be written: {self.problem}")
            self._is_lost = True
        for _, future in batch:
            future.set_exception(error)

    def _reopen_if_lost(self) -> None:
        if self._is_lost:
            self._session.reopen()
            self._is_lost = False


@dataclass(frozen=True)
class _Refused:
    error: Exception


def _do_together(
    together: Callable[[Transaction, Sequence[Any]], Sequence[Any]],
    items: Sequence[Any],
    tx: Transaction,
) -> Sequence[Any]:
    return together(tx, items)


def _shared(batch: list[Waiting]) -> dict[Any, list[tuple[int, Piece]]]:
    """Pieces that can be done together, with their places, where there are at least two."""
    found: dict[Any, list[tuple[int, Piece]]] = {}
    for place, (work, _) in enumerate(batch):
        if isinstance(work, Piece):
            found.setdefault(work.together, []).append((place, work))
    return {together: shared for together, shared in found.items() if len(shared) > 1}
