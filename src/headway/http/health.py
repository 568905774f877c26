"""Whether the server can do its work, and if not, why."""

import threading
import time
from concurrent.futures import Future
from typing import Any

import msgspec

from headway.domain import moments
from headway.domain.errors import HeadwayError
from headway.scheduler.scheduler import Scheduler
from headway.storage.store import Store
from headway.storage.transaction import Manner, Transaction

WRITTEN = "last_checked"
"""The fact that is written to see whether writing works."""

GOOD_FOR_S = 1.0
WAIT_S = 5.0


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `/readyz`."""

    ready: bool
    problems: list[str]


class Health:
    """Looks whether the database can be read and written; a good look is good for a second."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._store = scheduler.store
        self._lock = threading.Lock()
        self._looked = float("-inf")
        self._found: list[str] = []
        self._reading: Future[None] | None = None

    def readiness(self, *, recovered: bool, stopping: bool) -> Readiness:
        """Ready means: recovered, not stopping, and the database can be read and written."""
        problems = [] if recovered else ["recovery has not finished"]
        if stopping:
            problems.append("the server is stopping")
        else:
            problems += self._look()
        return Readiness(ready=not problems, problems=problems)

    def _look(self) -> list[str]:
        asked = time.monotonic()
        with self._lock:
            good = not self._found and not self._store.problem
            # Who waited for somebody else's look takes what he found: looks must not pile up.
            if self._looked < (asked - GOOD_FOR_S if good else asked):
                self._found = self._try()
                self._looked = time.monotonic()
            return self._found

    def _try(self) -> list[str]:
        """Read and write at the same time: both may take as long as the answer may."""
        give_up = time.monotonic() + WAIT_S
        writing = self._store.write_later(_write, Manner.BESIDE)
        return [
            *_problem("read", self._read_later(), give_up),
            *_problem("write", writing, give_up),
        ]

    def _read_later(self) -> "Future[None]":
        """A read that hangs is waited for; another one would hang as well."""
        if self._reading is None or self._reading.done():
            self._reading = Future()
            self._reading.set_running_or_notify_cancel()  # from here on nobody can give it up
            threading.Thread(
                target=_read, args=(self._store, self._reading), name="headway-health", daemon=True
            ).start()
        return self._reading


def _read(store: Store, done: "Future[None]") -> None:
    try:
        store.read(lambda tx: tx.rows("event_bounds"))
    except Exception as error:
        done.set_exception(error)
    else:
        done.set_result(None)


def _write(tx: Transaction) -> int:
    """A write that fails is the only sign of a full disk, and one that works that it has room."""
    return tx.do("put_fact", name=WRITTEN, value=moments.show(tx.now))


def _problem(verb: str, doing: "Future[Any]", give_up: float) -> list[str]:
    try:
        doing.result(max(0.0, give_up - time.monotonic()))
    except TimeoutError:
        doing.cancel()
        return [f"a {verb} did not finish within {WAIT_S:g} s"]
    except Exception as error:
        return [_reason(error)]
    return []


def _reason(error: Exception) -> str:
    if isinstance(error, HeadwayError):
        return error.detail
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
