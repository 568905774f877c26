"""A run may end in several ways at once; only the first of them counts."""

import logging
import threading

from headway.domain.runs import Outcome
from headway.worker.executors.interface import Done

_log = logging.getLogger(__name__)


class Settlement:
    """Lets exactly one outcome through."""

    __slots__ = ("_done", "_taken")

    def __init__(self, done: Done) -> None:
        self._done = done
        self._taken = threading.Lock()

    def claim(self) -> bool:
        """Whether the caller came first; it then has to report."""
        return self._taken.acquire(blocking=False)

    def report(self, outcome: Outcome) -> None:
        """Pass on the outcome; a failing receiver must not take the thread down with it."""
        # The receiver knows the run and the run its receiver: letting go of it here spares the
        # garbage collector a reference cycle for every run.
        done, self._done = self._done, _ignore
        try:
            done(outcome)
        except Exception:
            _log.exception("an outcome could not be reported")

    def settle(self, outcome: Outcome) -> bool:
        """Report the outcome, unless another one was faster."""
        if not self.claim():
            return False
        self.report(outcome)
        return True


def _ignore(outcome: Outcome) -> None:
    """Receives what comes after the end."""
