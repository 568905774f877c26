"""Since when full limits have kept jobs waiting: starvation is measured from there.

A full limit closes a whole lane. Only the first job of the lane is marked, with the moment at which
a claim first passed over it; those behind it count from the same moment, or from when they were
ready. When the marked job starts, ends or meets a closed gate of its own, the next takes over its
mark.
"""

from collections.abc import Mapping, Sequence

from headway.domain import priorities
from headway.storage import holds, records
from headway.storage.records import Head
from headway.storage.transaction import Transaction


def note(
    tx: Transaction, limited: Sequence[tuple[Head, int | None]], marks: Mapping[int, int]
) -> None:
    """Mark jobs that a claim passed over, and hand on the marks of those it took, by their lanes.

    A job that starves already says since when.
    """
    _mark(tx, [(job, since or _since(tx, job, marks)) for job, since in limited])
    first = {job.lane_id for job, _ in limited}
    hand_on(tx, {lane_id: since for lane_id, since in marks.items() if lane_id not in first})


def hand_on(tx: Transaction, marks: Mapping[int, int]) -> None:
    """The next jobs of these lanes have waited for the limit since these moments, or were ready."""
    for lane_id in marks:
        page = records.lane_page(lane_id, priorities.BEFORE_ALL, 1)
        following = tx.values(Head, "lane_heads", **page)
        holds.jobs(tx, [job.number for job in following])
        _mark(tx, [(job, _since(tx, job, marks)) for job in following])


def _since(tx: Transaction, job: Head, marks: Mapping[int, int]) -> int:
    return max(marks.get(job.lane_id, tx.now_ms), job.queued_at or 0)


def _mark(tx: Transaction, limited: Sequence[tuple[Head, int]]) -> None:
    rows = [
        {"number": job.number, "since": since}
        for job, since in limited
        if job.limited_since is None
    ]
    tx.many("limit_reached", rows)
