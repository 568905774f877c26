"""Whether the server can do its work, and if not, why."""

import logging
import threading
import time
from concurrent.futures import Future
from typing import Any

import msgspec

from headway.domain.errors import HeadwayError
from headway.domain.values import moments
from headway.scheduler.scheduler import Scheduler
from headway.storage import events
from headway.storage.engine.store import Store
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import tokens
from headway.storage.upkeep import facts

WRITTEN = "last_checked"
"""The fact that is written to see whether writing works."""

log = logging.getLogger("headway.http")

GOOD_FOR_S = 1.0
WAIT_S = 5.0


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `/readyz`."""

    ready: bool
    problems: list[str]


class Problem(msgspec.Struct, frozen=True):
    """What is wrong; `brief` is for those without a token, who learn no hosts and no paths."""

    detail: str
    brief: str


class Health:
    """Looks whether the database can be read and written; a good look is good for a second."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._store = scheduler.store
        self._lock = threading.Lock()
        self._looked = float("-inf")
        self._found: list[Problem] = []
        self._reading: Future[None] | None = None

    def problems(self, *, recovered: bool, stopping: bool) -> list[Problem]:
        """None if ready: recovered, not stopping, and the database can be read and written."""
        found = [] if recovered else [_open("recovery has not finished")]
        return [*found, *([_open("the server is stopping")] if stopping else self._look())]

    def _look(self) -> list[Problem]:
        asked = time.monotonic()
        with self._lock:
            good = not self._found and not self._store.problem
            # A request that waited for another's check takes its result: checks must not pile up.
            if self._looked < (asked - GOOD_FOR_S if good else asked):
                found = self._try()
                if found and found != self._found:
                    log.warning("not ready: %s", "; ".join(one.detail for one in found))
                self._found = found
                self._looked = time.monotonic()
            return self._found

    def _try(self) -> list[Problem]:
        """Read and write at the same time: both may take as long as the answer may."""
        give_up = time.monotonic() + WAIT_S
        writing = self._store.write_beside_later(_write)
        return [
            *_problem("read", self._read_later(), give_up),
            *_problem("write", writing, give_up),
        ]

    def _read_later(self) -> "Future[None]":
        """A read that hangs is waited for; another one would hang as well."""
        if self._reading is None or self._reading.done():
            self._reading = Future()
            self._reading.set_running_or_notify_cancel()  # from here on it cannot be cancelled
            threading.Thread(
                target=_read, args=(self._store, self._reading), name="headway-health", daemon=True
            ).start()
        return self._reading


def _read(store: Store, done: "Future[None]") -> None:
    try:
        store.read(_look_at)
    except Exception as error:
        done.set_exception(error)
    else:
        done.set_result(None)


def _look_at(tx: Transaction) -> None:
    """What every request needs: without tokens nothing is answered."""
    events.bounds(tx)
    tokens.by_digest(tx, "")


def _write(tx: Transaction) -> None:
    """A write that fails is the only sign of a full disk, and one that works that it has room."""
    facts.put(tx, WRITTEN, moments.show(tx.now))


def readiness(problems: list[Problem], *, brief: bool) -> Readiness:
    """The answer for these problems."""
    told = [one.brief if brief else one.detail for one in problems]
    return Readiness(ready=not problems, problems=list(dict.fromkeys(told)))


def _open(text: str) -> Problem:
    return Problem(detail=text, brief=text)


def _problem(verb: str, doing: "Future[Any]", give_up: float) -> list[Problem]:
    try:
        doing.result(max(0.0, give_up - time.monotonic()))
    except TimeoutError:
        doing.cancel()
        return [_open(f"a {verb} did not finish within {WAIT_S:g} s")]
    except Exception as error:
        return [Problem(detail=_reason(error), brief=_BRIEF[verb])]
    return []


_BRIEF = {
    "read": "the database cannot be read; the log and those with a token are told why",
    "write": "the database cannot be written; the log and those with a token are told why",
}


def _reason(error: Exception) -> str:
    if isinstance(error, HeadwayError):
        return error.detail
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
