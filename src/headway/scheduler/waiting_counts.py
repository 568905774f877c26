"""How many jobs wait for what. Counting many is work, so it is not done for every question."""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from headway.domain.answers import QueueCount
from headway.domain.jobs import Lane
from headway.domain.states import JobStatus
from headway.domain.values import moments
from headway.storage import queue
from headway.storage.engine.transaction import Transaction

FEW = 10_000
"""So many are always counted anew."""

JOBS_PER_SECOND = 20_000
"""The count of so many jobs is good for one second more."""

LONGEST_S = 60.0


READY = "ready"
"""The reason of jobs that only wait for a free slot."""

ReasonOf = Callable[[Lane], str | None]


class Count(NamedTuple):
    """What was counted, and when."""

    as_of: datetime
    rows: tuple[QueueCount, ...]

    @property
    def total(self) -> int:
        """All of them."""
        return sum(row.count for row in self.rows)


class WaitingCounts:
    """Counts, and remembers a large count for as long as counting again would cost too much."""

    def __init__(self) -> None:
        self._last: Count | None = None

    def count(self, tx: Transaction, gates: Callable[[], ReasonOf]) -> Count:
        """How many wait for what; `as_of` says how old the answer is.

        `gates` tells what keeps those of a lane from starting that wait for nothing of their own.
        """
        last = self._last
        if last is not None and 0 <= (tx.now - last.as_of).total_seconds() < _lasts_s(last.total):
            return last
        self._last = Count(tx.now, _rows(tx, gates()))
        return self._last


def _lasts_s(total: int) -> float:
    return 0.0 if total <= FEW else min(LONGEST_S, total / JOBS_PER_SECOND)


def _rows(tx: Transaction, reason_of: ReasonOf) -> tuple[QueueCount, ...]:
    counts: dict[tuple[str, JobStatus, str], tuple[int, int]] = {}
    for one in queue.waiting_by_lane(tx):
        reason = one.wait_kind or reason_of(one.lane) or READY
        key = (one.lane.queue, one.status, reason)
        count, oldest = counts.get(key, (0, one.oldest))
        counts[key] = (count + one.count, min(oldest, one.oldest))
    return tuple(
        QueueCount(
            queue=name,
            status=status,
            reason=reason,
            count=count,
            oldest=moments.from_millis(oldest),
        )
        for (name, status, reason), (count, oldest) in sorted(counts.items())
    )
