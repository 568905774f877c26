"""Gate 2: have the jobs it comes after ended as it needs?

A dependency follows the retry chain of the job it names: it is judged by the chain's last link.
"""

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from headway.domain import states
from headway.domain.gates.verdict import Blocker, Closed
from headway.domain.jobs import Policy
from headway.domain.manage import groups
from headway.domain.manage.groups import GroupStatus
from headway.domain.states import JobStatus


class Predecessor(msgspec.Struct, frozen=True, kw_only=True):
    """A dependency with the chain's last link; no status means that it is missing."""

    job: str
    policy: Policy
    status: JobStatus | None
    detail: str | None = None
    error: str | None = None


class PrecedingGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A dependency on a group, with its active members; no status means that it is missing."""

    group: str
    policy: Policy
    status: GroupStatus | None
    members: tuple[Blocker, ...] = ()


Before: TypeAlias = Predecessor | PrecedingGroup


def check(predecessors: Sequence[Before]) -> Closed | None:
    """Closed while a chain or a group goes on, for ever once one can no longer end as needed."""
    if impossible := [one for one in predecessors if problem(one)]:
        return Closed(
            status=states.BLOCKED_BY_DEPENDENCY,
            kind="dependencies",
            detail=problem(impossible[0]) or "",
            blockers=blockers(impossible),
            forever=True,
        )
    if waiting := [one for one in predecessors if goes_on(one)]:
        return Closed(
            status=states.WAITING_ON_DEPS,
            kind="dependencies",
            detail=f"waiting on {_what(waiting[0])}",
            blockers=blockers(waiting),
        )
    return None


def check_children(children: Sequence[Before]) -> Closed | None:
    """Closed while children go on for which the program of the job waits."""
    closed = check([one for one in children if goes_on(one)])
    return closed and msgspec.structs.replace(closed, status=states.SUSPENDED)


def goes_on(one: Before) -> bool:
    """Whether the chain, or the group, has not ended."""
    if isinstance(one, PrecedingGroup):
        return one.status is not None and one.status not in groups.ENDED
    return one.status in states.ACTIVE


def _what(one: Before) -> str:
    return f"group {one.group}" if isinstance(one, PrecedingGroup) else f"job {one.job}"


def satisfies(status: JobStatus, policy: Policy) -> bool:
    """Whether a chain that ended like this meets the policy; nothing to do is a success."""
    if policy is Policy.FINISHED:
        return True
    return (status in states.SUCCESS) is (policy is Policy.SUCCESS)


def group_satisfies(status: GroupStatus, policy: Policy) -> bool:
    """Whether a group that ended like this meets the policy."""
    if policy is Policy.FINISHED:
        return True
    return (status is GroupStatus.COMPLETED) is (policy is Policy.SUCCESS)


def problem(one: Before) -> str | None:
    """Why the dependency can no longer be met, if so."""
    if isinstance(one, PrecedingGroup):
        return _problem_of_group(one)
    if one.error is not None:
        return f"scheduler data error for job dependency {one.job}: {one.error}"
    if one.status is None:
        return f"missing job dependency {one.job}"
    if one.status in states.ACTIVE or satisfies(one.status, one.policy):
        return None
    return f"dependency failed for job {one.job} ({one.status.lower()})"


def _problem_of_group(one: PrecedingGroup) -> str | None:
    if one.status is None:
        return f"missing group dependency {one.group}"
    if one.status not in groups.ENDED or group_satisfies(one.status, one.policy):
        return None
    return f"dependency failed for group {one.group} ({one.status.lower()})"


def blockers(some: Sequence[Before]) -> tuple[Blocker, ...]:
    """The jobs and groups that were named, with their statuses; of a group also who is active."""
    return tuple(found for one in some for found in _blockers(one))


def _blockers(one: Before) -> tuple[Blocker, ...]:
    if isinstance(one, PrecedingGroup):
        return (Blocker(kind="group", id=one.group, status=one.status), *one.members)
    return (Blocker(kind="job", id=one.job, status=one.status, detail=one.detail),)
