"""Jobs as they are shown: what is stored, and what is true of them just now.

What is stored with a job says which of its own gates is closed. What closes a whole lane is looked
at here, by the gates' own functions, when a job is read.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from headway.domain import states
from headway.domain.gates import Closed
from headway.domain.jobs import Job, Lane
from headway.scheduler.admit import lane_waits, late_threads, own_gates
from headway.scheduler.admit.gate_facts import gather
from headway.scheduler.admit.lane_gates import LaneGates
from headway.scheduler.scheduler import Scheduler
from headway.storage import job_views, jobs, queue
from headway.storage.admit import postponed
from headway.storage.engine import slices
from headway.storage.engine.slices import Sized, Slice
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import limits, reservations

FURTHEST_PLACE = 10_000
"""Places behind this one are not counted."""


def view(scheduler: Scheduler, tx: Transaction, reference: str | int) -> Job:
    """One job as it is shown, by number or id, with all its params."""
    return views(scheduler, tx, [jobs.find_number(tx, reference)], None)[0]


def page(
    scheduler: Scheduler, tx: Transaction, found: Sequence[Sized[int]], count: int
) -> Slice[Job]:
    """Up to so many of these jobs as they are shown."""
    return slices.read(found, count, lambda numbers: views(scheduler, tx, numbers))


def views(
    scheduler: Scheduler,
    tx: Transaction,
    numbers: Sequence[int],
    largest: int | None = slices.LARGEST_LISTED,
) -> list[Job]:
    """Some jobs as they are listed, in the order asked for, with what is not stored."""
    found = job_views.read(tx, numbers, largest)
    waiting = [job.number for job in found if job.status in states.WAITING]
    places = places_in_queue(tx, waiting) if waiting else {}
    return _as_they_stand(scheduler, tx, found, places)


def new(scheduler: Scheduler, tx: Transaction, made: Sequence[Job]) -> list[Job]:
    """Jobs that were just submitted; most of the time no pause or reservation concerns them."""
    if not limits.pauses(tx) and reservations.active(tx) is None:
        return list(made)
    return _as_they_stand(scheduler, tx, made, {})


def _as_they_stand(
    scheduler: Scheduler, tx: Transaction, found: Sequence[Job], places: Mapping[int, int]
) -> list[Job]:
    """Jobs with what closes their gates now, as far as it is not stored with them."""
    behind = [job.number for job in found if job.status is states.WAITING_ON_DEPS]
    put_off = postponed.among(tx, behind)
    judged = put_off | {
        job.number for job in found if _is_ready(job) or job.status in states.CLAIMS
    }
    closed = _closed_now(scheduler, tx, [job for job in found if job.number in judged], put_off)
    met = lane_waits.since_ready(tx, [job.number for job in found if _is_ready(job)])
    lapsed = _own_gates(
        scheduler, tx, [one.number for one in found if one.number not in judged and _may_lapse(one)]
    )
    found = [_looked_at(job, closed) if job.number in put_off else job for job in found]
    found = [_lapsed(job, lapsed[job.number]) if job.number in lapsed else job for job in found]
    return [
        _judged(job, places.get(job.number), closed.get(job.number), met.get(job.number, ()))
        if job.number in judged
        else _placed(job, places.get(job.number))
        for job in found
    ]


def _is_ready(job: Job) -> bool:
    return job.status is states.QUEUED and job.wait_reason is None


def places_in_queue(tx: Transaction, numbers: Sequence[int]) -> dict[int, int]:
    """The 1-based places of those of these jobs that are near enough to the front."""
    return queue.places(tx, numbers, FURTHEST_PLACE)


def _looked_at(job: Job, closed: Mapping[int, Closed]) -> Job:
    """A job whose gates are still to be checked, as they will be, unless it will end by them."""
    verdict = closed.get(job.number)
    if verdict is not None and verdict.status in states.TERMINAL:
        return job
    return msgspec.structs.replace(job, status=states.QUEUED, wait_reason=None)


def _closed_now(
    scheduler: Scheduler, tx: Transaction, judged: Sequence[Job], put_off: Collection[int]
) -> dict[int, Closed]:
    """The first closed gate of jobs that may be claimed, or are: their own, or their lane's."""
    if not judged:
        return {}
    own = [job.number for job in judged if job.number in put_off or _may_close(job)]
    closed = _own_gates(scheduler, tx, own)
    gates = LaneGates(scheduler, tx)
    for job in judged:
        claimed = job.status in states.CLAIMS
        if job.number not in closed and (
            found := gates.first_closed(_lane(job), job.number, claimed=claimed)
        ):
            closed[job.number] = found
    return {**_behind_threads(scheduler, tx, judged), **closed}


def _behind_threads(
    scheduler: Scheduler, tx: Transaction, judged: Sequence[Job]
) -> dict[int, Closed]:
    """Jobs that wait for the thread of an earlier attempt."""
    late = late_threads.late_chains(scheduler, tx)
    waiting = jobs.read(tx, [job.number for job in judged]) if late else []
    verdicts = {one.number: late_threads.closed(late, one) for one in waiting}
    return {number: verdict for number, verdict in verdicts.items() if verdict is not None}


def _may_close(job: Job) -> bool:
    """Whether a gate of its own may have closed since it was admitted."""
    return bool(job.locks or job.needs or job.pinned_head)


def _may_lapse(job: Job) -> bool:
    """Whether a gate before the one that keeps it waiting may have closed, or now says more.

    A file that goes away and a branch that moves do not tell.
    """
    waiting = job.status in states.WAITING and job.status is not states.QUEUED
    return waiting and bool(job.needs or job.pinned_head)


def _lapsed(job: Job, closed: Closed) -> Job:
    """A job that waits for something else than when its gates were checked."""
    return msgspec.structs.replace(
        job,
        status=closed.status if closed.status in states.ACTIVE else job.status,
        wait_reason=closed.reason,
        waited_on=tuple(dict.fromkeys((*job.waited_on, closed.kind))),
    )


def _own_gates(scheduler: Scheduler, tx: Transaction, numbers: Sequence[int]) -> dict[int, Closed]:
    """A lock that is taken or a file that goes away closes the gate; the next claim records it."""
    if not numbers:
        return {}
    waiting = jobs.read(tx, numbers)
    facts = gather(scheduler, tx, waiting)
    return {
        record.number: closed
        for record in waiting
        if (closed := own_gates.first_closed(record, facts)) is not None
    }


def _lane(job: Job) -> Lane:
    return Lane(
        queue=job.queue,
        job_type=job.job_type,
        cost_units=job.cost_units,
        requires=job.requires,
        limits=job.limits,
    )


def _placed(job: Job, place: int | None) -> Job:
    return job if place is None else msgspec.structs.replace(job, queue_position=place)


def _judged(job: Job, place: int | None, closed: Closed | None, met: Iterable[str]) -> Job:
    """A claimed job keeps its status; a gate that would end the job does so when it is claimed."""
    ready = job.status is states.QUEUED and closed is not None and closed.status in states.ACTIVE
    kinds = (*job.waited_on, *met, *([closed.kind] if closed else []))
    return msgspec.structs.replace(
        job,
        queue_position=place,
        status=closed.status if closed and ready else job.status,
        wait_reason=closed.reason if closed else None,
        waited_on=tuple(dict.fromkeys(kinds)),
    )
