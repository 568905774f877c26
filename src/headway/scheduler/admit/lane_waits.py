"""What closed a whole lane, kept for the jobs in it.

A full limit, a pause, a reservation or a missing worker closes a lane without a write to any job.
So a lane counts its changes. It keeps which gate was the first closed one from which count on, and
a job keeps the count at which it became ready: the gates that were closed since then are those it
waited on. Before such a gate changes, `kept` notes what is closed, and afterwards what has opened.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from headway.domain.gates import limits as limits_gate
from headway.scheduler.admit import claim_waits, lane_gates
from headway.scheduler.scheduler import Scheduler
from headway.storage import job_changes, lanes
from headway.storage.admit import lane_waits as stored
from headway.storage.engine.transaction import Transaction
from headway.storage.lanes import LaneRecord, ReadyLane
from headway.storage.manage import limits
from headway.storage.manage.limits import Usage
from headway.storage.records import Head

LIMITS = "limits"
MOST_WAITS = 64
"""So many waits of different kinds, one after the other, are kept for a lane."""


@contextmanager
def kept(
    scheduler: Scheduler, tx: Transaction, some: Sequence[ReadyLane] | None = None
) -> Iterator[None]:
    """Something is about to change the gates of lanes: of all of them, or of these."""
    note(scheduler, tx, some)
    yield
    note_openings(scheduler, tx)


def note(scheduler: Scheduler, tx: Transaction, some: Sequence[ReadyLane] | None = None) -> None:
    """Keep the first closed gate of claimed jobs, and of lanes that have jobs which are ready."""
    claim_waits.note(scheduler, tx)
    ready = tx.ask(lanes.READY)[0] if some is None else some
    if ready:
        _write(tx, ready, _kinds(scheduler, tx, ready))


def note_openings(scheduler: Scheduler, tx: Transaction) -> None:
    """Lanes that were closed may be open now, or closed by another gate."""
    (closed,) = tx.ask(lanes.CLOSED)
    if closed:
        (ready,) = tx.ask(lanes.READY)
        waiting = {one.lane_id for one in ready}
        kinds = _kinds(scheduler, tx, [one for one in closed if one.lane_id in waiting])
        _write(tx, closed, kinds)


def _kinds(scheduler: Scheduler, tx: Transaction, some: Sequence[LaneRecord]) -> dict[int, str]:
    if not some:
        return {}
    gates = lane_gates.LaneGates(scheduler, tx)
    closed = {one.lane_id: gates.first_closed(one.lane, lane_gates.NO_JOB) for one in some}
    return {lane_id: one.kind for lane_id, one in closed.items() if one is not None}


def _write(tx: Transaction, some: Sequence[LaneRecord], kinds: Mapping[int, str]) -> None:
    """Keep what these lanes are closed by, where it differs from what is known."""
    changed = [one.lane_id for one in some if one.closed != kinds.get(one.lane_id)]
    closing = {lane_id: kinds[lane_id] for lane_id in changed if lane_id in kinds}
    stored.close(tx, closing, MOST_WAITS)
    stored.open_again(tx, [lane_id for lane_id in changed if lane_id not in kinds])


def note_release(
    scheduler: Scheduler,
    tx: Transaction,
    ready: Sequence[ReadyLane],
    closed: Sequence[LaneRecord],
    usage: Usage,
) -> None:
    """Leases have ended: keep which limits were full before, and what has opened.

    The lanes and what was used of the limits are those of the moment before.
    """
    full = _full_lanes(scheduler, tx, ready, usage)
    closing = {one.lane_id: LIMITS for one in full if one.closed != LIMITS}
    stored.close(tx, closing, MOST_WAITS)
    if full or closed:
        note_openings(scheduler, tx)


def _full_lanes(
    scheduler: Scheduler, tx: Transaction, ready: Sequence[ReadyLane], usage: Usage
) -> list[ReadyLane]:
    """Ready jobs waited on the limits that have no room for one of their lanes."""
    if not ready:
        return []
    policy = scheduler.concurrency
    rooms = limits.rooms_of(tx, policy, usage)
    return [one for one in ready if limits_gate.check(policy.uses(one.lane), rooms)]


def since_ready(
    tx: Transaction, numbers: Sequence[int], ends: Mapping[int, int] | None = None
) -> dict[int, list[str]]:
    """What closed the lanes of jobs that are ready, since they are, as far as it was noted.

    `ends` are the moments at which gates of their own closed: what came later, they did not meet.
    """
    found: dict[int, list[str]] = {}
    for wait in stored.since_ready(tx, numbers):
        end = ends.get(wait.number) if ends else None
        if end is None or wait.since < end:
            found.setdefault(wait.number, []).append(wait.kind)
    return found


def met(
    tx: Transaction, ready: Sequence[Head], ends: Mapping[int, int] | None = None
) -> dict[int, tuple[str, ...]]:
    """What jobs that are ready have waited on, with what closed their lanes since they are."""
    found = since_ready(tx, [job.number for job in ready], ends)
    return {
        job.number: tuple(dict.fromkeys((*job.waited_on, *found.get(job.number, ()))))
        for job in ready
    }


def met_now(
    scheduler: Scheduler, tx: Transaction, ready: Sequence[Head]
) -> dict[int, tuple[str, ...]]:
    """What jobs that are ready have waited on, with what keeps them waiting at this moment."""
    if ready:
        note(scheduler, tx)
    return met(tx, ready)


def keep_met(tx: Transaction, ready: Sequence[Head]) -> None:
    """Jobs stop being ready: what closed their lanes becomes part of what they waited on."""
    known = {job.number: job.waited_on for job in ready}
    kinds = {number: some for number, some in met(tx, ready).items() if some != known[number]}
    job_changes.note_waited_on(tx, kinds)
