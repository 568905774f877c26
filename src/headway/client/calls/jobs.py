"""Calls about jobs."""

from collections.abc import Sequence

from headway.api.jobs import Batch, BatchAnswer, CancelBody, JobQuery
from headway.api.operation import Page
from headway.api.queue import MoveBody, ReasonBody, RewindBody
from headway.client.calls.call import Call, JobRef, job_step, words
from headway.domain.answers import RewindReport, Why
from headway.domain.events import Event
from headway.domain.jobs import Job, JobResult
from headway.domain.requests.job_requests import BatchJobRequest, JobPatch, JobRequest
from headway.domain.runs import Run


def submit(request: JobRequest) -> Call[Job]:
    """Submit a job."""
    # A request that was made for a batch has a ref, which a single submit does not take.
    body = JobRequest(**{name: getattr(request, name) for name in JobRequest.__struct_fields__})
    return Call("POST", "/api/jobs", Job, body, safe_to_repeat=False)


def submit_batch(jobs: Sequence[BatchJobRequest]) -> Call[BatchAnswer]:
    """Submit many jobs, all or nothing."""
    return Call(
        "POST", "/api/jobs/batch", BatchAnswer, Batch(jobs=list(jobs)), safe_to_repeat=False
    )


def list_jobs(query: JobQuery | None = None) -> Call[Page[Job]]:
    """List jobs, newest first."""
    return Call("GET", "/api/jobs", Page[Job], query=words(query or JobQuery()))


def get_job(job: JobRef) -> Call[Job]:
    """Get one job."""
    return Call("GET", f"/api/jobs/{job_step(job)}", Job)


def change_job(job: JobRef, patch: JobPatch) -> Call[Job]:
    """Change a job that waits."""
    return Call("PATCH", f"/api/jobs/{job_step(job)}", Job, patch)


def cancel_job(job: JobRef, *, reason: str | None = None, force: bool = False) -> Call[Job]:
    """Cancel a job."""
    body = CancelBody(reason=reason, force=force)
    return Call("POST", f"/api/jobs/{job_step(job)}/cancel", Job, body, safe_to_repeat=False)


def move_job(
    job: JobRef,
    *,
    before: JobRef | None = None,
    after: JobRef | None = None,
    queue_position: int | None = None,
) -> Call[Job]:
    """Move a waiting job within its priority; give one of the three."""
    body = MoveBody(before=before, after=after, queue_position=queue_position)
    return Call("POST", f"/api/jobs/{job_step(job)}/move", Job, body)


def approve_job(job: JobRef, reason: str | None = None) -> Call[Job]:
    """Approve a job, so that it may start."""
    body = ReasonBody(reason=reason)
    return Call("POST", f"/api/jobs/{job_step(job)}/approve", Job, body, safe_to_repeat=False)


def reject_job(job: JobRef, reason: str | None = None) -> Call[Job]:
    """Reject a job; it ends at once."""
    body = ReasonBody(reason=reason)
    return Call("POST", f"/api/jobs/{job_step(job)}/reject", Job, body, safe_to_repeat=False)


def retry_job(job: JobRef, *, force: bool = False) -> Call[RewindReport]:
    """Rewind a job: rerun it and everything downstream of it."""
    body = RewindBody(force=force)
    return Call(
        "POST", f"/api/jobs/{job_step(job)}/retry", RewindReport, body, safe_to_repeat=False
    )


def why(job: JobRef) -> Call[Why]:
    """Explain why a job is not running."""
    return Call("GET", f"/api/jobs/{job_step(job)}/why", Why)


def get_result(job: JobRef) -> Call[JobResult]:
    """Get the result of an ended job."""
    return Call("GET", f"/api/jobs/{job_step(job)}/result", JobResult)


def runs_of_job(job: JobRef) -> Call[Page[Run]]:
    """List a job's runs, newest first."""
    return Call("GET", f"/api/jobs/{job_step(job)}/runs", Page[Run])


def events_of_job(job: JobRef, cursor: str | None = None) -> Call[Page[Event]]:
    """List a job's events, oldest first."""
    query = {"limit": 200, **({"cursor": cursor} if cursor else {})}
    return Call("GET", f"/api/jobs/{job_step(job)}/events", Page[Event], query=query)
