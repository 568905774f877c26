"""The reporter: tells the scheduler how runs ended, as many at once as have ended meanwhile."""

import logging
import queue
import random
import threading
from collections.abc import Callable

from headway.domain import errors
from headway.domain.runs import Outcome, RunStatus
from headway.worker.transport import Ended, Transport

LONGEST_WAIT_S = 15.0
MOST_AT_ONCE = 1000

log = logging.getLogger("headway.worker")


class Reporter:
    """A thread that reports, and tries again for as long as the scheduler is away."""

    def __init__(
        self, transport: Transport, reported: Callable[[str], None], chance: random.Random
    ) -> None:
        self._transport = transport
        self._reported = reported
        self._chance = chance
        self._ended: queue.SimpleQueue[Ended | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="headway-reporter", daemon=True)
        self._thread.start()

    def add(self, lease_id: str, outcome: Outcome) -> None:
        """A run ended."""
        self._ended.put(Ended(lease_id=lease_id, outcome=outcome))

    def close(self, timeout_s: float) -> None:
        """Report what is left, then stop."""
        self._stopping.set()
        self._ended.put(None)
        self._thread.join(timeout_s)

    def _loop(self) -> None:
        while True:
            batch = [self._ended.get()]
            while len(batch) < MOST_AT_ONCE and not self._ended.empty():
                batch.append(self._ended.get())
            ended = [one for one in batch if one is not None]
            if ended:
                self._report(ended)
            if len(ended) < len(batch) and self._ended.empty():
                return

    def _report(self, ended: list[Ended]) -> None:
        wait_s = 0.1
        while True:
            try:
                for refusal in self._transport.release(ended):
                    if refusal.error is not None:
                        log.warning(
                            "the outcome of run %s was refused: %s", refusal.lease_id, refusal.error
                        )
                    self._reported(refusal.lease_id)
                return
            except errors.Unavailable as error:
                log.warning("%d outcomes wait for the scheduler: %s", len(ended), error)
                if self._stopping.wait(wait_s * self._chance.uniform(0.5, 1.0)):
                    wait_s = min(wait_s, 1.0)
                wait_s = min(wait_s * 2, LONGEST_WAIT_S)
            except Exception as error:
                self._report_apart(ended, error)
                return

    def _report_apart(self, ended: list[Ended], error: Exception) -> None:
        """One outcome that is refused must not keep the others back, nor its job running."""
        if len(ended) > 1:
            for one in ended:
                self._report([one])
            return
        (one,) = ended
        log.error("the outcome of run %s was refused: %s", one.lease_id, error)
        problem = f"its outcome was refused: {error}"
        if one.outcome.error == problem:
            self._reported(one.lease_id)  # not even that: its lease will expire
            return
        failed = Outcome(status=RunStatus.FAILED, error=problem, exit_code=1)
        self._report([Ended(lease_id=one.lease_id, outcome=failed)])
