"""The values of the worker protocol: scheduler, wire and worker use the same ones.

`work_shapes` has the bodies and answers that carry them over HTTP.
"""

from datetime import datetime
from typing import Any

import msgspec

from headway.domain import errors
from headway.domain.leases import Lease
from headway.domain.runs import Outcome
from headway.domain.states import JobStatus
from headway.domain.steps import Step


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker needs to do a job. Without a lease it is only claimed."""

    number: int
    job_id: str
    job_type: str
    attempt: int
    params: str
    filled: bool = False
    """Whether results are filled in, so that they are not the params of the job as it is stored."""
    timeout_s: float | None
    lease: Lease | None
    claim_expires_at: int | None = None
    steps: tuple[Step, ...] | None = ()
    """The journal; None if it is too large to be sent along and has to be read by the lease."""


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


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A worker's word on how a run ended."""

    lease_id: str
    outcome: Outcome


class ReportAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a report: the job's end, or the error that refused it."""

    lease_id: str
    status: JobStatus | None = None
    error: errors.HeadwayError | None = None


class StepReport(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A step that a run has done."""

    lease_id: str
    name: str
    index: int
    result: Any = None
    started_at: datetime | None = None


class StepAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The step is in the journal, or the error that refused it.

    `created` is false if the same step with the same result was there before.
    """

    lease_id: str
    created: bool = True
    error: errors.HeadwayError | None = None
