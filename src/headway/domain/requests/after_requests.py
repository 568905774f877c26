"""What a request says that its job comes after."""

from headway.domain import errors
from headway.domain.jobs import Policy
from headway.domain.requests.job_requests import AfterRequest, JobRequest

REF = "ref:"
"""Begins the name of a job of the same batch."""


def targets(request: JobRequest) -> list[tuple[str, Policy]]:
    """The names of the jobs that come before, each with the end that is wanted of it."""
    found = []
    for one in request.after:
        job, policy = (
            (one.job, one.policy) if isinstance(one, AfterRequest) else (one, Policy.SUCCESS)
        )
        text = str(job).strip()
        if not text:
            raise errors.InvalidRequest("after", "an id is empty")
        found.append((text, policy))
    return found


def names_earlier_jobs(request: JobRequest) -> bool:
    """Whether the job comes after one that was there before its batch."""
    return any(not target.startswith(REF) for target, _ in targets(request))
