"""The reporter: sends the outcomes of runs to the scheduler, in batches."""

import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence

from headway.domain import errors
from headway.domain.runs import Outcome, RunStatus
from headway.protocol.work_values import Report, ReportAnswer
from headway.worker.backoff import Backoff
from headway.worker.transport import Transport

MOST_AT_ONCE = 1000
MOST_SURPRISES = 5

log = logging.getLogger("headway.worker")


class Reporter:
    """A thread that reports, and tries again for as long as the scheduler is away.

    Where claims take reports along, it is only called for what they could not take.
    """

    def __init__(
        self,
        transport: Transport,
        flush: Callable[[Collection[str]], None],
        reported: Callable[[str], None],
        chance: random.Random,
    ) -> None:
        self._transport = transport
        self._flush = flush
        self._reported = reported
        self._chance = chance
        self._ended: deque[Report] = deque()
        self._on_the_way = 0
        self._poke = threading.Event()
        self._stopping = threading.Event()
        self.patience_s = 0.0
        """How long reports wait for more, to be sent together."""
        self._thread = threading.Thread(target=self._loop, name="headway-reporter", daemon=True)
        self._thread.start()

    def add(self, lease_id: str, outcome: Outcome) -> None:
        """A run ended."""
        self._ended.append(Report(lease_id=lease_id, outcome=outcome))

    def poke(self) -> None:
        """Report now."""
        self._poke.set()

    def take(self) -> list[Report]:
        """What is to be reported now, for the caller to do it."""
        return [self._ended.popleft() for _ in range(min(len(self._ended), MOST_AT_ONCE))]

    @property
    def unreported(self) -> int:
        """How many runs have ended that the scheduler may not know of."""
        return len(self._ended) + self._on_the_way

    def taken_along(self, ended: Sequence[Report], answers: Sequence[ReportAnswer]) -> None:
        """What came of reports that went along with a claim."""
        self._note(ended, answers)

    def put_back(self, ended: Sequence[Report]) -> None:
        """These were not reported after all."""
        if ended:
            self._ended.extendleft(reversed(ended))
            self.poke()

    def close(self, timeout_s: float) -> None:
        """Report what is left, then stop."""
        self._stopping.set()
        self.poke()
        self._thread.join(timeout_s)

    def _loop(self) -> None:
        while True:
            self._poke.wait()
            if self.patience_s:
                self._stopping.wait(self.patience_s)
            self._poke.clear()
            while ended := self._take_to_report():
                try:
                    self._report(ended)
                except Exception:
                    log.exception("%d outcomes were reported and could not be put away", len(ended))
                self._on_the_way = 0
            if self._stopping.is_set() and not self._ended:
                return

    def _take_to_report(self) -> list[Report]:
        """Counted on the way before they leave the line: some may be counted twice, none missed."""
        self._on_the_way = min(len(self._ended), MOST_AT_ONCE)
        ended = self.take()
        self._on_the_way = len(ended)
        return ended

    def _report(self, ended: list[Report]) -> None:
        backoff = Backoff(self._chance)
        surprises = 0
        while True:
            try:
                self._flush([one.lease_id for one in ended])
                self._note(ended, self._transport.release(ended))
                return
            except errors.Unavailable as error:
                log.warning("%d outcomes wait for the scheduler: %s", len(ended), error)
                pause_s = backoff.next_s()
                if self._stopping.wait(pause_s):
                    time.sleep(min(pause_s, 1.0))
            except Exception as error:
                surprises += 1
                if isinstance(error, errors.HeadwayError) or surprises >= MOST_SURPRISES:
                    self._report_apart(ended, error)
                    return
                # An unexpected error may pass, and an outcome is not thrown away for it.
                log.warning("%d outcomes could not be reported: %r", len(ended), error)
                self._stopping.wait(backoff.next_s())

    def _note(self, ended: Sequence[Report], answers: Sequence[ReportAnswer]) -> None:
        outcomes = {one.lease_id: one for one in ended}
        for answer in answers:
            if isinstance(answer.error, errors.Invalid | errors.TooLarge):
                self._report_apart([outcomes[answer.lease_id]], answer.error)
                continue
            if answer.error is not None and not _is_expected(answer, ended):
                log.warning("the outcome of run %s was refused: %s", answer.lease_id, answer.error)
            self._reported(answer.lease_id)

    def _report_apart(self, ended: list[Report], error: Exception) -> None:
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
        self._report([Report(lease_id=one.lease_id, outcome=failed)])


def _is_expected(answer: ReportAnswer, ended: Sequence[Report]) -> bool:
    """A run that timed out here did so at the scheduler too, which may have been quicker."""
    late = {one.lease_id for one in ended if one.outcome.timed_out}
    return isinstance(answer.error, errors.LeaseEnded) and answer.lease_id in late
