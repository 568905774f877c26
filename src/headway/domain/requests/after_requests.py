"""What a request says that its job comes after."""

from collections.abc import Sequence
from typing import NamedTuple

from headway.domain import errors
from headway.domain.jobs import Policy
from headway.domain.requests.job_requests import AfterRequest, JobRequest
from headway.domain.taken import Taken

REF = "ref:"
"""Begins the name of a job of the same batch."""


class Target(NamedTuple):
    """The name of a job that comes before, the end that is wanted of it, and where it is named."""

    name: str
    policy: Policy
    field: str = "after"


def targets(request: JobRequest, taken: Sequence[Taken] = ()) -> list[Target]:
    """The jobs that come before, those too whose results its params take."""
    found = []
    for one in request.after:
        job, policy = (
            (one.job, one.policy) if isinstance(one, AfterRequest) else (one, Policy.SUCCESS)
        )
        text = str(job).strip()
        if not text:
            raise errors.InvalidRequest("after", "an id is empty")
        found.append(Target(text, policy))
    found.extend([Target(one.job, Policy.SUCCESS, one.field) for one in taken])
    return found


def names_earlier_jobs(request: JobRequest, taken: Sequence[Taken]) -> bool:
    """Whether the job comes after one that was there before its batch."""
    return any(not target.name.startswith(REF) for target in targets(request, taken))
