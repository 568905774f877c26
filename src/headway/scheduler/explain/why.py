"""Why a job is not running: every gate in order, by the same functions that decide."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from headway.domain import states
from headway.domain.answers import GateRow, GateState, Why
from headway.domain.gates import GATES, Blocker, Closed, Gate, after, artifacts, locks
from headway.domain.gates.locks import Holder
from headway.domain.jobs import Job
from headway.domain.values import moments
from headway.scheduler.admit import late_threads, lock_queues, own_gates
from headway.scheduler.admit.gate_facts import Facts, gather
from headway.scheduler.admit.lane_gates import LaneGates
from headway.scheduler.explain import ancestors, deadlocks
from headway.scheduler.explain.views import FURTHEST_PLACE, places_in_queue, views
from headway.scheduler.scheduler import Scheduler
from headway.storage import chains, jobs, lanes
from headway.storage.admit import postponed
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord

MOST_EXPLAINED = 50
"""For how many blocking jobs their own reason is looked up."""

FARTHEST = 1000
"""The most steps from blocker to blocker, to the first cause."""

WAIT_FOR_JOBS = (Gate.AFTER, Gate.ARTIFACTS)
BEFORE_ARTIFACTS = (Gate.TIME, Gate.AFTER)

ENDED_BEFORE = "the job ended before it came to this gate"

Verdicts = Mapping[Gate, Closed]


def why(scheduler: Scheduler, tx: Transaction, reference: str | int) -> Why:
    """Every gate of a job, with everything that keeps it closed."""
    record = jobs.read_one(tx, reference)
    closed = _closed(scheduler, tx, record)
    return Why(
        job_id=record.job_id,
        number=record.number,
        name=record.terms.name,
        status=_status(tx, record, closed),
        startable=record.status in states.ACTIVE and not _never(closed.values()),
        gates=_with_ancestors(tx, record, _rows(scheduler, tx, record, closed)),
        ahead=_ahead(tx, record) if record.status in states.WAITING else 0,
        start_by=moments.maybe_from_millis(record.expires_at)
        if record.status in states.ACTIVE
        else None,
    )


def _closed(scheduler: Scheduler, tx: Transaction, record: JobRecord) -> Verdicts:
    if record.status in states.TERMINAL:
        return _what_ended_it(record)
    if record.status is states.RUNNING:
        return {}
    facts = gather(scheduler, tx, [record], whole_lines=True)
    lane = lanes.read(tx, [record.lane_id])[record.lane_id]
    gates = LaneGates(scheduler, tx, with_users=True)
    found = _not_decided_yet(_own_gates(record, facts))
    if record.status is states.WAITING_ON_LOCKS:
        found.setdefault(Gate.LOCKS, _in_line(tx, record))
    found.update(gates.closed(lane, record.number, claimed=record.status in states.CLAIMS))
    if late := late_threads.closed(late_threads.late_chains(scheduler, tx), record):
        found[Gate.WORKER] = _with_others(late, found.get(Gate.WORKER))
    if cycle := deadlocks.find(scheduler, tx, record):
        found = _with_cycle(found, cycle)
    return found


def _with_others(late: Closed, other: Closed | None) -> Closed:
    """A job that waits for a thread may lack a worker or a slot besides."""
    if other is None:
        return late
    blockers = (*late.blockers, *other.blockers)
    return msgspec.structs.replace(late, blockers=blockers, forever=other.forever)


def _own_gates(record: JobRecord, facts: Facts) -> dict[Gate, Closed]:
    """Those of the job's own gates that are closed, in order, with all that keeps them closed."""
    return own_gates.all_closed(record, facts, {Gate.AFTER: _after, Gate.ARTIFACTS: _artifacts})


def _not_decided_yet(found: dict[Gate, Closed]) -> dict[Gate, Closed]:
    """An artifact that is missing blocks the job only once its time and its predecessors allow."""
    missing = found.get(Gate.ARTIFACTS)
    if missing is None or not missing.forever or found.keys().isdisjoint(BEFORE_ARTIFACTS):
        return found
    return {**found, Gate.ARTIFACTS: msgspec.structs.replace(missing, forever=False)}


def _in_line(tx: Transaction, record: JobRecord) -> Closed:
    """Its locks are free, but it is not its turn yet."""
    ahead = lock_queues.ready_ahead(tx, record)
    ids = {one.number: one.job_id for one in jobs.read(tx, [number for *_, number in ahead])}
    return locks.behind(
        [Holder(key=key, mode=mode, job=ids[number]) for key, mode, number in ahead]
    )


def _after(record: JobRecord, facts: Facts) -> Closed | None:
    """One that can no longer be met decides, and those that are still open are named too."""
    predecessors = facts.predecessors(record)
    closed = after.check(predecessors)
    if closed is None:
        return None
    waiting = after.blockers([one for one in predecessors if after.goes_on(one)])
    blockers = dict.fromkeys((*closed.blockers, *waiting))
    return msgspec.structs.replace(closed, blockers=tuple(blockers))


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


def _with_cycle(found: dict[Gate, Closed], cycle: Blocker) -> dict[Gate, Closed]:
    """Nothing opens the gate of a job that waits for itself in the end."""
    gate = Gate.AFTER if Gate.AFTER in found else Gate.ARTIFACTS
    if gate not in found:
        return found
    closed = found[gate]
    blockers = (cycle, *closed.blockers)
    return {**found, gate: msgspec.structs.replace(closed, blockers=blockers, forever=True)}


def _what_ended_it(record: JobRecord) -> Verdicts:
    """The gate at which a job ended that never started, by what was kept of it then."""
    if record.wait_kind is None or record.wait_detail is None:
        return {}
    if record.status is states.BLOCKED_BY_APPROVAL:
        gate = Gate.APPROVAL
    elif record.status is states.BLOCKED_BY_DEPENDENCY:
        missing = any(one.kind == "artifact" for one in record.blocked_by)
        gate = Gate.ARTIFACTS if missing else Gate.AFTER
    elif record.wait_kind == "group":
        gate = Gate.AFTER
    else:
        return {}
    closed = Closed(
        status=record.status,
        kind=record.wait_kind,
        detail=record.wait_detail,
        blockers=record.blocked_by,
    )
    return {gate: closed}


def _never(closed: Iterable[Closed]) -> bool:
    return any(one.forever for one in closed)


def _status(tx: Transaction, record: JobRecord, closed: Verdicts) -> states.JobStatus:
    """What has closed since the job was admitted shows at once, unless it ends the job."""
    shut = (closed[gate] for gate in GATES if gate in closed)
    first = next((one for one in shut if not one.is_busy), None)
    behind = record.status is states.WAITING_ON_DEPS
    if behind and postponed.among(tx, [record.number]):
        status = first.status if first else states.QUEUED
        return status if status in states.ACTIVE else record.status
    if first is None or first.status not in states.ACTIVE or record.status not in states.WAITING:
        return record.status
    ready = record.status is states.QUEUED and record.wait_kind is None
    return first.status if ready or first.status is not states.QUEUED else record.status


def _rows(
    scheduler: Scheduler, tx: Transaction, record: JobRecord, closed: Verdicts
) -> tuple[GateRow, ...]:
    """Every gate judged by itself; those that a job never came to before it ended are not."""
    if record.status in states.TERMINAL and (closed or record.started_at is None):
        return _rows_of_unstarted(tx, record, closed)
    return tuple(
        _closed_row(scheduler, tx, gate, closed[gate])
        if gate in closed
        else GateRow(gate=gate, state=GateState.OPEN)
        for gate in GATES
    )


def _with_ancestors(
    tx: Transaction, record: JobRecord, rows: tuple[GateRow, ...]
) -> tuple[GateRow, ...]:
    """A parent may wait for this job while it holds what this job needs: it is named as such."""
    if record.terms.parent_id is None or record.status in states.TERMINAL:
        return rows
    found = ancestors.of(tx, record)
    return tuple(
        msgspec.structs.replace(row, blockers=ancestors.marked(row.blockers, found)) for row in rows
    )


def _rows_of_unstarted(tx: Transaction, record: JobRecord, closed: Verdicts) -> tuple[GateRow, ...]:
    """The gate that ended a job was the last it came to; without one, none is known."""
    order = list(GATES)
    last = next((order.index(gate) for gate in order if gate in closed), -1)
    return (
        *(GateRow(gate=gate, state=GateState.OPEN) for gate in order[: max(last, 0)]),
        *(_row_of_end(tx, record, gate, verdict) for gate, verdict in closed.items()),
        *(
            GateRow(gate=gate, state=GateState.NOT_REACHED, detail=ENDED_BEFORE)
            for gate in order[last + 1 :]
        ),
    )


def _row_of_end(tx: Transaction, record: JobRecord, gate: Gate, verdict: Closed) -> GateRow:
    """What ended the job stays as it was then, and so does what began it."""
    blockers = (*verdict.blockers, *_cause_of_end(tx, record))
    return GateRow(gate=gate, state=GateState.CLOSED, detail=verdict.detail, blockers=blockers)


def _closed_row(scheduler: Scheduler, tx: Transaction, gate: Gate, verdict: Closed) -> GateRow:
    blockers = _with_their_reasons(scheduler, tx, verdict.blockers)
    if gate in WAIT_FOR_JOBS:
        blockers += _first_cause(scheduler, tx, verdict.blockers)
    return GateRow(
        gate=gate,
        state=GateState.CLOSED,
        detail=verdict.detail,
        blockers=blockers,
        full_limits=verdict.full_limits or msgspec.UNSET,
    )


def _with_their_reasons(
    scheduler: Scheduler, tx: Transaction, blockers: Sequence[Blocker]
) -> tuple[Blocker, ...]:
    """Blocking jobs, shown with their status and their own wait reason."""
    ids = list(dict.fromkeys(one.id for one in blockers if one.kind == "job"))[:MOST_EXPLAINED]
    if not ids:
        return tuple(blockers)
    numbers = jobs.find_numbers(tx, ids)
    found = {record.number: record for record in jobs.read(tx, list(numbers.values()))}
    named = {job_id: found[number].chain for job_id, number in numbers.items()}
    ends = chains.ends(tx, named.values())
    last = {job_id: ends[chain].number for job_id, chain in named.items()}
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


def _first_cause(
    scheduler: Scheduler, tx: Transaction, blockers: Sequence[Blocker]
) -> tuple[Blocker, ...]:
    """The last job of the path from blocker to blocker, if it is none of these itself."""
    here = None if any(one.kind == "circle" for one in blockers) else _first_job(tx, blockers)
    seen: set[int] = set()
    while here is not None and here.number not in seen and len(seen) < FARTHEST:
        seen.add(here.number)
        following = _first_job(tx, _jobs_it_waits_for(scheduler, tx, here))
        if following is None and len(seen) > 1:
            cause = Blocker(kind="cause", id=here.job_id, status=here.status)
            return (_explained(cause, views(scheduler, tx, [here.number])[0]),)
        here = following
    return ()


def _cause_of_end(tx: Transaction, record: JobRecord) -> tuple[Blocker, ...]:
    """The job at which it began that this one could never start, if it is not named already."""
    here, steps = record, 0
    while steps < FARTHEST and (following := _what_ended(tx, here)) is not None:
        here, steps = following, steps + 1
    if steps < 2 or steps == FARTHEST:  # it may have begun further away
        return ()
    return (Blocker(kind="cause", id=here.job_id, status=here.status, detail=here.wait_detail),)


def _what_ended(tx: Transaction, record: JobRecord) -> JobRecord | None:
    """The link that ended this job: the last of the first chain that is named, as of then."""
    named = [
        one.id
        for one in record.blocked_by
        if one.kind == "job" and one.status not in states.SUCCESS
    ]
    for number in jobs.find_numbers(tx, named[:1]).values():
        chain = jobs.read(tx, [number])[0].chain
        links = chains.links_with_history(tx, [chain])
        ended = [one for one in links if (one.finished_at or 0) <= (record.finished_at or 0)]
        failed = [one for one in ended if one.status in states.FAILURE]
        return failed[-1] if failed else None
    return None


def _first_job(tx: Transaction, blockers: Sequence[Blocker]) -> JobRecord | None:
    """The last link of the first job that blocks, is there and did not succeed."""
    named = [one.id for one in blockers if one.kind == "job" and one.status not in states.SUCCESS]
    numbers = jobs.find_numbers(tx, named[:1])
    for record in jobs.read(tx, list(numbers.values())):
        chain = record.chain
        return jobs.read(tx, [chains.ends(tx, [chain])[chain].number])[0]
    return None


def _jobs_it_waits_for(
    scheduler: Scheduler, tx: Transaction, record: JobRecord
) -> tuple[Blocker, ...]:
    if record.status is states.BLOCKED_BY_DEPENDENCY:
        return record.blocked_by
    if record.status is not states.WAITING_ON_DEPS:
        return ()
    found = _own_gates(record, gather(scheduler, tx, [record]))
    return next((found[gate].blockers for gate in WAIT_FOR_JOBS if gate in found), ())


def _ahead(tx: Transaction, record: JobRecord) -> int:
    """How many waiting jobs are ahead of this one, counted up to a bound."""
    place = places_in_queue(tx, [record.number]).get(record.number)
    return FURTHEST_PLACE if place is None else place - 1
