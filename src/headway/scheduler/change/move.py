"""Move waiting jobs among those of their priority."""

import itertools
from collections.abc import Sequence

from headway.domain import errors, events, states
from headway.domain.jobs import POSITION_GAP
from headway.scheduler.change import waiting_jobs
from headway.scheduler.scheduler import Scheduler
from headway.storage import jobs, locks, queue
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord


def move(
    scheduler: Scheduler,
    tx: Transaction,
    reference: str | int,
    *,
    before: str | int | None = None,
    after: str | int | None = None,
    queue_position: int | None = None,
) -> int:
    """Give a waiting job another place among those of its priority; return its number."""
    if [before, after, queue_position].count(None) != 2:
        raise errors.InvalidRequest(
            "before", "give exactly one of before, after and queue_position"
        )
    record = waiting_jobs.read(tx, reference)
    if queue_position is not None:
        other, goes_before = _at_place(tx, record, queue_position)
    else:
        other = _neighbour(tx, record, before=before, after=after)
        goes_before = before is not None
    if other is None:
        return record.number
    if other.priority != record.priority:
        raise errors.OtherBand(record.job_id, other.job_id)
    queue.place(tx, {record.number: _between(tx, record, other, goes_before)})
    tx.note(events.CHANGED, record.number, {"fields": ["position"]})
    waiting_jobs.admit_again(scheduler, tx, [record])
    return record.number


def _neighbour(
    tx: Transaction, record: JobRecord, *, before: str | int | None, after: str | int | None
) -> JobRecord:
    field, name = ("before", before) if before is not None else ("after", after)
    try:
        other = jobs.read_one(tx, str(name))
    except errors.NotFound:
        raise errors.UnknownReference(field, "job", name) from None
    if other.number == record.number:
        raise errors.InvalidRequest(field, "a job cannot go before or after itself")
    if other.status not in states.WAITING:
        raise errors.Conflict(f"job {other.job_id} is {other.status} and has no place in the queue")
    return other


def _at_place(tx: Transaction, record: JobRecord, place: int) -> tuple[JobRecord | None, bool]:
    """The job to be next to, and whether before it; none if there is no other."""
    if place < 1:
        raise errors.InvalidRequest("queue_position", "places are counted from 1")
    others = queue.length(tx) - 1
    place = min(place, others + 1)
    following = _other_at(tx, record, place)
    previous = _other_at(tx, record, place - 1)
    above = previous is None or previous.priority > record.priority
    below = following is None or following.priority < record.priority
    if above and below:  # alone in its priority, and already there
        return None, True
    if previous and (following is None or following.priority != record.priority):
        return previous, False
    return following, True


def _other_at(tx: Transaction, record: JobRecord, place: int) -> JobRecord | None:
    if place < 1:
        return None
    number = queue.other_at(tx, place, record.number)
    return None if number is None else jobs.read(tx, [number])[0]


def _between(tx: Transaction, record: JobRecord, other: JobRecord, goes_before: bool) -> int:
    """A free position next to the other job; the band is spaced anew when there is none."""
    find = queue.position_before if goes_before else queue.position_after
    beyond = find(tx, other, record.number)
    if beyond is None:
        if goes_before:
            return other.position - POSITION_GAP
        return jobs.allocate(tx, positions=1).position  # the tail: new jobs come behind it
    if abs(beyond - other.position) < 2:
        _space_out(tx, other.priority)
        return _between(tx, record, jobs.read(tx, [other.number])[0], goes_before)
    return (beyond + other.position) // 2


def _space_out(tx: Transaction, priority: int) -> None:
    """Put gaps between all waiting jobs of a priority again; their order stays."""
    band = queue.band(tx, priority)
    first = jobs.allocate(tx, positions=len(band)).position
    queue.place(tx, {number: first + step * POSITION_GAP for step, number in enumerate(band)})
    locks.place_waiters(tx, priority)


def reorder(scheduler: Scheduler, tx: Transaction, order: Sequence[str | int]) -> list[int]:
    """Put waiting jobs into this order, in the places they have now; return their numbers."""
    wanted = [_ordered(tx, reference) for reference in order]
    if not wanted:
        raise errors.InvalidRequest("order", "name at least one job")
    if len({record.number for record in wanted}) < len(wanted):
        raise errors.InvalidRequest("order", "a job is named twice")
    for one, following in itertools.pairwise(wanted):
        if one.priority < following.priority:
            raise errors.OtherBand(one.job_id, following.job_id)
    for priority in dict.fromkeys(record.priority for record in wanted):
        _reorder_band(tx, priority, [one for one in wanted if one.priority == priority])
    for record in wanted:
        tx.note(events.CHANGED, record.number, {"fields": ["position"]})
    waiting_jobs.admit_again(scheduler, tx, wanted)
    return [record.number for record in wanted]


def _ordered(tx: Transaction, reference: str | int) -> JobRecord:
    try:
        return waiting_jobs.read(tx, reference)
    except errors.NotFound:
        raise errors.UnknownReference("order", "job", reference) from None


def _reorder_band(tx: Transaction, priority: int, wanted: Sequence[JobRecord]) -> None:
    numbers = [record.number for record in wanted]
    places = sorted(record.position for record in wanted)
    if len(set(places)) < len(places):
        _space_out(tx, priority)
        places = sorted(record.position for record in jobs.read(tx, numbers))
    queue.place(tx, dict(zip(numbers, places, strict=True)))
