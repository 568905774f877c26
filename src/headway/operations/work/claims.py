"""The operation of workers that asks for jobs."""

from typing import NamedTuple

import msgspec

from headway.domain import errors
from headway.domain.jobs import Job
from headway.domain.leases import check_ttl
from headway.domain.manage.tokens import Principal, Role
from headway.domain.requests.job_requests import FLAGS, check_name, check_number, check_seconds
from headway.domain.workers import Abilities
from headway.operations import access
from headway.operations.bound import Answered, Call, serves
from headway.operations.work.leases import permitted, read_report
from headway.protocol import work as protocol
from headway.protocol.operation import Nothing
from headway.protocol.work_shapes import (
    MOST_PER_CLAIM,
    BriefClaimed,
    BriefClaimedJob,
    ClaimBody,
    Claimed,
    ClaimedJob,
    ItemAnswer,
)
from headway.protocol.work_values import Report, Started
from headway.scheduler.claim import claims, registration
from headway.scheduler.claim.dispatch import ClaimRequest
from headway.scheduler.manage import audit
from headway.scheduler.programs import reports as programs
from headway.scheduler.scheduler import Scheduler
from headway.storage import job_views
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import workers

MOST_WORDS = 1000
"""How many queues, job types and capabilities a worker may name."""


def read_claim(body: ClaimBody) -> ClaimRequest:
    """A claim's body as the dispatcher takes it."""
    check_name("worker_id", body.worker_id)
    check_ttl(body.ttl_s)
    check_seconds("wait_s", body.wait_s)
    if not 1 <= body.max_jobs <= MOST_PER_CLAIM:
        raise errors.InvalidRequest(
            "max_jobs", f"{body.max_jobs} is not between 1 and {MOST_PER_CLAIM}"
        )
    for field in ("slots", "pid", "max_cost_units"):
        check_number(field, getattr(body, field))
    if body.slots is not None and body.slots < 1:
        raise errors.InvalidRequest("slots", f"{body.slots} is less than 1")
    for field in ("host", "process_started"):
        check_name(field, getattr(body, field))
    for field in ("queues", "job_types", "capabilities", "constraints"):
        words = getattr(body, field) or ()
        if len(words) > MOST_WORDS:
            raise errors.InvalidRequest(field, f"{len(words)} words are more than {MOST_WORDS}")
        for word in words:
            check_name(field, word)
    flags = [FLAGS.get(flag, flag) for flag, given in body.constraints.items() if given]
    return ClaimRequest(
        worker_id=body.worker_id,
        abilities=Abilities(
            queues=body.queues,
            job_types=body.job_types,
            capabilities=(*body.capabilities, *flags),
            max_cost_units=body.max_cost_units,
        ),
        max_jobs=body.max_jobs,
        lease=body.lease,
        ttl_s=body.ttl_s,
    )


def register(
    scheduler: Scheduler,
    tx: Transaction,
    principal: Principal,
    body: ClaimBody,
    request: ClaimRequest,
) -> None:
    """A claim also registers its worker."""
    access.check_worker(tx, principal, body.worker_id)
    if not workers.is_known(tx, body.worker_id):
        if not principal.may(Role.ADMIN):
            registration.check_room(scheduler, tx, principal.token_id)
        audit.note(scheduler, tx, principal, "register_worker", f"worker {body.worker_id}")
    registration.see(
        scheduler,
        tx,
        worker_id=body.worker_id,
        host=body.host or "unknown",
        pid=body.pid or 0,
        process_started=body.process_started or "",
        built_in=False,
        abilities=request.abilities,
        slots=body.slots or body.max_jobs,
        token_id=principal.token_id,
    )


def read_reports(scheduler: Scheduler, body: ClaimBody) -> list[Report]:
    """The reports that go along with a claim."""
    return [read_report(scheduler, item.lease_id, item) for item in body.releases]


def claimed(
    tx: Transaction,
    body: ClaimBody,
    started: list[Started],
    ended: tuple[ItemAnswer, ...],
    *,
    drain: bool,
) -> Claimed | BriefClaimed:
    """Claimed jobs as they are shown; reading whole jobs can take longer than to do them."""
    if body.brief:
        return BriefClaimed(
            jobs=[BriefClaimedJob.of(one) for one in started], released=ended, drain=drain
        )
    views = {job.number: job for job in job_views.read(tx, [one.number for one in started])}
    return Claimed(
        jobs=[
            ClaimedJob(
                job=_with_params(views[one.number], one),
                lease=one.lease,
                run_id=one.lease.lease_id if one.lease else None,
                steps=one.steps,
            )
            for one in started
        ],
        released=ended,
        drain=drain,
    )


def _with_params(job: Job, one: Started) -> Job:
    """A job with the params with which it starts."""
    if not one.filled:
        return job
    return msgspec.structs.replace(job, params=msgspec.json.decode(one.params))


def drained(body: ClaimBody) -> Claimed | BriefClaimed:
    """What a worker gets that is to take no more jobs."""
    return BriefClaimed(jobs=[], drain=True) if body.brief else Claimed(jobs=[], drain=True)


def report(
    scheduler: Scheduler,
    tx: Transaction,
    principal: Principal,
    worker_id: str,
    reports: list[Report],
) -> tuple[ItemAnswer, ...]:
    """End the runs that are reported with a claim, before it is looked for jobs."""
    if not reports:
        return ()
    allowed = permitted(scheduler, tx, principal, reports)
    return tuple(map(ItemAnswer.of_report, programs.record(scheduler, tx, worker_id, allowed)))


class _Claim(NamedTuple):
    """A claim that was read, and the reports that go along with it."""

    request: ClaimRequest
    reports: list[Report]


def _read(call: Call[ClaimBody, Nothing]) -> _Claim:
    return _Claim(read_claim(call.body), read_reports(call.scheduler, call.body))


@serves(protocol.claim, _read)
def claim(
    call: Call[ClaimBody, Nothing], tx: Transaction, read: _Claim
) -> Answered[Claimed | BriefClaimed | None]:
    """Claim jobs to work on, 204 if there are none; over HTTP it waits up to `wait_s` for one."""
    register(call.scheduler, tx, call.principal, call.body, read.request)
    ended = report(call.scheduler, tx, call.principal, call.body.worker_id, read.reports)
    got = claims.claim(call.scheduler, tx, read.request, call.body.holds)
    drain = read.request.worker_id in workers.draining(tx)
    if not (got or ended or drain):
        return Answered(None, 204)
    return Answered(claimed(tx, call.body, got, ended, drain=drain), 200)
