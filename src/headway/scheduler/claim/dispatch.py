"""The dispatcher: which jobs start now, in exact order, for the worker that asks.

Only jobs that may start are in the claim's index, by lane. A lane is closed as a whole by a full
limit, a pause or a worker that does not fit, so the cost follows the number of lanes, never the
number of jobs that wait.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext

from headway.domain.gates import pause
from headway.domain.jobs import COMMAND, Lane
from headway.protocol.work_shapes import Started
from headway.scheduler.admit import lane_waits, limit_waits
from headway.scheduler.claim import duplicates, start
from headway.scheduler.claim.pick import Candidate, ClaimRequest, Picker
from headway.scheduler.finish import consequences
from headway.scheduler.scheduler import Scheduler
from headway.storage import holds, records
from headway.storage.engine.transaction import Row, Transaction
from headway.storage.manage import limits, reservations, workers

__all__ = ["ClaimRequest", "claim"]


def claim(scheduler: Scheduler, tx: Transaction, request: ClaimRequest) -> list[Started]:
    """Jobs for a worker, started or claimed, in one transaction."""
    for name in ("pauses", "ready_lanes", "draining_workers"):
        tx.expect(name)
    if reservations.waiting(tx) is not None:
        lane_waits.note(scheduler, tx)
        return []
    if request.worker_id in workers.draining(tx):
        return []
    ready = {row["lane_id"]: row for row in tx.rows("ready_lanes")}
    lanes = _open_lanes(scheduler, tx, request, ready.values())
    if not lanes:
        return []
    if tx.beside:
        uses = map(scheduler.concurrency.uses, lanes.values())
        holds.limits(tx, {name for some in uses for name in some})
    heads = {lane_id: records.order(ready[lane_id]) for lane_id in lanes}
    picker = Picker(scheduler, tx, request, lanes, heads)
    picked = picker.pick()
    if picked.skipped:
        tx.alone()
    crowded = _is_crowded(picker, ready, lanes, takes_jobs=bool(picked.chosen))
    with lane_waits.kept(scheduler, tx) if crowded else nullcontext():
        _keep_waits(tx, ready, picked.chosen, crowded=crowded)
        if request.lease:
            started = start.start(scheduler, tx, request, picked.chosen, picked.rates)
        else:
            started = start.claim(scheduler, tx, request, picked.chosen)
    limit_waits.note(tx, [(one.job, one.mark) for one in picked.limited], picked.marks)
    if picked.skipped:
        duplicates.skip(scheduler, tx, picked.skipped)
    freed = {lock.key for one in picked.chosen if one.job.gated for lock in one.job.terms.locks}
    if picked.refused or freed:
        consequences.admit_or_end(scheduler, tx, picked.refused, freed=freed)
    return started


def _is_crowded(
    picker: Picker, ready: Mapping[int, Row], lanes: Mapping[int, Lane], *, takes_jobs: bool
) -> bool:
    """Whether a limit is full for a lane, or was: only that changes what its jobs wait on.

    A claim that takes no job changes nothing: then what is known need only be true.
    """
    for lane_id, row in ready.items():
        is_full = picker.is_full_for(lane_id, lanes.get(lane_id) or records.lane(row))
        was_full = row["closed"] == lane_waits.LIMITS
        if is_full != was_full or (takes_jobs and is_full):
            return True
    return False


def _keep_waits(
    tx: Transaction, ready: Mapping[int, Row], chosen: Sequence[Candidate], *, crowded: bool
) -> None:
    """What closed the lanes of these jobs stays known of them; most lanes were never closed."""
    waited = [
        one.job
        for one in chosen
        if crowded
        or (lane := ready[one.job.lane_id])["closed"]
        or lane["mark"] != one.job.lane_mark
    ]
    lane_waits.keep_met(tx, waited)


def _open_lanes(
    scheduler: Scheduler, tx: Transaction, request: ClaimRequest, ready: Iterable[Row]
) -> dict[int, Lane]:
    """Lanes with work that this worker takes and that are not paused."""
    pauses = limits.pauses(tx)
    return {
        row["lane_id"]: lane
        for row in ready
        if request.abilities.refusal(lane := records.lane(row)) is None
        and (scheduler.rules.allow_commands or lane.job_type != COMMAND)
        and pause.check(lane, pauses, None) is None
    }
