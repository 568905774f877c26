"""Log lines for a person who watches: a job started, ended, failed.

A worker may do thousands of jobs a second. So the first few lines of each second are written one by
one, and one line says how many were left out. Failures are counted apart: a rush of jobs that
succeed hides none of them.
"""

import itertools
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable

import msgspec

from headway.domain import secrets
from headway.domain.runs import Outcome, RunStatus
from headway.protocol.work_values import Started

MOST_A_SECOND = 20
LONGEST = 200
FAILURES = ("failed", "timed out")
WORDS = ("started", "succeeded", "skipped", "suspended", "cancelled", *FAILURES)

log = logging.getLogger("headway.jobs")


class _Tally:
    """Counts from many threads without a lock: a step of such a counter is never lost."""

    def __init__(self) -> None:
        self.add = itertools.count(1).__next__
        self._seen = 0

    def take(self) -> int:
        """How many were added since this was last called."""
        now = self.add()
        new, self._seen = now - self._seen - 1, now
        return new


class JobLines:
    """Writes the lines of one worker; what is left out costs next to nothing."""

    def __init__(
        self,
        wanted: bool = True,
        clock: Callable[[], float] = time.monotonic,
        secret_params: tuple[str, ...] = secrets.SECRET_PARAMS,
    ) -> None:
        self._wanted = wanted
        self._secret = secrets.names(secret_params)
        self._clock = clock
        self._lock = threading.Lock()
        self._second = clock()
        self._rush_until = 0.0
        self._written: Counter[bool] = Counter()
        self._left_out = {word: _Tally() for word in WORDS}
        self._started_more = self._left_out["started"].add
        self._succeeded_more = self._left_out["succeeded"].add

    def started(self, job: Started) -> None:
        """A run has begun."""
        if not self._wanted or not log.isEnabledFor(logging.INFO):
            return
        if self._clock() < self._rush_until:
            self._started_more()
        elif self._has_room("started"):
            again = f", attempt {job.attempt + 1}" if job.attempt else ""
            log.info("job %d (%s) started%s", job.number, _line(job.job_type), again)

    def ended(self, job: Started, outcome: Outcome, ran_s: float, *, cancelled: bool) -> None:
        """A run has ended; of an error the first line is shown."""
        if not self._wanted or not log.isEnabledFor(logging.INFO):
            return
        word = _word(outcome, cancelled)
        if word == "succeeded" and self._clock() < self._rush_until:
            self._succeeded_more()
        elif self._has_room(word):
            reason = f": {_line(self._shown(job, outcome.error))}" if outcome.error else ""
            name = _line(job.job_type)
            log.info("job %d (%s) %s after %s%s", job.number, name, word, _span(ran_s), reason)

    def _shown(self, job: Started, error: str) -> str:
        """An error without the secret params that it quotes."""
        return secrets.hidden(error, msgspec.json.decode(job.params), self._secret)

    def flush(self) -> None:
        """Say what was left out, if a second has passed since."""
        with self._lock:
            self._turn_page(self._clock())

    def _has_room(self, word: str) -> bool:
        """Whether this line is written; otherwise it is counted."""
        is_failure = word in FAILURES
        with self._lock:
            self._turn_page(self._clock())
            self._written[is_failure] += 1
            if self._written[is_failure] <= MOST_A_SECOND:
                return True
            if not is_failure:
                self._rush_until = self._second + 1.0
        self._left_out[word].add()
        return False

    def _turn_page(self, now: float) -> None:
        if now < self._second + 1.0:
            return
        counts = {word: tally.take() for word, tally in self._left_out.items()}
        shown = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
        if shown:
            log.info("not shown one by one: %s", shown)
        self._second = now
        self._written.clear()


_QUIET = {
    RunStatus.COMPLETED: "succeeded",
    RunStatus.SKIPPED: "skipped",
    RunStatus.SUSPENDED: "suspended",
}


def _word(outcome: Outcome, cancelled: bool) -> str:
    if cancelled:
        return "cancelled"
    if outcome.status in _QUIET:
        return _QUIET[outcome.status]
    return "timed out" if outcome.timed_out else "failed"


def _line(text: str) -> str:
    """The first line, without anything that could look like another log line."""
    first = text.strip().partition("\n")[0]
    shown = "".join(one if one.isprintable() else "?" for one in first[: LONGEST + 1])
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"


def _span(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
