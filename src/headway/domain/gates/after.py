"""Gate 2: have the jobs it comes after ended as it needs?

A dependency follows the retry chain of the job it names: it is judged by the chain's last link.
"""

from collections.abc import Sequence

import msgspec

from headway.domain import states
from headway.domain.gates.verdict import Blocker, Closed
from headway.domain.jobs import Policy
from headway.domain.states import JobStatus


class Predecessor(msgspec.Struct, frozen=True, kw_only=True):
    """A dependency with the chain's last link; no status means that it is missing."""

    job: str
    policy: Policy
    status: JobStatus | None
    detail: str | None = None
    error: str | None = None


def check(predecessors: Sequence[Predecessor]) -> Closed | None:
    """Closed while a chain goes on, for ever once one can no longer end as needed."""
    if impossible := [one for one in predecessors if problem(one)]:
        return Closed(
            status=states.BLOCKED_BY_DEPENDENCY,
            kind="dependencies",
            detail=problem(impossible[0]) or "",
            blockers=tuple(blocker(one) for one in impossible),
            forever=True,
        )
    if waiting := [one for one in predecessors if one.status in states.ACTIVE]:
        return Closed(
            status=states.WAITING_ON_DEPS,
            kind="dependencies",
            detail=f"waiting on job {waiting[0].job}",
            blockers=tuple(blocker(one) for one in waiting),
        )
    return None


def check_children(children: Sequence[Predecessor]) -> Closed | None:
    """Closed while children go on for which the program of the job waits."""
    closed = check([one for one in children if one.status in states.ACTIVE])
    return closed and msgspec.structs.replace(closed, status=states.SUSPENDED)


def satisfies(status: JobStatus, policy: Policy) -> bool:
    """Whether a chain that ended like this meets the policy; nothing to do is a success."""
    if policy is Policy.FINISHED:
        return True
    return (status in states.SUCCESS) is (policy is Policy.SUCCESS)


def problem(one: Predecessor) -> str | None:
    """Why the dependency can no longer be met, if so."""
    if one.error is not None:
        return f"scheduler data error for job dependency {one.job}: {one.error}"
    if one.status is None:
        return f"missing job dependency {one.job}"
    if one.status in states.ACTIVE or satisfies(one.status, one.policy):
        return None
    return f"dependency failed for job {one.job} ({one.status.lower()})"


def blocker(one: Predecessor) -> Blocker:
    """The job that was named, with its status."""
    return Blocker(kind="job", id=one.job, status=one.status, detail=one.detail)
