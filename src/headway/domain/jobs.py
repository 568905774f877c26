"""A job: one intent to do work."""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

import msgspec

from headway.domain.states import JobStatus

POSITION_GAP = 100
"""New jobs are this far apart, so that a move touches one row."""

DEFAULT_QUEUE = "default"
COMMAND = "command"
"""The job type whose params are a program to run."""


class Policy(StrEnum):
    """How a dependency must end."""

    SUCCESS = "success"
    FINISHED = "finished"
    FAILURE = "failure"


class RetryState(StrEnum):
    """What was decided about retrying a failed job."""

    NONE = "none"
    SCHEDULED = "scheduled"
    EXHAUSTED = "exhausted"
    SUPPRESSED = "suppressed"


class Approval(StrEnum):
    """What a person decided."""

    PENDING = "PENDING"
    APPROVED = "APPROVED"
    REJECTED = "REJECTED"


class Mode(StrEnum):
    """How a lock is held."""

    SHARED = "shared"
    EXCLUSIVE = "exclusive"


class After(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A dependency on another job's retry chain."""

    job: str
    number: int
    policy: Policy = Policy.SUCCESS


class AfterGroup(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A dependency on a group; `number` stands for it among the dependencies on chains."""

    group: str
    number: int
    policy: Policy = Policy.SUCCESS


class Lock(msgspec.Struct, frozen=True, kw_only=True):
    """A key, held shared or exclusively while the job runs."""

    key: str
    mode: Mode = Mode.EXCLUSIVE


class PinnedHead(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The job may start only while the branch is at this commit."""

    branch: str
    commit: str


class Backoff(StrEnum):
    """How the delay before a retry grows."""

    EXPONENTIAL = "exponential"
    FIXED = "fixed"


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often and how soon a failed job is retried."""

    max_attempts: int = 3
    base_delay_s: float = 10.0
    max_delay_s: float = 3600.0
    jitter: bool = False
    backoff: Backoff = Backoff.EXPONENTIAL
    max_crashes: int = 3
    """So often a job may take its worker down or lose its lease, whatever `max_attempts` says."""


class WaitReason(msgspec.Struct, frozen=True, kw_only=True):
    """Why a job is not running, in one kind and one sentence."""

    kind: str
    detail: str


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a run says it has got."""

    fraction: float | None
    message: str | None
    at: datetime


class SharedTerms(msgspec.Struct, frozen=True, kw_only=True):
    """Terms that a request and a template give in the same way; the request's come first."""

    timeout_s: float | None = None
    webhook_url: str | None = None
    tags: tuple[str, ...] = ()
    start_within_s: float | None = None
    """A job that has not started so long after it may start ends CANCELLED."""


class JobTerms(SharedTerms, frozen=True, kw_only=True):
    """Terms of one job that are stored as the request gives them."""

    name: str | None = None
    needs: tuple[str, ...] = ()
    produces: tuple[str, ...] = ()
    pinned_head: PinnedHead | None = None
    approval: bool = False
    dedup_window_s: float | None = None
    missing_producer: Literal["block", "wait"] = "block"


class Terms(JobTerms, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The terms of a job as they are stored; they never change after the submit."""

    after: tuple[After, ...] = ()
    after_groups: tuple[AfterGroup, ...] = ()
    locks: tuple[Lock, ...] = ()
    retry_policy: RetryPolicy = RetryPolicy()
    parent_id: str | None = None

    @property
    def comes_after(self) -> tuple[After | AfterGroup, ...]:
        """The jobs and the groups that the job comes after."""
        return (*self.after, *self.after_groups)


LONGEST_KEY = 2000
"""Bytes of what is looked up as a whole: no index of PostgreSQL takes much more."""


class Lane(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What jobs have in common that can start under the same conditions."""

    queue: str
    job_type: str
    cost_units: int = 1
    requires: tuple[str, ...] = ()
    limits: dict[str, int] = msgspec.field(default_factory=dict)


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job as it is shown, with a field for each of its `Terms`."""

    job_id: str
    number: int
    name: str | None = None
    """What people call it; several jobs may have the same name."""
    job_type: str
    queue: str
    params: dict[str, Any]
    omitted: dict[str, int] | msgspec.UnsetType = msgspec.UNSET
    """Only in lists: large fields that are left out, with their sizes; the job itself has them."""
    priority: int
    position: int
    queue_position: int | None = None
    status: JobStatus
    wait_reason: WaitReason | None = None
    waited_on: tuple[str, ...] = ()
    scheduled_for: datetime | None = None
    template_id: str | None = None
    schedule_id: str | None = None
    fire_time: datetime | None = None
    group_id: str | None = None
    parent_id: str | None = None
    """The job whose handler submitted this one."""
    retry_of: str | None = None
    retried_by: str | None = None
    """The job that tries this one again, if it failed."""
    chain_id: str
    attempt: int = 0
    generation: int = 1
    retry_state: RetryState = RetryState.NONE
    permanently_failed: bool = False
    crashes: int = 0
    """How often a run of its chain ended with its worker or its lease, up to this job."""
    after: tuple[After, ...] = ()
    after_groups: tuple[AfterGroup, ...] = ()
    needs: tuple[str, ...] = ()
    produces: tuple[str, ...] = ()
    locks: tuple[Lock, ...] = ()
    pinned_head: PinnedHead | None = None
    approval: Approval | None = None
    missing_producer: str = "block"
    cost_units: int = 1
    requires: tuple[str, ...] = ()
    limits: dict[str, int] = msgspec.field(default_factory=dict)
    timeout_s: float | None = None
    start_within_s: float | None = None
    start_by: datetime | None = None
    """When it ends CANCELLED unless it has started."""
    retry_policy: RetryPolicy = RetryPolicy()
    webhook_url: str | None = None
    idempotency_key: str | None = None
    unique_key: str | None = None
    dedup_key: str | None = None
    dedup_window_s: float | None = None
    deduplicated: bool = False
    params_differ: bool | msgspec.UnsetType = msgspec.UNSET
    """Only in the answer to a submit that found this job by its unique key."""
    tags: tuple[str, ...] = ()
    created_at: datetime
    queued_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    claim_expires_at: datetime | None = None
    worker_id: str | None = None
    run_id: str | None = None
    exit_code: int | None = None
    error: str | None = None
    """What it failed of, in one line; its run has the whole."""
    cancel_requested: bool = False
    progress: Progress | None = None


class JobResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an ended job, taken from the last job in its retry chain."""

    job_id: str
    status: JobStatus
    result_data: Any
    error: str | None
    started_at: datetime | None
    finished_at: datetime | None
    attempts: int
