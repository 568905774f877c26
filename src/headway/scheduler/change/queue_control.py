"""The queue by hand: change a job that waits, move it, pause and resume."""

import itertools
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from headway.domain import errors, events, states
from headway.domain.gates.pause import Pause
from headway.domain.jobs import POSITION_GAP
from headway.domain.requests import job_requests
from headway.domain.requests.job_requests import JobPatch
from headway.domain.values import moments, priorities
from headway.scheduler.admit import lane_waits, lock_queues
from headway.scheduler.finish import consequences
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import params
from headway.storage import job_changes, jobs, locks, queue, retention
from headway.storage.engine.transaction import READY, Transaction
from headway.storage.manage import limits
from headway.storage.records import JobRecord

FURTHEST_POSITION = 10**15


def change(scheduler: Scheduler, tx: Transaction, reference: str | int, patch: JobPatch) -> int:
    """Change a job that no worker has claimed; return its number."""
    record = _waiting(tx, reference)
    fields = [name for name, value in msgspec.structs.asdict(patch).items() if value is not _UNSET]
    if not fields:
        raise errors.InvalidRequest(
            "", "nothing to change: give params, priority, position or scheduled_for"
        )
    changed = _changed(scheduler, tx, record, patch)
    if record.is_ready:
        lane_waits.note(scheduler, tx)  # it may stop being ready
    job_changes.change(tx, changed)
    if changed.payload_id != record.payload_id:
        _drop_payload(tx, record)
    tx.note(events.CHANGED, record.number, {"fields": fields})
    _admit_again(scheduler, tx, [record])
    return record.number


_UNSET = msgspec.UNSET


def _changed(
    scheduler: Scheduler, tx: Transaction, record: JobRecord, patch: JobPatch
) -> job_changes.Change:
    change = job_changes.unchanged(record)
    if patch.params is not _UNSET:
        change = change._replace(payload_id=_new_payload(scheduler, tx, record, patch.params))
    if patch.priority is not _UNSET:
        change = change._replace(priority=priorities.read(patch.priority))
        if change.priority != record.priority:
            change = change._replace(position=jobs.allocate(tx, positions=1).position)
    if patch.position is not _UNSET:
        if abs(patch.position) > FURTHEST_POSITION:
            raise errors.InvalidRequest("position", f"{patch.position} is out of range")
        change = change._replace(position=patch.position)
        job_changes.raise_position(tx, patch.position)
    if patch.scheduled_for is not _UNSET:
        job_requests.check_moment("scheduled_for", patch.scheduled_for)
        moment = moments.maybe_to_millis(patch.scheduled_for)
        change = change._replace(scheduled_for=moment, delayed=0)
    return change


def _new_payload(
    scheduler: Scheduler, tx: Transaction, record: JobRecord, wanted: dict[str, Any]
) -> int:
    lane = jobs.lanes(tx, [record.lane_id])[record.lane_id]
    body = params.encode(scheduler, lane.job_type, wanted)
    if body == "{}":
        return 0
    payload_id = jobs.allocate(tx, payloads=1).payload_id
    job_changes.insert_payload(tx, payload_id, body)
    return payload_id


def _drop_payload(tx: Transaction, record: JobRecord) -> None:
    """The old params go, unless a run or another link of the chain has them too."""
    links = jobs.links_with_history(tx, [abs(record.chain)])
    ran = retention.payloads_of_runs(tx, [link.number for link in links])
    if record.payload_id not in {link.payload_id for link in links} | ran:
        retention.delete_payload(tx, record.payload_id)


def _waiting(tx: Transaction, reference: str | int) -> JobRecord:
    record = jobs.read_one(tx, reference)
    if record.status not in states.WAITING:
        raise errors.AlreadyClaimed(record.job_id, record.status)
    return record


def _admit_again(scheduler: Scheduler, tx: Transaction, changed: Collection[JobRecord]) -> None:
    """Check the gates again; jobs behind these in a queue for a lock may start."""
    numbers = [record.number for record in changed]
    consequences.admit_or_end(scheduler, tx, numbers, freed=lock_queues.keys_of(changed))


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
    record = _waiting(tx, reference)
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
    _admit_again(scheduler, tx, [record])
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
    """The job to stand next to, and whether before it; none if there is no other."""
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
        space_out(tx, other.priority)
        return _between(tx, record, jobs.read(tx, [other.number])[0], goes_before)
    return (beyond + other.position) // 2


def space_out(tx: Transaction, priority: int) -> None:
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
    _admit_again(scheduler, tx, wanted)
    return [record.number for record in wanted]


def _ordered(tx: Transaction, reference: str | int) -> JobRecord:
    try:
        return _waiting(tx, reference)
    except errors.NotFound:
        raise errors.UnknownReference("order", "job", reference) from None


def _reorder_band(tx: Transaction, priority: int, wanted: Sequence[JobRecord]) -> None:
    numbers = [record.number for record in wanted]
    places = sorted(record.position for record in wanted)
    if len(set(places)) < len(places):
        space_out(tx, priority)
        places = sorted(record.position for record in jobs.read(tx, numbers))
    queue.place(tx, dict(zip(numbers, places, strict=True)))


def pause(scheduler: Scheduler, tx: Transaction, queue: str | None, job_type: str | None) -> None:
    """Start nothing more: of everything, of a queue, of a job type. What runs goes on."""
    _check_names(queue, job_type)
    with lane_waits.kept(scheduler, tx):
        paused = limits.pause(tx, Pause(queue or "", job_type or ""))
    if paused:
        _tell(tx, events.PAUSED, queue, job_type)
        # A paused job no longer blocks those behind it.
        tx.wake(READY)
        consequences.admit_or_end(scheduler, tx, freed=locks.waited_for(tx))


def resume(scheduler: Scheduler, tx: Transaction, queue: str | None, job_type: str | None) -> None:
    """Lift one pause, or every pause when none is named."""
    _check_names(queue, job_type)
    with lane_waits.kept(scheduler, tx):
        lifted = (
            limits.resume_all(tx)
            if queue is None and job_type is None
            else limits.resume(tx, Pause(queue or "", job_type or ""))
        )
    if lifted:
        _tell(tx, events.RESUMED, queue, job_type)
        tx.wake(READY)


def _check_names(queue: str | None, job_type: str | None) -> None:
    job_requests.check_name("queue", queue)
    job_requests.check_name("job_type", job_type)


def _tell(tx: Transaction, kind: str, queue: str | None, job_type: str | None) -> None:
    tx.note(kind, None, {"queue": queue, "job_type": job_type})
