"""Calls about runs."""

from headway.api.operation import Page
from headway.api.runs import RetryBody, RunQuery
from headway.client.calls.call import Call, step, words
from headway.domain.jobs import Job
from headway.domain.runs import Run


def list_runs(query: RunQuery | None = None) -> Call[Page[Run]]:
    """List runs, newest first."""
    return Call("GET", "/api/job-runs", Page[Run], query=words(query))


def get_run(run_id: str) -> Call[Run]:
    """Get one run."""
    return Call("GET", f"/api/job-runs/{step(run_id)}", Run)


def retry_run(run_id: str, priority: int | str | None = None) -> Call[Job]:
    """Retry a failed run as a new job."""
    body = RetryBody(priority=priority)
    return Call("POST", f"/api/job-runs/{step(run_id)}/retry", Job, body, safe_to_repeat=False)
