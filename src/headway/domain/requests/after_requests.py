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
    found = [
        Target(_name(one.job if isinstance(one, AfterRequest) else one), _policy(one))
        for one in request.after
        if not _is_group(one)
    ]
    found.extend([Target(one.job, Policy.SUCCESS, one.field) for one in taken])
    return found


def groups(request: JobRequest) -> list[tuple[str, Policy]]:
    """The groups that come before, by name or id, each with the end that is wanted of it."""
    return [
        (_name(one.group), one.policy)
        for one in request.after
        if isinstance(one, AfterRequest) and _is_group(one)
    ]


def _is_group(one: str | int | AfterRequest) -> bool:
    if not isinstance(one, AfterRequest):
        return False
    if (one.job is None) == (one.group is None):
        raise errors.InvalidRequest("after", "give exactly one of job and group")
    return one.group is not None


def _policy(one: str | int | AfterRequest) -> Policy:
    return one.policy if isinstance(one, AfterRequest) else Policy.SUCCESS


def _name(reference: str | int | None) -> str:
    text = str(reference).strip()
    if not text:
        raise errors.InvalidRequest("after", "an id is empty")
    return text


def names_earlier_jobs(request: JobRequest, taken: Sequence[Taken]) -> bool:
    """Whether the job comes after one, or after a group, that was there before its batch."""
    if any(not target.name.startswith(REF) for target in targets(request, taken)):
        return True
    return bool(groups(request))
