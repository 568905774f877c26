"""The newest jobs that one filter lets through, as an index names them."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from headway.domain.states import JobStatus
from headway.storage import records
from headway.storage.engine.transaction import Transaction

MOST_LANES = 201
"""As many as a page has jobs: the newest jobs are in the lanes that have the newest jobs."""


class Candidates(NamedTuple):
    """Job numbers, newest first, and below which number there may be more, if there may."""

    numbers: Sequence[int]
    looked_down_to: int | None = None


class Indexes:
    """Names jobs with numbers below one of them, so many at most."""

    def __init__(self, tx: Transaction, before: int) -> None:
        self._tx = tx
        self._before = before

    def newest(self, query: str, count: int, **params: Any) -> Candidates:
        """The newest jobs that a query names."""
        return _joined([self._numbers(query, count, **params)], count)

    def of_statuses(self, query: str, statuses: Iterable[JobStatus], count: int) -> Candidates:
        """The newest jobs that a query names for one of these statuses."""
        return _joined([self._numbers(query, count, status=one) for one in statuses], count)

    def since(self, moment_ms: int, count: int) -> Candidates | None:
        """All jobs from a moment on, unless there are too many."""
        rows = self._tx.rows("oldest_since", since=moment_ms, count=count)
        if len(rows) >= count:
            return None
        numbers = (row["number"] for row in rows if row["number"] < self._before)
        return Candidates(sorted(numbers, reverse=True))

    def of_lanes(self, queue: str | None, job_type: str | None, count: int) -> Candidates:
        """The newest jobs of a queue, of a job type, or of both."""
        rows = self._tx.rows("lanes_of", queue=queue, job_type=job_type)
        rows = self._lanes_by_newest([row["lane_id"] for row in rows])
        if not rows:
            return Candidates(())
        each = max(count // len(rows), MOST_LANES)
        lanes = records.listed(row["lane_id"] for row in rows)
        parts: dict[int, list[int]] = {}
        for row in self._tx.rows(
            "newest_of_lanes", lane_ids=lanes, before=self._before, count=each
        ):
            parts.setdefault(row["lane_id"], []).append(row["number"])
        left_out = rows[-1]["newest"] if len(rows) == MOST_LANES else 0
        return _joined([sorted(part, reverse=True) for part in parts.values()], each, left_out)

    def _lanes_by_newest(self, lanes: Sequence[int]) -> Sequence[Any]:
        return self._tx.rows(
            "lanes_by_newest",
            lane_ids=records.listed(lanes),
            before=self._before,
            count=MOST_LANES,
        )

    def _numbers(self, query: str, count: int, **params: Any) -> list[int]:
        rows = self._tx.rows(query, before=self._before, count=count, **params)
        return [row["number"] for row in rows]


def _joined(parts: Sequence[Sequence[int]], count: int, least: int = 0) -> Candidates:
    """Down to where the first part that is cut off ends, all parts are complete."""
    floor = max((part[-1] for part in parts if len(part) >= count), default=0)
    floor = max(floor, least)
    numbers = sorted({one for part in parts for one in part if one >= floor}, reverse=True)
    return Candidates(numbers, floor or None)
