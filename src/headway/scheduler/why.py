"""Why a job is not running: every gate in order, by the same functions that decide."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from headway.domain import moments, states
from headway.domain.answers import GateRow, GateState, Why
from headway.domain.gates import (
    Blocker,
    Closed,
    Gate,
    after,
    approval,
    artifacts,
    locks,
    pinned_head,
    time,
)
from headway.domain.jobs import Job
from headway.scheduler import circles
from headway.scheduler.facts import Facts, gather
from headway.scheduler.lane_gates import LaneGates
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.views import views
from headway.storage import jobs
from headway.storage.records import JobRecord
from headway.storage.transaction import Transaction

MOST_AHEAD = 10_000
MOST_EXPLAINED = 50
"""For how many blocking jobs their own reason is looked up."""

Verdicts = Mapping[Gate, Closed]


def why(scheduler: Scheduler, tx: Transaction, reference: str | int) -> Why:
    """Every gate of a job, with everything that keeps it closed."""
    record = jobs.read_one(tx, reference)
    closed = _closed(scheduler, tx, record)
    return Why(
        job_id=record.job_id,
        number=record.number,
        status=_status(record, closed),
        startable=record.status in states.ACTIVE and not _never(closed.values()),
        gates=_rows(scheduler, tx, record, closed),
        ahead=_ahead(tx, record) if record.status in states.WAITING else 0,
    )


def _closed(scheduler: Scheduler, tx: Transaction, record: JobRecord) -> Verdicts:
    if record.status in states.TERMINAL:
        return _what_ended_it(scheduler, tx, record)
    if record.status is states.RUNNING:
        return {}
    facts = gather(scheduler, tx, [record])
    lane = jobs.lanes(tx, [record.lane_id])[record.lane_id]
    gates = LaneGates(scheduler, tx, with_users=True)
    found = _own_gates(record, facts)
    found.update(gates.closed(lane, record.number, claimed=record.status in states.CLAIMS))
    if record.status is states.WAITING_ON_DEPS and (circle := circles.find(scheduler, tx, record)):
        found = _with_circle(found, circle)
    return found


def _own_gates(record: JobRecord, facts: Facts) -> dict[Gate, Closed]:
    """Those of the job's own gates that are closed, in order."""
    terms = record.terms
    verdicts = {
        Gate.TIME: time.check(moments.maybe_from_millis(record.scheduled_for), facts.now),
        Gate.AFTER: after.check(facts.predecessors(record)),
        Gate.ARTIFACTS: _artifacts(record, facts),
        Gate.PINNED_HEAD: pinned_head.check(
            terms.pinned_head, facts.head(record), facts.head_matches(record)
        ),
        Gate.APPROVAL: approval.check(record.approval),
        Gate.LOCKS: locks.check(terms.locks, facts.holders(record), facts.ahead(record)),
    }
    return {gate: closed for gate, closed in verdicts.items() if closed is not None}


def _artifacts(record: JobRecord, facts: Facts) -> Closed | None:
    """The first missing artifact decides, and all of them are named."""
    wait = record.terms.missing_producer == "wait"
    missing = [
        closed
        for need in facts.needs(record)
        if (closed := artifacts.check([need], wait_for_producer=wait))
    ]
    if not missing:
        return None
    blockers = dict.fromkeys(one for closed in missing for one in closed.blockers)
    return msgspec.structs.replace(missing[0], blockers=tuple(blockers), forever=_never(missing))


def _with_circle(found: dict[Gate, Closed], circle: Blocker) -> dict[Gate, Closed]:
    """Nothing opens the gate of a job that waits for itself in the end."""
    gate = Gate.AFTER if Gate.AFTER in found else Gate.ARTIFACTS
    if gate not in found:
        return found
    closed = found[gate]
    blockers = (circle, *closed.blockers)
    return {**found, gate: msgspec.structs.replace(closed, blockers=blockers, forever=True)}


def _what_ended_it(scheduler: Scheduler, tx: Transaction, record: JobRecord) -> Verdicts:
    """The gate at which a job ended that never started."""
    if record.wait_kind is None or record.wait_detail is None:
        return {}
    blockers: tuple[Blocker, ...] = ()
    if record.status is states.BLOCKED_BY_APPROVAL:
        gate = Gate.APPROVAL
    elif record.status is states.BLOCKED_BY_DEPENDENCY:
        gate, blockers = _what_blocked_it(gather(scheduler, tx, [record]), record)
    elif record.wait_kind == "group":
        gate = Gate.AFTER
    else:
        return {}
    closed = Closed(
        status=record.status, kind=record.wait_kind, detail=record.wait_detail, blockers=blockers
    )
    return {gate: closed}


def _what_blocked_it(facts: Facts, record: JobRecord) -> tuple[Gate, tuple[Blocker, ...]]:
    broken = after.check(facts.predecessors(record))
    if broken is not None and broken.forever:
        return Gate.AFTER, broken.blockers
    missing = _artifacts(record, facts)
    return Gate.ARTIFACTS, missing.blockers if missing else ()


def _never(closed: Iterable[Closed]) -> bool:
    return any(one.forever for one in closed)


def _status(record: JobRecord, closed: Verdicts) -> states.JobStatus:
    """A lock that was taken since the job was admitted shows at once."""
    taken = closed.get(Gate.LOCKS)
    ready = record.status is states.QUEUED and record.wait_kind is None
    return taken.status if taken and ready else record.status


def _rows(
    scheduler: Scheduler, tx: Transaction, record: JobRecord, closed: Verdicts
) -> tuple[GateRow, ...]:
    order = list(Gate)
    first = next((gate for gate in order if gate in closed), None)
    if first is None:
        reached = record.status in states.ACTIVE or record.started_at is not None
        state = GateState.OPEN if reached else GateState.NOT_REACHED
        return tuple(GateRow(gate=gate, state=state) for gate in order)
    verdict = closed[first]
    blockers = _with_their_reasons(scheduler, tx, verdict.blockers)
    place = order.index(first)
    return (
        *(GateRow(gate=gate, state=GateState.OPEN) for gate in order[:place]),
        GateRow(gate=first, state=GateState.CLOSED, detail=verdict.detail, blockers=blockers),
        *(GateRow(gate=gate, state=GateState.NOT_REACHED) for gate in order[place + 1 :]),
    )


def _with_their_reasons(
    scheduler: Scheduler, tx: Transaction, blockers: Sequence[Blocker]
) -> tuple[Blocker, ...]:
    """Jobs that block are shown with where they stand and why they do not go on themselves."""
    ids = list(dict.fromkeys(one.id for one in blockers if one.kind == "job"))[:MOST_EXPLAINED]
    if not ids:
        return tuple(blockers)
    numbers = jobs.find_numbers(tx, ids)
    found = {record.number: record for record in jobs.read(tx, list(numbers.values()))}
    ends = jobs.chain_ends(tx, {record.chain for record in found.values()})
    last = {job_id: ends[found[number].chain].number for job_id, number in numbers.items()}
    standing = {one.number: one for one in views(scheduler, tx, sorted(set(last.values())))}
    return tuple(
        _explained(one, standing[last[one.id]]) if one.id in last else one for one in blockers
    )


def _explained(one: Blocker, job: Job) -> Blocker:
    """Holders and users say what they have; others say what they wait for themselves."""
    own = job.wait_reason.detail if job.wait_reason else None
    return msgspec.structs.replace(
        one,
        status=job.status,
        detail=own if one.status is not None else one.detail,
        since=one.since or (job.started_at if job.status is states.RUNNING else None),
    )


def _ahead(tx: Transaction, record: JobRecord) -> int:
    """How many jobs that may start stand before this one, counted up to a bound."""
    count = 0
    for row in tx.rows("ready_lanes"):
        count += tx.value(
            "ready_before",
            lane_id=row["lane_id"],
            priority=record.priority,
            position=record.position,
            number=record.number,
            bound=MOST_AHEAD - count,
        )
        if count >= MOST_AHEAD:
            break
    return count
