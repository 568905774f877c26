"""How many jobs wait for what. Counting many is work, so it is not done for every question."""

from datetime import datetime
from typing import NamedTuple

from headway.domain import moments
from headway.domain.answers import QueueCount
from headway.domain.states import JobStatus
from headway.storage.transaction import Transaction

FEW = 10_000
"""So many are always counted anew."""

JOBS_PER_SECOND = 20_000
"""The count of so many jobs is good for one second more."""

LONGEST_S = 60.0


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

    def count(self, tx: Transaction) -> Count:
        """How many wait for what; `as_of` says how old the answer is."""
        last = self._last
        if last is not None and 0 <= (tx.now - last.as_of).total_seconds() < _lasts_s(last.total):
            return last
        self._last = Count(tx.now, _rows(tx))
        return self._last


def _lasts_s(total: int) -> float:
    return 0.0 if total <= FEW else min(LONGEST_S, total / JOBS_PER_SECOND)


def _rows(tx: Transaction) -> tuple[QueueCount, ...]:
    return tuple(
        QueueCount(
            queue=row["queue"],
            status=JobStatus(row["status"]),
            reason=row["reason"],
            count=int(row["count"]),
            oldest=moments.from_millis(row["oldest"]),
        )
        for row in tx.rows("waiting_by_queue")
    )
