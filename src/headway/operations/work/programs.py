"""Operations of workers for programs: record steps, read the journal, suspend."""

from typing import NamedTuple

from headway.domain import errors, states
from headway.domain.runs import Outcome, RunStatus
from headway.domain.steps import Step, StepKind, Wait
from headway.operations import access
from headway.operations.bound import Answered, Call, serves
from headway.operations.work.leases import check_count, permitted
from headway.protocol import work as protocol
from headway.protocol.jobs import Steps
from headway.protocol.operation import Nothing
from headway.protocol.work_shapes import (
    ItemAnswer,
    ItemAnswers,
    StepBody,
    StepItems,
    SuspendAnswer,
    SuspendBody,
)
from headway.protocol.work_values import Report, StepReport
from headway.scheduler.explain import journals
from headway.scheduler.lease import leases
from headway.scheduler.programs import reports, signals, steps
from headway.storage import jobs
from headway.storage.engine.transaction import Transaction


def _step_of(call: Call[StepBody, Nothing]) -> StepReport:
    body = call.body
    step = StepReport(
        lease_id=call.path["id"],
        name=body.name,
        index=body.index,
        result=body.result,
        started_at=body.started_at,
    )
    steps.check(call.scheduler, step)
    return step


@serves(protocol.add_step, _step_of)
def add_step(call: Call[StepBody, Nothing], tx: Transaction, step: StepReport) -> Answered[Step]:
    """Record a step in the journal; 200 if it is there already with the same result."""
    access.check_worker(tx, call.principal, call.body.worker_id)
    answer = steps.record(tx, call.body.worker_id, [step])[0]
    if answer.error is not None:
        raise answer.error
    wanted = (StepKind.STEP, step.name, step.index)
    job = jobs.read_one(tx, leases.view(tx, step.lease_id).job_id)
    (recorded,) = (
        one for one in journals.of_job(tx, job) if (one.kind, one.name, one.index) == wanted
    )
    return Answered(recorded, 201 if answer.created else 200)


def _steps_of(call: Call[StepItems, Nothing]) -> list[StepReport | ItemAnswer]:
    check_count(len(call.body.items))
    return [_step_or_refusal(call, item) for item in call.body.items]


def _step_or_refusal(call: Call[StepItems, Nothing], item: StepReport) -> StepReport | ItemAnswer:
    try:
        steps.check(call.scheduler, item)
        return item
    except (errors.Invalid, errors.TooLarge) as error:
        return ItemAnswer.refused(item.lease_id, error)


@serves(protocol.add_steps, _steps_of)
def add_steps(
    call: Call[StepItems, Nothing], tx: Transaction, read: list[StepReport | ItemAnswer]
) -> ItemAnswers:
    """Record steps of several runs; each gets its own answer."""
    access.check_worker(tx, call.principal, call.body.worker_id)
    wanted = [one for one in read if isinstance(one, StepReport)]
    answers = iter(steps.record(tx, call.body.worker_id, wanted))
    return ItemAnswers(
        items=[
            ItemAnswer.of_step(next(answers)) if isinstance(one, StepReport) else one
            for one in read
        ]
    )


@serves(protocol.list_steps_of_lease)
def list_steps_of_lease(call: Call[Nothing, Nothing], tx: Transaction) -> Steps:
    """Get the journal for the run of a lease: what is in it is not done again."""
    lease = leases.view(tx, call.path["id"])
    access.check_own_worker(tx, call.principal, lease.worker_id)
    return Steps(items=list(steps.of_lease(tx, lease.worker_id, lease.lease_id)))


class _Wanted(NamedTuple):
    """A wait that was read, as the report that suspends the job."""

    wait: Wait
    report: Report


def _wait_of(call: Call[SuspendBody, Nothing]) -> _Wanted:
    wait = call.body.wait()
    if call.body.ask and wait.kind is not StepKind.SIGNAL:
        raise errors.InvalidRequest("ask", "only a signal can be asked for")
    outcome = Outcome(status=RunStatus.SUSPENDED, wait=wait)
    report = Report(lease_id=call.path["id"], outcome=outcome)
    return _Wanted(wait, reports.prepared(call.scheduler, [report])[0])


@serves(protocol.suspend, _wait_of)
def suspend(call: Call[SuspendBody, Nothing], tx: Transaction, wanted: _Wanted) -> SuspendAnswer:
    """Give the slot back and wait; a signal that has come already does not suspend the job."""
    access.check_worker(tx, call.principal, call.body.worker_id)
    wait, lease_id = wanted.wait, call.path["id"]
    if wait.kind is StepKind.SIGNAL:
        step = signals.take(tx, call.body.worker_id, lease_id, wait.name, wait.index)
        if step is not None or call.body.ask:
            return SuspendAnswer(status=states.RUNNING, step=step)
    allowed = permitted(call.scheduler, tx, call.principal, [wanted.report])
    answer = reports.record(call.scheduler, tx, call.body.worker_id, allowed)[0]
    if answer.error is not None:
        raise answer.error
    assert answer.status is not None
    return SuspendAnswer(status=answer.status)
