"""The dispatcher: which jobs start now, in exact order, for the worker that asks.

Only jobs that may start are in the claim's index, by lane. A lane is closed as a whole by a full
limit, a pause or a worker that does not fit, so the cost follows the number of lanes, never the
number of jobs that wait.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext

from headway.domain.gates import pause
from headway.domain.gates.pause import Pause
from headway.domain.jobs import COMMAND
from headway.protocol.work_values import Started
from headway.scheduler import alone
from headway.scheduler.admit import lane_waits, limit_waits, lock_waits
from headway.scheduler.claim import duplicates, start
from headway.scheduler.claim.pick import Candidate, ClaimRequest, Picker
from headway.scheduler.finish import consequences, finish
from headway.scheduler.scheduler import Scheduler
from headway.storage import holds, lanes
from headway.storage.engine.transaction import Transaction
from headway.storage.lanes import ReadyLane
from headway.storage.manage import limits, reservations, workers

__all__ = ["ClaimRequest", "claim"]


def claim(scheduler: Scheduler, tx: Transaction, request: ClaimRequest) -> list[Started]:
    """Jobs for a worker, started or claimed, in one transaction."""
    reserved, draining, found, pauses = tx.ask(
        reservations.waiting_at(tx.now_ms), workers.DRAINING, lanes.READY, limits.PAUSES
    )
    if reserved is not None:
        lane_waits.note(scheduler, tx)
        return []
    if request.worker_id in draining:
        return []
    ready = {one.lane_id: one for one in found}
    open_lanes = _open_lanes(scheduler, request, found, pauses)
    if not open_lanes:
        return []
    uses = scheduler.concurrency.uses
    holds.limits(tx, (name for one in open_lanes.values() for name in uses(one.lane)))
    picker = Picker(scheduler, tx, request, open_lanes)
    picked = picker.pick()
    alone.to_skip(tx, picked.skipped)
    full = {one.lane_id for one in found if picker.is_full_for(one)}
    news = [one for one in found if (one.lane_id in full) != (one.closed == lane_waits.LIMITS)]
    # What is known stays true in a claim that takes no job. Other lanes keep their gates.
    crowded = bool(news) or bool(full and picked.chosen)
    takers = [one.job for one in picked.chosen if one.job.gated] if request.lease else []
    behind = lock_waits.behind(scheduler, tx, takers)
    unfilled: Mapping[str, str] = {}
    with lane_waits.kept(scheduler, tx, news) if crowded else nullcontext():
        _keep_waits(tx, ready, picked.chosen, crowded=crowded)
        if request.lease:
            started, unfilled = start.start(scheduler, tx, request, picked.chosen, picked.rates)
        else:
            started = start.claim(scheduler, tx, request, picked.chosen)
    limit_waits.note(tx, [(one.job, one.mark) for one in picked.limited], picked.marks)
    if picked.skipped:
        duplicates.skip(scheduler, tx, picked.skipped)
    freed = {lock.key for one in picked.chosen if one.job.gated for lock in one.job.terms.locks}
    if picked.refused or freed:
        consequences.admit_or_end(scheduler, tx, [*picked.refused, *behind], freed=freed)
    finish.refuse(scheduler, tx, unfilled)
    return started


def _keep_waits(
    tx: Transaction, ready: Mapping[int, ReadyLane], chosen: Sequence[Candidate], *, crowded: bool
) -> None:
    """What closed the lanes of these jobs stays known of them; most lanes were never closed."""
    waited = [
        one.job
        for one in chosen
        if crowded or (lane := ready[one.job.lane_id]).closed or lane.mark != one.job.lane_mark
    ]
    lane_waits.keep_met(tx, waited)


def _open_lanes(
    scheduler: Scheduler,
    request: ClaimRequest,
    ready: Sequence[ReadyLane],
    pauses: Sequence[Pause],
) -> dict[int, ReadyLane]:
    """Lanes with work that this worker takes and that are not paused."""
    takes = request.abilities.takes
    return {
        one.lane_id: one
        for one in ready
        if takes(one.lane)
        and (scheduler.rules.allow_commands or one.lane.job_type != COMMAND)
        and pause.check(one.lane, pauses, None) is None
    }
