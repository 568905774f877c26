"""What keeps claimed jobs waiting for their leases, kept with them before it is over."""

from collections.abc import Mapping, Sequence

from headway.domain.gates import limits as limits_gate
from headway.domain.manage.limits import Room
from headway.scheduler import alone
from headway.scheduler.admit.gate_facts import gather
from headway.scheduler.admit.lane_gates import LaneGates
from headway.scheduler.admit.own_gates import first_closed
from headway.scheduler.scheduler import Scheduler
from headway.storage import claims, job_changes, jobs, lanes
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord


def note(scheduler: Scheduler, tx: Transaction) -> None:
    """Something is about to open or close a gate of claimed jobs."""
    (claimed,) = tx.ask(claims.CLAIMED)
    if claimed:
        keep(scheduler, tx, claimed)


def keep(
    scheduler: Scheduler,
    tx: Transaction,
    numbers: Sequence[int],
    rooms: Mapping[str, Room] | None = None,
) -> None:
    """Write down which gate is closed to claimed jobs; `rooms` are limits as they were before."""
    claimed = jobs.read(tx, numbers)
    found = met(scheduler, tx, claimed, rooms)
    known = {one.number: one.waited_on for one in claimed}
    changed = {number: kinds for number, kinds in found.items() if kinds != known[number]}
    if changed:
        alone.to_change_claimed_jobs(tx)
        job_changes.note_waited_on(tx, changed)


def met(
    scheduler: Scheduler,
    tx: Transaction,
    claimed: Sequence[JobRecord],
    rooms: Mapping[str, Room] | None = None,
) -> dict[int, tuple[str, ...]]:
    """What claimed jobs have waited on, with the gate that is closed to them at this moment."""
    if not claimed:
        return {}
    facts = gather(scheduler, tx, claimed)
    gates = LaneGates(scheduler, tx)
    kinds = lanes.read(tx, {one.lane_id for one in claimed})
    found = {}
    for one in claimed:
        lane = kinds[one.lane_id]
        closed = first_closed(one, facts)
        if closed is None and rooms is not None:
            closed = limits_gate.check(scheduler.concurrency.uses(lane), rooms)
        closed = closed or gates.first_closed(lane, one.number, claimed=True)
        kind = (closed.kind,) if closed else ()
        found[one.number] = tuple(dict.fromkeys((*one.waited_on, *kind)))
    return found
