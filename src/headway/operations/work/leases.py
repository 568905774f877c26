"""Operations of workers: prepare, lease, heartbeat, release."""

from collections.abc import Sequence
from typing import Any

import msgspec

from headway.domain import artifacts, errors
from headway.domain.jobs import Job
from headway.domain.leases import Lease, check_beat, check_ttl
from headway.domain.manage.tokens import Principal, Role
from headway.domain.requests.job_requests import check_number, check_seconds
from headway.domain.runs import Outcome, RunStatus
from headway.operations import access
from headway.operations.bound import Answered, Call, serves
from headway.protocol import work as protocol
from headway.protocol.operation import Nothing
from headway.protocol.work_shapes import (
    HeartbeatAnswer,
    HeartbeatBody,
    HeartbeatItem,
    Heartbeats,
    ItemAnswer,
    ItemAnswers,
    LeaseAnswer,
    LeaseBody,
    ReleaseAnswer,
    ReleaseBody,
    ReleaseItem,
    Releases,
    WorkerBody,
)
from headway.protocol.work_values import Denied, Report
from headway.scheduler.lease import leases
from headway.scheduler.programs import reports as programs
from headway.scheduler.scheduler import Scheduler
from headway.storage import job_views, jobs
from headway.storage.engine import codec
from headway.storage.engine.transaction import Transaction

MOST_ITEMS = 10_000


@serves(protocol.preparing)
def preparing(call: Call[WorkerBody, Nothing], tx: Transaction) -> Job:
    """Say that the worker is setting up its runtime for a claimed job."""
    _check(call, tx)
    number = leases.prepare(call.scheduler, tx, call.path["id"], call.body.worker_id)
    return job_views.read(tx, [number])[0]


@serves(protocol.request_lease)
def request_lease(call: Call[LeaseBody, Nothing], tx: Transaction) -> Answered[LeaseAnswer]:
    """Start a claimed job: 201 with a lease, or 200 with a time to ask again."""
    body = call.body
    check_ttl(body.ttl_s)
    _check(call, tx)
    answer = leases.request(call.scheduler, tx, body.job_id, body.worker_id, body.ttl_s)
    if isinstance(answer, Denied):
        denied = LeaseAnswer(
            approved=False, retry_after_ms=answer.retry_after_ms, reason=answer.reason
        )
        return Answered(denied, 200)
    granted = LeaseAnswer(approved=True, lease=answer.lease, run_id=answer.lease.lease_id)
    return Answered(granted, 201)


@serves(protocol.get_lease)
def get_lease(call: Call[Nothing, Nothing], tx: Transaction) -> Lease:
    """Get a lease, active or ended."""
    lease = leases.view(tx, call.path["id"])
    access.check_own_worker(tx, call.principal, lease.worker_id)
    return lease


def _beat_of(call: Call[HeartbeatBody, Nothing]) -> HeartbeatItem:
    body = call.body
    return _checked(
        HeartbeatItem(lease_id=call.path["id"], progress=body.progress, message=body.message)
    )


@serves(protocol.heartbeat, _beat_of)
def heartbeat(
    call: Call[HeartbeatBody, Nothing], tx: Transaction, beat: HeartbeatItem
) -> HeartbeatAnswer:
    """Keep a lease alive."""
    _check(call, tx)
    answer = leases.heartbeat(call.scheduler, tx, call.body.worker_id, [beat])[0]
    if answer.error is not None:
        raise answer.error
    assert answer.expires_at is not None
    return HeartbeatAnswer(
        expires_at=answer.expires_at,
        cancel_requested=answer.cancel is not None,
        force=answer.cancel == "forced",
    )


def _beats_of(call: Call[Heartbeats, Nothing]) -> list[HeartbeatItem | ItemAnswer]:
    check_count(len(call.body.items))
    return [_beat_or_refusal(item) for item in call.body.items]


@serves(protocol.heartbeats, _beats_of)
def heartbeats(
    call: Call[Heartbeats, Nothing], tx: Transaction, read: list[HeartbeatItem | ItemAnswer]
) -> ItemAnswers:
    """Keep several leases alive; each gets its own answer."""
    _check(call, tx)
    beats = [one for one in read if isinstance(one, HeartbeatItem)]
    renewed = iter(leases.heartbeat(call.scheduler, tx, call.body.worker_id, beats))
    return ItemAnswers(
        items=[
            ItemAnswer.of_beat(next(renewed)) if isinstance(one, HeartbeatItem) else one
            for one in read
        ]
    )


def _report_of(call: Call[ReleaseBody, Nothing]) -> Report:
    return read_report(call.scheduler, call.path["id"], call.body)


@serves(protocol.release, _report_of)
def release(call: Call[ReleaseBody, Nothing], tx: Transaction, report: Report) -> ReleaseAnswer:
    """Report how a run ended. Repeating the same report gets the same answer."""
    _check(call, tx)
    reports = permitted(call.scheduler, tx, call.principal, [report])
    answer = programs.record(call.scheduler, tx, call.body.worker_id, reports)[0]
    if answer.error is not None:
        raise answer.error
    assert answer.status is not None
    return ReleaseAnswer(job_status=answer.status)


def _reports_of(call: Call[Releases, Nothing]) -> list[Report | ItemAnswer]:
    check_count(len(call.body.items))
    return [_report_or_refusal(call.scheduler, item) for item in call.body.items]


@serves(protocol.releases, _reports_of)
def releases(
    call: Call[Releases, Nothing], tx: Transaction, read: list[Report | ItemAnswer]
) -> ItemAnswers:
    """Report how several runs ended; each gets its own answer."""
    _check(call, tx)
    reports = [one for one in read if isinstance(one, Report)]
    reports = permitted(call.scheduler, tx, call.principal, reports)
    answers = iter(programs.record(call.scheduler, tx, call.body.worker_id, reports))
    return ItemAnswers(
        items=[
            ItemAnswer.of_report(next(answers)) if isinstance(one, Report) else one for one in read
        ]
    )


def _check(call: Call[Any, Any], tx: Transaction) -> None:
    access.check_worker(tx, call.principal, call.body.worker_id)


def permitted(
    scheduler: Scheduler, tx: Transaction, principal: Principal, reports: Sequence[Report]
) -> list[Report]:
    """The reports; programs whose children their worker may not submit fail with the reason."""
    families = {
        one.lease_id: one.outcome.wait.children
        for one in reports
        if one.outcome.wait is not None and one.outcome.wait.children
    }
    if not families or principal.may(Role.ADMIN):
        return list(reports)
    refused: dict[str, Outcome] = {}
    for parent in tx.ask(jobs.of_runs(families))[0]:
        children = families[str(parent.run_id)]
        wanted = [msgspec.structs.replace(one, parent_id=parent.job_id) for one in children]
        try:
            access.check_submits(scheduler, tx, principal, wanted)
        except errors.Forbidden as error:
            failure = Outcome(status=RunStatus.FAILED, error=error.detail, retry=False)
            refused[str(parent.run_id)] = failure
    return [
        Report(lease_id=one.lease_id, outcome=refused.get(one.lease_id, one.outcome))
        for one in reports
    ]


def check_count(count: int) -> None:
    """How many items one call may have."""
    if not 1 <= count <= MOST_ITEMS:
        raise errors.InvalidRequest("items", f"a call has 1 to {MOST_ITEMS} items, not {count}")


def _checked(beat: HeartbeatItem) -> HeartbeatItem:
    check_beat(beat.progress, beat.message)
    return beat


def _beat_or_refusal(item: HeartbeatItem) -> HeartbeatItem | ItemAnswer:
    try:
        return _checked(item)
    except errors.Invalid as error:
        return ItemAnswer.refused(item.lease_id, error)


WORDS = {
    "COMPLETED": Outcome(status=RunStatus.COMPLETED),
    "SUCCEEDED": Outcome(status=RunStatus.COMPLETED),
    "FAILED": Outcome(status=RunStatus.FAILED),
    "SKIPPED": Outcome(status=RunStatus.SKIPPED),
    "CANCELLED": Outcome(status=RunStatus.FAILED, cancelled=True),
    "CANCELED": Outcome(status=RunStatus.FAILED, cancelled=True),
    "TIMEOUT": Outcome(status=RunStatus.FAILED, timed_out=True),
    "SUSPENDED": Outcome(status=RunStatus.SUSPENDED),
    "CRASHED": Outcome(status=RunStatus.FAILED, crashed=True),
}
"""What a worker may say about a run, and what it means for the run and its job."""


def read_report(scheduler: Scheduler, lease_id: str, body: ReleaseBody | ReleaseItem) -> Report:
    """How a run ended, as the scheduler takes it."""
    if body.status.upper() not in WORDS:
        raise errors.InvalidRequest("status", f"{body.status!r} is not one of {', '.join(WORDS)}")
    if (body.status.upper() == RunStatus.SUSPENDED) != (body.wait is not None):
        raise errors.InvalidRequest("wait", "SUSPENDED goes with what the job waits for")
    check_number("exit_code", body.exit_code)
    check_seconds("retry_after_s", body.retry_after_s)
    meant = WORDS[body.status.upper()]
    if body.result is not None:
        size = len(codec.dump(body.result))
        if size > scheduler.rules.largest_result:
            raise errors.TooLarge("result", size, scheduler.rules.largest_result)
    outcome = msgspec.structs.replace(
        meant,
        result=body.result,
        error=body.error,
        exit_code=body.exit_code,
        artifacts=_artifacts(scheduler, body.artifacts),
        retry=body.retry,
        wait=body.wait.wait() if body.wait is not None else None,
        retry_after_s=body.retry_after_s,
    )
    return programs.prepared(scheduler, [Report(lease_id=lease_id, outcome=outcome)])[0]


def _artifacts(scheduler: Scheduler, reported: tuple[str, ...]) -> tuple[str, ...]:
    """The artifacts that a run reports, each once and by its one name."""
    try:
        return tuple(
            dict.fromkeys(artifacts.parse(text, scheduler.kinds).name for text in reported)
        )
    except errors.InvalidArtifact as error:
        raise error.at("artifacts") from None


def _report_or_refusal(scheduler: Scheduler, item: ReleaseItem) -> Report | ItemAnswer:
    try:
        return read_report(scheduler, item.lease_id, item)
    except (errors.Invalid, errors.TooLarge) as error:
        return ItemAnswer.refused(item.lease_id, error)
