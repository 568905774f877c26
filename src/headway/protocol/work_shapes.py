"""What workers and the server say to each other: the bodies and answers of the worker protocol."""

from datetime import datetime
from typing import Any, Literal

import msgspec

from headway.domain import errors
from headway.domain.jobs import Job
from headway.domain.leases import Lease
from headway.domain.states import JobStatus

MOST_PER_CLAIM = 1000

Stream = Literal["stdout", "stderr"]


class ReleaseItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one of several runs ended."""

    lease_id: str
    status: str
    result: Any = None
    error: str | None = None
    exit_code: int | None = None
    artifacts: tuple[str, ...] = ()
    retry: bool = True


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


class Claimed(msgspec.Struct, frozen=True, kw_only=True):
    """The claimed jobs, and how long the claim waited before the leases were granted.

    A worker that is told to drain finishes what it holds, claims nothing more and leaves.
    """

    jobs: list[ClaimedJob]
    waited_ms: int = 0
    released: tuple[ItemAnswer, ...] = ()
    drain: bool = False


class BriefJob(msgspec.Struct, frozen=True, kw_only=True):
    """As much of a job as is needed to do it."""

    job_id: str
    number: int
    job_type: str
    attempt: int
    params: msgspec.Raw
    timeout_s: float | None


class BriefClaimedJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job for a worker that wants to know no more than it needs."""

    job: BriefJob
    lease: Lease | None
    run_id: str | None


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


class ReleaseBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a run ended: COMPLETED or SUCCEEDED, FAILED, SKIPPED, TIMEOUT, CANCELLED."""

    worker_id: str
    status: str
    result: Any = None
    error: str | None = None
    exit_code: int | None = None
    artifacts: tuple[str, ...] = ()
    retry: bool = True


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


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker needs to do a job. Without a lease it is only claimed."""

    number: int
    job_id: str
    job_type: str
    attempt: int
    params: str
    timeout_s: float | None
    lease: Lease | None
    claim_expires_at: int | None = None


class Granted(msgspec.Struct, frozen=True, kw_only=True):
    """The job runs."""

    lease: Lease


class Denied(msgspec.Struct, frozen=True, kw_only=True):
    """Come back later; the job keeps its place."""

    retry_after_ms: int
    reason: str


class BeatAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """How long the lease lasts now and whether the run should end, or why the beat was refused."""

    lease_id: str
    expires_at: datetime | None = None
    cancel: str | None = None
    error: errors.HeadwayError | None = None
