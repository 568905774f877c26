"""The dispatcher: which jobs start now, in exact order, for whoever asks.

Only jobs that may start are in the claim's index, by lane. A lane is closed as a whole by a full
limit, a pause or a worker that does not fit, so the cost follows the number of lanes, never the
number of jobs that wait.
"""

from headway.domain.gates import pause
from headway.domain.jobs import COMMAND, Lane
from headway.scheduler import dedup, limit_waits, settle, start
from headway.scheduler.picking import MOST_PER_CLAIM, ClaimRequest, Picker
from headway.scheduler.scheduler import Scheduler
from headway.storage import holds, limits, records, reservations, workers
from headway.storage.events import Chronicle
from headway.storage.transaction import Transaction

__all__ = ["MOST_PER_CLAIM", "ClaimRequest", "claim"]


def claim(scheduler: Scheduler, tx: Transaction, request: ClaimRequest) -> list[start.Started]:
    """Jobs for a worker, started or claimed, in one transaction."""
    lanes = _open_lanes(scheduler, tx, request)
    if not lanes:
        return []
    holds.limits(tx, {name for lane in lanes.values() for name in scheduler.concurrency.uses(lane)})
    picked = Picker(scheduler, tx, request, lanes).pick()
    if picked.skipped:
        tx.alone()
    chronicle = Chronicle(tx)
    if request.lease:
        started = start.start(scheduler, tx, chronicle, request, picked.chosen, picked.rates)
    else:
        started = start.claim(scheduler, tx, chronicle, request, picked.chosen)
    limit_waits.note(tx, [(one.job, one.since) for one in picked.limited], picked.marks)
    if picked.skipped:
        dedup.skip(scheduler, tx, chronicle, picked.skipped)
    freed = {lock.key for one in picked.chosen if one.job.gated for lock in one.job.terms.locks}
    if picked.refused or freed:
        settle.settle(scheduler, tx, chronicle, admit=picked.refused, freed=freed)
    chronicle.write()
    return started


def _open_lanes(scheduler: Scheduler, tx: Transaction, request: ClaimRequest) -> dict[int, Lane]:
    """Lanes with work that this worker takes and that are not paused."""
    for name in ("pauses", "ready_lanes", "draining_workers"):
        tx.expect(name)
    if reservations.waiting(tx) is not None or request.worker_id in workers.draining(tx):
        return {}
    pauses = limits.pauses(tx)
    return {
        row["lane_id"]: lane
        for row in tx.rows("ready_lanes")
        if request.abilities.refusal(lane := records.lane(row)) is None
        and (scheduler.rules.allow_commands or lane.job_type != COMMAND)
        and pause.check(lane, pauses, None) is None
    }
