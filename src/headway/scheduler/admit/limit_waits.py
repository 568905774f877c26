"""Since when full limits have kept jobs waiting: starvation is measured from there.

A full limit closes a whole lane. Only the first job of the lane is marked, with the moment at which
a claim first passed over the lane: each job of it has waited since then, or since it was ready.
When the marked job starts, ends or meets a closed gate of its own, the next takes over its mark.
"""

from collections.abc import Mapping, Sequence

from headway.domain.values import priorities
from headway.storage import holds, lanes
from headway.storage.engine.transaction import Transaction
from headway.storage.records import Head


def note(
    tx: Transaction, limited: Sequence[tuple[Head, int | None]], marks: Mapping[int, int]
) -> None:
    """Mark jobs that a claim passed over, and hand on the marks of those it took, by their lanes.

    With a job that starves comes the mark of its lane.
    """
    _mark(tx, [(job, mark or marks.get(job.lane_id, tx.now_ms)) for job, mark in limited])
    first = {job.lane_id for job, _ in limited}
    hand_on(tx, {lane_id: mark for lane_id, mark in marks.items() if lane_id not in first})


def hand_on(tx: Transaction, marks: Mapping[int, int]) -> None:
    """The next jobs of these lanes take over their marks."""
    for lane_id, mark in marks.items():
        (following,) = tx.ask(lanes.heads(lane_id, priorities.BEFORE_ALL, 1))
        holds.jobs(tx, [job.number for job in following])
        _mark(tx, [(job, mark) for job in following])


def _mark(tx: Transaction, limited: Sequence[tuple[Head, int]]) -> None:
    lanes.mark(
        tx,
        {
            job.number: mark
            for job, mark in limited
            if job.limited_since is None or mark < job.limited_since
        },
    )
