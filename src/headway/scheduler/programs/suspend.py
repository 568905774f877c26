"""Suspending: a run gives its slot back, and its job waits for a time, a signal or its children."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from headway.domain import errors, events, states
from headway.domain.gates import Closed, after, approval, time
from headway.domain.gates.after import Predecessor
from headway.domain.jobs import Policy
from headway.domain.leases import LeaseState
from headway.domain.requests.job_requests import check_moment, check_name, check_seconds
from headway.domain.runs import Outcome, RunStatus
from headway.domain.steps import MOST_CHILDREN, MOST_STEPS, StepKind, Wait
from headway.domain.values import moments
from headway.protocol.work_values import Report, ReportAnswer
from headway.scheduler import alone
from headway.scheduler.admit import lock_queues
from headway.scheduler.finish import consequences, finish
from headway.scheduler.finish.release import Released, release
from headway.scheduler.programs import families
from headway.scheduler.programs.steps import next_place
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import submit
from headway.storage import chains, dependencies, locks, runs, steps
from headway.storage.admit import lock_lines
from headway.storage.dependencies import Dependency
from headway.storage.engine import codec
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord
from headway.storage.runs import Closing
from headway.storage.steps import NewEntry, Suspended, WaitFacts, WaitKey


class Suspension(msgspec.Struct, frozen=True):
    """A job whose run suspends it, and where its wait stands in the journal."""

    record: JobRecord
    progress: str | None
    outcome: Outcome
    wait: Wait
    index: int
    place: int


class Came(NamedTuple):
    """What a wait begins with: what it waits for, or what has come already."""

    closed: Closed | None
    """The gate that it closes; nothing if the wait is over."""
    due_at: int | None = None
    result: str | None = None
    children: tuple[int, ...] = ()
    """The chains of children that go on."""


def check(wait: Wait) -> None:
    """Refuse what no program can wait for, before a transaction begins."""
    check_name("name", wait.name)
    check_moment("until", wait.until)
    check_seconds("delay_s" if wait.kind is StepKind.SLEEP else "timeout_s", wait.delay_s)
    if wait.index is not None and not 0 <= wait.index < MOST_STEPS:
        raise errors.InvalidRequest("index", f"{wait.index} is not between 0 and {MOST_STEPS}")
    if len(wait.children) > MOST_CHILDREN:
        raise errors.InvalidRequest(
            "children", f"{len(wait.children)} children are more than {MOST_CHILDREN}"
        )


def suspend(
    scheduler: Scheduler, tx: Transaction, worker_id: str, reports: Sequence[Report]
) -> list[ReportAnswer]:
    """Suspend the jobs of these runs. The lease is consumed first: without it nothing changes."""
    wanted = {report.lease_id: report for report in reports}
    alone.to_suspend(tx, [one.outcome.wait for one in reports if one.outcome.wait is not None])
    found = release(scheduler, tx, wanted, worker_id)
    finish.observe(scheduler, tx, [one.record for one in found])
    going_on = [one for one in found if one.record.cancel is None]
    suspensions, refused = _placed(tx, going_on, wanted)
    begun: list[tuple[Suspension, Came]] = []
    for one in suspensions:
        try:
            begun.append((one, _begin(scheduler, tx, one)))
        except (errors.Invalid, errors.Conflict) as error:
            refused.append((Released(one.record, one.progress), error))
    answers = _record(scheduler, tx, begun)
    cancelled = [(one, wanted[str(one.record.run_id)].outcome) for one in found]
    ends = [(one, outcome) for one, outcome in cancelled if one.record.cancel is not None]
    ends += [(one, _failure(error)) for one, error in refused]
    answers |= finish.end(scheduler, tx, ends)
    answers |= finish.late_answers(
        tx, worker_id, [one for lease_id, one in wanted.items() if lease_id not in answers]
    )
    return [answers[report.lease_id] for report in reports]


def _failure(error: errors.HeadwayError) -> Outcome:
    """A wait that is refused fails its run; to try again would come to the same."""
    return Outcome(status=RunStatus.FAILED, error=error.detail, retry=False)


def _placed(
    tx: Transaction, found: Sequence[Released], wanted: Mapping[str, Report]
) -> tuple[list[Suspension], list[tuple[Released, errors.HeadwayError]]]:
    """Where these waits go in the journals of their jobs, and those for which there is no room."""
    outcomes = [wanted[str(one.record.run_id)].outcome for one in found]
    waits = [(one, outcome.wait) for one, outcome in zip(found, outcomes, strict=True)]
    keys = [WaitKey(one.record.number, wait.kind, wait.name) for one, wait in waits if wait]
    facts = steps.facts_of_waits(tx, keys) if keys else []
    placed: list[Suspension] = []
    refused: list[tuple[Released, errors.HeadwayError]] = []
    for (one, wait), outcome, known in zip(waits, outcomes, facts, strict=True):
        assert wait is not None
        place, index = next_place(known.last), _index(wait, known)
        if place >= MOST_STEPS:
            refused.append((one, errors.JournalFull(one.record.number, MOST_STEPS)))
        elif known.last_index is not None and index <= known.last_index:
            refused.append((one, errors.StepDiffers(wait.name, index)))
        else:
            placed.append(Suspension(one.record, one.progress, outcome, wait, index, place))
    return placed, refused


def _index(wait: Wait, known: WaitFacts) -> int:
    return next_place(known.last_index) if wait.index is None else wait.index


def _begin(scheduler: Scheduler, tx: Transaction, one: Suspension) -> Came:
    """Begin a wait: make the children, or take a signal that has come."""
    wait = one.wait
    if wait.kind is StepKind.CHILDREN:
        return _make_children(scheduler, tx, one)
    until = tx.now_ms + int(wait.delay_s * 1000) if wait.delay_s is not None else None
    if wait.kind is StepKind.SIGNAL:
        if (signal := steps.take_signal(tx, one.record.chain, wait.name)) is not None:
            return Came(None, result=signal.payload)
        return Came(approval.check_signal(wait.name), due_at=until)
    until = moments.to_millis(wait.until) if wait.until is not None else until
    closed = time.check_sleep(moments.maybe_from_millis(until), tx.now)
    return Came(closed, due_at=until if closed else None)


def _make_children(scheduler: Scheduler, tx: Transaction, one: Suspension) -> Came:
    """The children of a wait; jobs that their keys find may have ended already."""
    parent = one.record.job_id
    wanted = [msgspec.structs.replace(child, parent_id=parent) for child in one.wait.children]
    families.refuse_cycle(tx, one.record, wanted)
    made = submit.submit_all(scheduler, tx, wanted)
    numbers = [child.chain or child.number for child in made]
    links = chains.deciding_links(tx, set(numbers))
    open_chains = [chain for chain, link in links.items() if link.status in states.ACTIVE]
    named = {child.chain or child.number: child.job_id for child in made}
    waiting = [
        Predecessor(job=named[chain], policy=Policy.FINISHED, status=links[chain].status)
        for chain in open_chains[:1]
    ]
    return Came(
        after.check_children(waiting), result=codec.dump(numbers), children=tuple(open_chains)
    )


def _record(
    scheduler: Scheduler, tx: Transaction, begun: Sequence[tuple[Suspension, Came]]
) -> dict[str, ReportAnswer]:
    """Close the runs, release the locks, and write down what the jobs wait for."""
    if not begun:
        return {}
    records = [one.record for one, _ in begun]
    states.check_all(((one.number, one.status) for one in records), states.SUSPENDED)
    outcomes = {str(one.record.run_id): one.outcome for one, _ in begun}
    told = finish.shown_errors(scheduler, tx, outcomes, records)
    closings = ((run_id, _closing(one, told.get(run_id))) for run_id, one in outcomes.items())
    runs.close(tx, closings)
    steps.insert(tx, (_entry(tx, one, came) for one, came in begun))
    dependencies.insert(tx, _dependencies(begun))
    steps.suspend(tx, (_standing(one, came) for one, came in begun))
    tx.note_all(events.SUSPENDED, {one.record.number: _facts(one, came) for one, came in begun})
    gated = [one.number for one in records if one.gated]
    locks.free(tx, gated)
    lock_lines.leave(tx, gated)
    for _, came in begun:
        if came.closed is not None and came.due_at is not None:
            tx.due_at(came.due_at)
    over = [one.record.number for one, came in begun if came.closed is None]
    freed = lock_queues.keys_of([one for one in records if one.gated])
    consequences.admit_or_end(scheduler, tx, over, freed=freed)
    return {
        str(one.run_id): ReportAnswer(lease_id=str(one.run_id), status=states.SUSPENDED)
        for one in records
    }


def _closing(outcome: Outcome, error: str | None) -> Closing:
    return Closing(
        RunStatus.SUSPENDED,
        None,
        error,
        None,
        None,
        LeaseState.RELEASED,
        finish.report_hash(outcome),
    )


def _entry(tx: Transaction, one: Suspension, came: Came) -> NewEntry:
    return NewEntry(
        chain=one.record.chain,
        generation=one.record.generation,
        kind=one.wait.kind,
        name=one.wait.name,
        step_index=one.index,
        place=one.place,
        attempt=one.record.attempt,
        run_id=one.record.run_id,
        started_at=tx.now_ms,
        finished_at=tx.now_ms if came.closed is None else None,
        result=came.result,
    )


def _dependencies(begun: Sequence[tuple[Suspension, Came]]) -> Iterator[Dependency]:
    for one, came in begun:
        for chain in came.children:
            yield Dependency(one.record.number, chain, Policy.FINISHED, met=False)


def _standing(one: Suspension, came: Came) -> Suspended:
    record, closed = one.record, came.closed
    kinds = record.waited_on
    if closed is not None and closed.kind not in kinds:
        kinds = (*kinds, closed.kind)
    return Suspended(
        number=record.number,
        due_at=came.due_at,
        delayed=one.wait.delay_s is not None,
        wait_kind=closed.kind if closed else None,
        wait_detail=closed.detail if closed else None,
        waited_on=kinds,
        open_deps=len(came.children),
        progress=one.progress,
    )


def _facts(one: Suspension, came: Came) -> dict[str, object]:
    facts: dict[str, object] = {
        "run_id": one.record.run_id,
        "kind": one.wait.kind,
        "name": one.wait.name,
    }
    if came.due_at is not None:
        facts["until"] = moments.from_millis(came.due_at)
    return facts
