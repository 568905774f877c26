"""The record of one execution, and what came out of it."""

from datetime import datetime
from typing import Any

import msgspec

from headway.domain.run_status import RunStatus
from headway.domain.steps import Wait

__all__ = ["Outcome", "Run", "RunStatus"]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What an execution came to, before anything is decided from it."""

    status: RunStatus
    result: Any = None
    error: str | None = None
    exit_code: int | None = None
    artifacts: tuple[str, ...] = ()
    retry: bool = True
    timed_out: bool = False
    cancelled: bool = False
    wait: Wait | None = None
    """What the job waits for, if the run suspended it."""
    crashed: bool = False
    """Its process or its worker is gone, or its lease ran out."""
    retry_after_s: float | None = None
    """The delay that the worker wants, in place of the retry policy's."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One execution of a job, as it is shown."""

    run_id: str
    job_id: str
    attempt: int
    generation: int
    status: RunStatus | None
    params_snapshot: dict[str, Any]
    template_id: str | None
    worker_id: str | None
    lease_id: str | None
    started_at: datetime
    finished_at: datetime | None
    duration_ms: int | None
    exit_code: int | None
    error: str | None
    result: Any
    artifacts: tuple[str, ...]
    stdout_path: str | None
    stderr_path: str | None
    omitted: dict[str, int] | msgspec.UnsetType = msgspec.UNSET
    """Only in lists: large fields that are left out, with their sizes; the run itself has them."""
