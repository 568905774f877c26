"""Jobs as they are shown: what is stored, and what is true of them just now.

What is stored with a job says which of its own gates is closed. What closes a whole lane is looked
at here, by the gates' own functions, when somebody asks.
"""

from collections.abc import Sequence

import msgspec

from headway.domain import states
from headway.domain.gates import Closed, locks
from headway.domain.jobs import Job, Lane
from headway.scheduler.facts import gather
from headway.scheduler.lane_gates import LaneGates
from headway.scheduler.scheduler import Scheduler
from headway.storage import jobs, records
from headway.storage.transaction import Transaction

FURTHEST_PLACE = 10_000
"""Places behind this one are not counted."""


def view(scheduler: Scheduler, tx: Transaction, reference: str | int) -> Job:
    """One job as it is shown, by number or id."""
    return views(scheduler, tx, [jobs.find_number(tx, reference)])[0]


def views(scheduler: Scheduler, tx: Transaction, numbers: Sequence[int]) -> list[Job]:
    """Some jobs as they are shown, in the order asked for, with what is not stored."""
    found = jobs.views(tx, numbers)
    waiting = [job.number for job in found if job.status in states.WAITING]
    if not waiting:
        return found
    places = places_in_queue(tx, waiting)
    ready = [job for job in found if job.status is states.QUEUED and job.wait_reason is None]
    closed = _closed_now(scheduler, tx, ready)
    return [_complete(job, places.get(job.number), closed.get(job.number)) for job in found]


def places_in_queue(tx: Transaction, numbers: Sequence[int]) -> dict[int, int]:
    """The 1-based places of those of these jobs that are near enough to the front."""
    rows = tx.rows("places_in_queue", numbers=records.listed(numbers), bound=FURTHEST_PLACE)
    return {row["number"]: row["place"] for row in rows}


def _closed_now(scheduler: Scheduler, tx: Transaction, ready: Sequence[Job]) -> dict[int, Closed]:
    """For jobs that may be claimed: a lock taken since they were admitted, or their closed lane."""
    if not ready:
        return {}
    closed = _locked(scheduler, tx, [job.number for job in ready if job.locks])
    gates = LaneGates(scheduler, tx)
    for job in ready:
        if job.number not in closed and (found := gates.first_closed(_lane(job), job.number)):
            closed[job.number] = found
    return closed


def _locked(scheduler: Scheduler, tx: Transaction, numbers: Sequence[int]) -> dict[int, Closed]:
    """A lock that comes to be held closes the gate at once; the next claim writes it down."""
    waiting = jobs.read(tx, numbers)
    facts = gather(scheduler, tx, waiting)
    return {
        record.number: closed
        for record in waiting
        if (closed := locks.check(record.terms.locks, facts.holders(record), facts.ahead(record)))
    }


def _lane(job: Job) -> Lane:
    return Lane(
        queue=job.queue,
        job_type=job.job_type,
        cost_units=job.cost_units,
        requires=job.requires,
        limits=job.limits,
    )


def _complete(job: Job, place: int | None, closed: Closed | None) -> Job:
    if closed is None:
        return job if place is None else msgspec.structs.replace(job, queue_position=place)
    kinds = job.waited_on if closed.kind in job.waited_on else (*job.waited_on, closed.kind)
    return msgspec.structs.replace(
        job,
        queue_position=place,
        status=closed.status,
        wait_reason=closed.reason,
        waited_on=kinds,
    )
