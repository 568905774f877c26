"""Whether the server can do its work, and if not, why."""

import threading
import time
from concurrent.futures import Future

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

    def readiness(self, *, recovered: bool, stopping: bool) -> Readiness:
        """Ready means: recovered, not stopping, and the database can be read and written."""
        problems = [] if recovered else ["recovery has not finished"]
        if stopping:
            problems.append("the server is stopping")
        else:
            problems += self._look()
        return Readiness(ready=not problems, problems=problems)

    def _look(self) -> list[str]:
        with self._lock:
            fresh = time.monotonic() - self._looked < GOOD_FOR_S
            if not fresh or self._found or self._store.problem:
                self._found = [*_try_to_read(self._store), *_try_to_write(self._store)]
                self._looked = time.monotonic()
            return self._found


def _try_to_read(store: Store) -> list[str]:
    try:
        store.read(lambda tx: tx.rows("event_bounds"))
    except Exception as error:
        return [_reason(error)]
    return []


def _try_to_write(store: Store) -> list[str]:
    """A write that fails is the only sign of a full disk, and one that works that it has room."""

    def work(tx: Transaction) -> int:
        return tx.do("put_fact", name=WRITTEN, value=moments.show(tx.now))

    writing: Future[int] = store.write_later(work, Manner.BESIDE)
    try:
        writing.result(WAIT_S)
    except TimeoutError:
        writing.cancel()
        return [f"a write did not finish within {WAIT_S:g} s"]
    except Exception as error:
        return [_reason(error)]
    return []


def _reason(error: Exception) -> str:
    if isinstance(error, HeadwayError):
        return error.detail
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
