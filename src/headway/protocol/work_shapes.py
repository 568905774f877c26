"""What workers and the server say to each other: the bodies and answers of the worker protocol."""

from datetime import datetime
from typing import Any, Literal

import msgspec

from headway.domain import errors
from headway.domain.jobs import Job
from headway.domain.leases import Lease
from headway.domain.requests.job_requests import BatchJobRequest
from headway.domain.runs import Outcome
from headway.domain.states import JobStatus
from headway.domain.steps import Step, StepKind, Wait
from headway.domain.values.moments import Moment
from headway.protocol.work_values import (
    BeatAnswer,
    Report,
    ReportAnswer,
    Started,
    StepAnswer,
    StepReport,
)

MOST_PER_CLAIM = 1000

Stream = Literal["stdout", "stderr"]


class WaitBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a job waits for: one of `until`, `delay_s`, `signal` and `children`."""

    until: Moment | None = None
    delay_s: float | None = None
    signal: str | None = None
    timeout_s: float | None = None
    """How long to wait for the signal."""
    children: tuple[BatchJobRequest, ...] = ()
    name: str | None = None
    index: int | None = None

    @classmethod
    def of(cls, wait: Wait) -> "WaitBody":
        """A wait as it is sent."""
        if wait.kind is StepKind.SIGNAL:
            return cls(signal=wait.name, timeout_s=wait.delay_s, index=wait.index)
        return cls(
            until=wait.until,
            delay_s=wait.delay_s,
            children=wait.children,
            name=wait.name,
            index=wait.index,
        )

    def wait(self) -> Wait:
        """The wait as it was sent."""
        named = [self.until, self.delay_s, self.signal, self.children or None]
        if sum(one is not None for one in named) != 1:
            raise errors.InvalidRequest(
                "until", "give exactly one of until, delay_s, signal and children"
            )
        if self.timeout_s is not None and self.signal is None:
            raise errors.InvalidRequest("timeout_s", "only a signal has a timeout_s")
        if self.signal is not None:
            if self.name not in (None, self.signal):
                raise errors.InvalidRequest("name", "the name of the wait is that of its signal")
            return Wait(
                kind=StepKind.SIGNAL, name=self.signal, index=self.index, delay_s=self.timeout_s
            )
        kind = StepKind.CHILDREN if self.children else StepKind.SLEEP
        return Wait(
            kind=kind,
            name=kind.value if self.name is None else self.name,
            index=self.index,
            until=self.until,
            delay_s=self.delay_s,
            children=self.children,
        )


class RunEnd(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """How a run ended: COMPLETED or SUCCEEDED, FAILED, SKIPPED, TIMEOUT, CANCELLED.

    CRASHED is a failure that took the process of the run along; `retry_after_s` is the delay of
    the retry of a failure. SUSPENDED goes with what the job waits for.
    """

    status: str
    result: Any = None
    error: str | None = None
    exit_code: int | None = None
    artifacts: tuple[str, ...] = ()
    retry: bool = True
    wait: WaitBody | None = None
    retry_after_s: float | None = None


class ReleaseItem(RunEnd, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one of several runs ended."""

    lease_id: str

    @classmethod
    def of(cls, report: Report) -> "ReleaseItem":
        """A report as it is sent."""
        outcome = report.outcome
        return cls(
            lease_id=report.lease_id,
            status=_word(outcome),
            result=outcome.result,
            error=outcome.error,
            exit_code=outcome.exit_code,
            artifacts=outcome.artifacts,
            retry=outcome.retry,
            wait=WaitBody.of(outcome.wait) if outcome.wait else None,
            retry_after_s=outcome.retry_after_s,
        )


def _word(outcome: Outcome) -> str:
    """What a worker says of such an outcome."""
    if outcome.timed_out:
        return "TIMEOUT"
    return "CRASHED" if outcome.crashed else outcome.status


class ItemAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer for one item: ok, or an error code."""

    lease_id: str
    ok: bool
    code: str | None = None
    detail: str | None = None
    expires_at: datetime | None = None
    cancel_requested: bool | None = None
    force: bool | None = None
    job_status: JobStatus | None = None
    size: int | None = None
    created: bool | None = None

    @classmethod
    def refused(cls, lease_id: str, error: errors.HeadwayError) -> "ItemAnswer":
        """The answer for an item that was not accepted."""
        return cls(lease_id=lease_id, ok=False, code=error.code, detail=error.detail)

    @classmethod
    def of_report(cls, answer: ReportAnswer) -> "ItemAnswer":
        """What became of a report, as it is sent."""
        if answer.error is not None:
            return cls.refused(answer.lease_id, answer.error)
        return cls(lease_id=answer.lease_id, ok=True, job_status=answer.status)

    @classmethod
    def of_step(cls, answer: StepAnswer) -> "ItemAnswer":
        """What became of a step, as it is sent."""
        if answer.error is not None:
            return cls.refused(answer.lease_id, answer.error)
        return cls(lease_id=answer.lease_id, ok=True, created=answer.created)

    @classmethod
    def of_beat(cls, answer: BeatAnswer) -> "ItemAnswer":
        """What became of a heartbeat, as it is sent."""
        if answer.error is not None:
            return cls.refused(answer.lease_id, answer.error)
        return cls(
            lease_id=answer.lease_id,
            ok=True,
            expires_at=answer.expires_at,
            cancel_requested=answer.cancel is not None,
            force=answer.cancel == "forced",
        )

    def report_answer(self) -> ReportAnswer:
        """What became of a report, as it was sent."""
        return ReportAnswer(lease_id=self.lease_id, status=self.job_status, error=self.error())

    def beat_answer(self) -> BeatAnswer:
        """What became of a heartbeat, as it was sent."""
        cancel = "forced" if self.force else ("asked" if self.cancel_requested else None)
        return BeatAnswer(
            lease_id=self.lease_id, expires_at=self.expires_at, cancel=cancel, error=self.error()
        )

    def step_answer(self) -> StepAnswer:
        """What became of a step, as it was sent."""
        return StepAnswer(
            lease_id=self.lease_id, created=self.created is not False, error=self.error()
        )

    def error(self) -> errors.HeadwayError | None:
        """Why the item was refused, if it was."""
        if self.ok:
            return None
        told = {"size": self.size}
        return errors.revive(self.code or "error", self.detail or "refused", 409, facts=told)


class ClaimBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A claim: the worker, the kinds of jobs, and how long to wait for one."""

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
    holds: tuple[str, ...] | None = None
    brief: bool = False
    releases: tuple[ReleaseItem, ...] = ()
    slots: int | None = None
    host: str | None = None
    pid: int | None = None
    process_started: str | None = None


class ClaimedJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job for a worker; in the two-step form it has no lease yet."""

    job: Job
    lease: Lease | None
    run_id: str | None
    steps: tuple[Step, ...] | None = ()
    """The journal; null if it is too large to be sent along: read it by the lease."""


class Claimed(msgspec.Struct, frozen=True, kw_only=True):
    """The claimed jobs, and how long the claim waited before the leases were granted.

    A worker that is drained finishes what it holds, claims nothing more and leaves.
    """

    jobs: list[ClaimedJob]
    waited_ms: int = 0
    released: tuple[ItemAnswer, ...] = ()
    drain: bool = False


class BriefJob(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """As much of a job as is needed to do it."""

    job_id: str
    number: int
    job_type: str
    attempt: int
    params: msgspec.Raw
    timeout_s: float | None
    steps: tuple[Step, ...] | None = ()


class BriefClaimedJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job for a worker that wants to know no more than it needs."""

    job: BriefJob
    lease: Lease | None
    run_id: str | None

    @classmethod
    def of(cls, started: Started) -> "BriefClaimedJob":
        """A job as it is sent."""
        job = BriefJob(
            job_id=started.job_id,
            number=started.number,
            job_type=started.job_type,
            attempt=started.attempt,
            params=msgspec.Raw(started.params),
            timeout_s=started.timeout_s,
            steps=started.steps,
        )
        run_id = started.lease.lease_id if started.lease else None
        return cls(job=job, lease=started.lease, run_id=run_id)

    def started(self) -> Started:
        """The job as it was sent."""
        job = self.job
        return Started(
            number=job.number,
            job_id=job.job_id,
            job_type=job.job_type,
            attempt=job.attempt,
            params=bytes(job.params).decode(),
            timeout_s=job.timeout_s,
            lease=self.lease,
            steps=job.steps,
        )


class BriefClaimed(msgspec.Struct, frozen=True, kw_only=True):
    """What a brief claim got."""

    jobs: list[BriefClaimedJob]
    waited_ms: int = 0
    released: tuple[ItemAnswer, ...] = ()
    drain: bool = False


class WorkerBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The worker that is asking."""

    worker_id: str


class DrainBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether the worker is drained from now on; false lets it take jobs again."""

    drained: bool = True


class LeaseBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request to start a claimed job."""

    job_id: str
    worker_id: str
    ttl_s: float | None = None


class LeaseAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Granted with a lease, or denied with a time to ask again."""

    approved: bool
    lease: Lease | None = None
    run_id: str | None = None
    retry_after_ms: int | None = None
    reason: str | None = None


class HeartbeatItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A heartbeat for one lease."""

    lease_id: str
    progress: float | None = None
    message: str | None = None


class HeartbeatBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A heartbeat."""

    worker_id: str
    progress: float | None = None
    message: str | None = None


class Heartbeats(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Heartbeats for several leases."""

    worker_id: str
    items: list[HeartbeatItem]


class HeartbeatAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """How long the lease lasts now, and whether the run should end."""

    expires_at: datetime
    cancel_requested: bool
    force: bool = False


class ReleaseBody(RunEnd, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the run of one lease ended."""

    worker_id: str


class Releases(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How several runs ended."""

    worker_id: str
    items: list[ReleaseItem]


class ReleaseAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The job's final status."""

    job_status: JobStatus


class LogBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A piece of a run's output, in base64, and where in the log it belongs."""

    worker_id: str
    stream: Stream = "stdout"
    offset: int = 0
    data: bytes


class LogItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A piece of the output of one of several runs."""

    lease_id: str
    stream: Stream = "stdout"
    offset: int = 0
    data: bytes


class LogPieces(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Pieces of the output of several runs."""

    worker_id: str
    items: list[LogItem]


class LogAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """How long the log is now; the next piece starts there."""

    size: int


class ItemAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """The answers, in the order in which the items were given."""

    items: list[ItemAnswer]


class StepBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A step that the run of one lease has done."""

    worker_id: str
    name: str
    index: int
    result: Any = None
    started_at: Moment | None = None


class StepItems(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Steps of several runs."""

    worker_id: str
    items: list[StepReport]


class SuspendBody(WaitBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a job waits for; a wait that is over already does not suspend it.

    With `ask` a signal that has come is taken, and without one nothing changes.
    """

    worker_id: str
    ask: bool = False


class SuspendAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """SUSPENDED: the lease is released. RUNNING: the wait is over, with its journal entry."""

    status: JobStatus
    step: Step | None = None
