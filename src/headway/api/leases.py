"""Operations of workers: claim, prepare, lease, heartbeat, release."""

from datetime import datetime
from typing import Any

import msgspec

from headway.api.operation import Answered, Call, Nothing, operation
from headway.domain import errors
from headway.domain.jobs import Job
from headway.domain.leases import Lease
from headway.domain.requests import FLAGS, check_name, check_seconds
from headway.domain.runs import Outcome, RunStatus
from headway.domain.states import JobStatus
from headway.domain.tokens import Role
from headway.domain.workers import Abilities
from headway.scheduler import dispatch, finish, leases
from headway.scheduler.dispatch import ClaimRequest
from headway.scheduler.leases import Beat, Denied
from headway.scheduler.start import Started
from headway.storage import codec, jobs, workers
from headway.storage.transaction import Transaction

LONGEST_WAIT_S = 60.0
MOST_ITEMS = 10_000
LARGEST_NUMBER = 2**31 - 1


class ClaimBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who asks for jobs, of which kind, and how long to wait for some."""

    worker_id: str
    queues: tuple[str, ...] | None = None
    job_types: tuple[str, ...] | None = None
    capabilities: tuple[str, ...] = ()
    constraints: dict[str, bool] = msgspec.field(default_factory=dict)
    max_cost_units: int | None = None
    max_jobs: int = 1
    wait_s: float = 0.0
    lease: bool = False
    ttl_s: float | None = None
    slots: int | None = None
    host: str | None = None
    pid: int | None = None
    process_started: str | None = None


class ClaimedJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job for a worker; in the two-step form it has no lease yet."""

    job: Job
    lease: Lease | None
    run_id: str | None


class Claimed(msgspec.Struct, frozen=True, kw_only=True):
    """What a claim got, and how long it had waited before the leases were granted."""

    jobs: list[ClaimedJob]
    waited_ms: int = 0


class WorkerBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which worker speaks."""

    worker_id: str


class LeaseBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request to start a claimed job."""

    job_id: str
    worker_id: str
    ttl_s: float | None = None


class LeaseAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Granted with a lease, or denied with a time to come back."""

    approved: bool
    lease: Lease | None = None
    run_id: str | None = None
    retry_after_ms: int | None = None
    reason: str | None = None


class HeartbeatItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sign of life for one lease."""

    lease_id: str
    progress: float | None = None
    message: str | None = None


class HeartbeatBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sign of life."""

    worker_id: str
    progress: float | None = None
    message: str | None = None


class Heartbeats(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Signs of life for many leases."""

    worker_id: str
    items: list[HeartbeatItem]


class HeartbeatAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """How long the lease lasts now, and whether the run should end."""

    expires_at: datetime
    cancel_requested: bool
    force: bool = False


class ReleaseBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a run ended. `status` takes the words of runs, and SUCCEEDED for COMPLETED."""

    worker_id: str
    status: str
    result: Any = None
    error: str | None = None
    exit_code: int | None = None
    artifacts: tuple[str, ...] = ()
    retry: bool = True


class ReleaseItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one of many runs ended."""

    lease_id: str
    status: str
    result: Any = None
    error: str | None = None
    exit_code: int | None = None
    artifacts: tuple[str, ...] = ()
    retry: bool = True


class Releases(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many runs ended."""

    worker_id: str
    items: list[ReleaseItem]


class ReleaseAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The job's end."""

    job_status: JobStatus


class ItemAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer for one of many: ok, or the code of what was wrong."""

    lease_id: str
    ok: bool
    code: str | None = None
    detail: str | None = None
    expires_at: datetime | None = None
    cancel_requested: bool | None = None
    force: bool | None = None
    job_status: JobStatus | None = None


class ItemAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """The answers, in the order in which the items were given."""

    items: list[ItemAnswer]


def read_claim(body: ClaimBody) -> ClaimRequest:
    """A claim's body as the dispatcher takes it."""
    check_name("worker_id", body.worker_id)
    check_seconds("ttl_s", body.ttl_s, zero=False)
    check_seconds("wait_s", body.wait_s)
    if not 1 <= body.max_jobs <= dispatch.MOST_PER_CLAIM:
        raise errors.InvalidRequest(
            "max_jobs", f"{body.max_jobs} is not between 1 and {dispatch.MOST_PER_CLAIM}"
        )
    for field in ("slots", "pid", "max_cost_units"):
        _check_number(field, getattr(body, field))
    for field in ("host", "process_started"):
        check_name(field, getattr(body, field))
    for field in ("queues", "job_types", "capabilities"):
        for word in getattr(body, field) or ():
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


def _check_number(field: str, value: int | None) -> None:
    if value is not None and abs(value) > LARGEST_NUMBER:
        raise errors.InvalidRequest(field, f"{value} is more than {LARGEST_NUMBER}")


def register(tx: Transaction, body: ClaimBody, request: ClaimRequest) -> None:
    """A claim is also the way in which a worker makes itself known."""
    workers.see(
        tx,
        worker_id=body.worker_id,
        host=body.host or "unknown",
        pid=body.pid or 0,
        process_started=body.process_started or "",
        built_in=False,
        abilities=request.abilities,
        slots=body.slots or body.max_jobs,
    )


def claimed(tx: Transaction, started: list[Started]) -> Claimed:
    """Claimed jobs as they are shown."""
    views = {job.number: job for job in jobs.views(tx, [one.number for one in started])}
    return Claimed(
        jobs=[
            ClaimedJob(
                job=views[one.number],
                lease=one.lease,
                run_id=one.lease.lease_id if one.lease else None,
            )
            for one in started
        ]
    )


@operation("POST", "/api/claims", Role.WORK, body=ClaimBody, answer=Claimed, also=(204,))
def claim(call: Call[ClaimBody, Nothing]) -> Any:
    """Take jobs to work on; waits up to `wait_s` for some, 204 if there are none."""
    request = read_claim(call.body)

    def work(tx: Transaction) -> Answered:
        register(tx, call.body, request)
        got = dispatch.claim(call.scheduler, tx, request)
        return Answered(claimed(tx, got), 200) if got else Answered(None, 204)

    return call.scheduler.store.write_later(work)


@operation("POST", "/api/jobs/{id}/preparing", Role.WORK, body=WorkerBody, answer=Job)
def preparing(call: Call[WorkerBody, Nothing]) -> Any:
    """The worker sets up its runtime for a job it has claimed."""

    def work(tx: Transaction) -> Job:
        number = leases.prepare(call.scheduler, tx, call.path["id"], call.body.worker_id)
        return jobs.views(tx, [number])[0]

    return call.scheduler.store.write_later(work)


@operation(
    "POST", "/api/leases", Role.WORK, body=LeaseBody, answer=LeaseAnswer, status=201, also=(200,)
)
def request_lease(call: Call[LeaseBody, Nothing]) -> Any:
    """Start a claimed job: 201 with a lease, or 200 with a time to come back."""
    check_seconds("ttl_s", call.body.ttl_s, zero=False)

    def work(tx: Transaction) -> Answered:
        answer = leases.request(
            call.scheduler, tx, call.body.job_id, call.body.worker_id, call.body.ttl_s
        )
        if isinstance(answer, Denied):
            denied = LeaseAnswer(
                approved=False, retry_after_ms=answer.retry_after_ms, reason=answer.reason
            )
            return Answered(denied, 200)
        granted = LeaseAnswer(approved=True, lease=answer.lease, run_id=answer.lease.lease_id)
        return Answered(granted, 201)

    return call.scheduler.store.write_later(work)


@operation("GET", "/api/leases/{id}", Role.WORK, answer=Lease)
def get_lease(call: Call[Nothing, Nothing]) -> Lease:
    """A lease, live or over."""
    return call.scheduler.store.read(lambda tx: leases.view(tx, call.path["id"]))


@operation(
    "POST", "/api/leases/{id}/heartbeat", Role.WORK, body=HeartbeatBody, answer=HeartbeatAnswer
)
def heartbeat(call: Call[HeartbeatBody, Nothing]) -> Any:
    """Keep a lease alive."""
    body = call.body
    beat = _beat(call.path["id"], body.progress, body.message)

    def work(tx: Transaction) -> HeartbeatAnswer:
        answer = leases.heartbeat(call.scheduler, tx, body.worker_id, [beat])[0]
        if answer.error is not None:
            raise answer.error
        assert answer.expires_at is not None
        return HeartbeatAnswer(
            expires_at=answer.expires_at,
            cancel_requested=answer.cancel is not None,
            force=answer.cancel == "forced",
        )

    return call.scheduler.store.write_later(work)


@operation("POST", "/api/leases/heartbeats", Role.WORK, body=Heartbeats, answer=ItemAnswers)
def heartbeats(call: Call[Heartbeats, Nothing]) -> Any:
    """Keep many leases alive; each is answered for itself."""
    _check_count(len(call.body.items))
    beats = [_beat(item.lease_id, item.progress, item.message) for item in call.body.items]

    def work(tx: Transaction) -> ItemAnswers:
        answers = leases.heartbeat(call.scheduler, tx, call.body.worker_id, beats)
        return ItemAnswers(
            items=[
                ItemAnswer(
                    lease_id=one.lease_id,
                    ok=True,
                    expires_at=one.expires_at,
                    cancel_requested=one.cancel is not None,
                    force=one.cancel == "forced",
                )
                if one.error is None
                else _refused(one.lease_id, one.error)
                for one in answers
            ]
        )

    return call.scheduler.store.write_later(work)


@operation("POST", "/api/leases/{id}/release", Role.WORK, body=ReleaseBody, answer=ReleaseAnswer)
def release(call: Call[ReleaseBody, Nothing]) -> Any:
    """Report how a run ended. The same report again gets the same answer."""
    report = _report(call, call.path["id"], call.body)

    def work(tx: Transaction) -> ReleaseAnswer:
        answer = finish.finish(call.scheduler, tx, call.body.worker_id, [report])[0]
        if answer.error is not None:
            raise answer.error
        assert answer.status is not None
        return ReleaseAnswer(job_status=answer.status)

    return call.scheduler.store.write_later(work)


@operation("POST", "/api/leases/releases", Role.WORK, body=Releases, answer=ItemAnswers)
def releases(call: Call[Releases, Nothing]) -> Any:
    """Report how many runs ended; each is answered for itself."""
    _check_count(len(call.body.items))
    reports = [_report(call, item.lease_id, item) for item in call.body.items]

    def work(tx: Transaction) -> ItemAnswers:
        answers = finish.finish(call.scheduler, tx, call.body.worker_id, reports)
        return ItemAnswers(
            items=[
                ItemAnswer(lease_id=one.lease_id, ok=True, job_status=one.status)
                if one.error is None
                else _refused(one.lease_id, one.error)
                for one in answers
            ]
        )

    return call.scheduler.store.write_later(work)


def _check_count(count: int) -> None:
    if not 1 <= count <= MOST_ITEMS:
        raise errors.InvalidRequest("items", f"a call has 1 to {MOST_ITEMS} items, not {count}")


def _beat(lease_id: str, progress: float | None, message: str | None) -> Beat:
    if progress is not None and not 0 <= progress <= 1:
        raise errors.InvalidRequest("progress", f"{progress} is not between 0 and 1")
    return Beat(lease_id=lease_id, progress=progress, message=message)


WORDS = {
    "COMPLETED": (RunStatus.COMPLETED, False),
    "SUCCEEDED": (RunStatus.COMPLETED, False),
    "FAILED": (RunStatus.FAILED, False),
    "SKIPPED": (RunStatus.SKIPPED, False),
    "CANCELLED": (RunStatus.FAILED, False),
    "CANCELED": (RunStatus.FAILED, False),
    "TIMEOUT": (RunStatus.FAILED, True),
}


def _report(call: Call[Any, Any], lease_id: str, body: ReleaseBody | ReleaseItem) -> finish.Report:
    if body.status.upper() not in WORDS:
        raise errors.InvalidRequest("status", f"{body.status!r} is not one of {', '.join(WORDS)}")
    _check_number("exit_code", body.exit_code)
    if body.result is not None:
        size = len(codec.dump(body.result))
        if size > call.scheduler.rules.largest_result:
            raise errors.TooLarge("result", size, call.scheduler.rules.largest_result)
    status, timed_out = WORDS[body.status.upper()]
    outcome = Outcome(
        status=status,
        result=body.result,
        error=body.error,
        exit_code=body.exit_code,
        artifacts=body.artifacts,
        retry=body.retry,
        timed_out=timed_out,
    )
    return finish.Report(lease_id=lease_id, outcome=outcome)


def _refused(lease_id: str, error: errors.HeadwayError) -> ItemAnswer:
    return ItemAnswer(lease_id=lease_id, ok=False, code=error.code, detail=error.detail)
