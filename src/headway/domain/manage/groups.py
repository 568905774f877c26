"""Groups: ordered members, and what a member's failure means for the rest."""

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import msgspec

from headway.domain import states
from headway.domain.states import JobStatus

PREDECESSOR_FAILED = "predecessor failed"


class GroupMode(StrEnum):
    """One after the other, or all at once."""

    SEQUENTIAL = "sequential"
    PARALLEL = "parallel"


class OnFailure(StrEnum):
    """What to do with the rest when a member fails for good."""

    STOP = "stop"
    CONTINUE = "continue"
    SKIP = "skip"


class Verdict(StrEnum):
    """What happens to the members that have not started."""

    STOP = "STOP"
    CONTINUE = "CONTINUE"
    SKIP_REMAINING = "SKIP_REMAINING"


class GroupStatus(StrEnum):
    """Derived from the members; terminal only when every member is."""

    CREATED = "CREATED"
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    PARTIAL = "PARTIAL"
    CANCELLED = "CANCELLED"


ENDED = frozenset({GroupStatus.COMPLETED, GroupStatus.PARTIAL, GroupStatus.CANCELLED})


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A member; its status is that of the last job in its retry chain."""

    job_id: str
    number: int
    status: JobStatus


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A group as it is shown."""

    group_id: str
    name: str | None
    mode: GroupMode
    on_failure: OnFailure
    status: GroupStatus
    members: tuple[Member, ...]
    created_at: datetime
    on_complete_job: str | None = None
    """The job that was made when the group ended."""


class FailedMember(msgspec.Struct, frozen=True, kw_only=True):
    """A member that did not succeed; the job is the last of its chain."""

    job_id: str
    number: int
    status: JobStatus


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """How a group ended: params of the job that is made then."""

    group_id: str
    name: str | None
    status: GroupStatus
    counts: dict[str, int]
    """How many members ended in which status, in lower case."""
    failed: tuple[FailedMember, ...]
    """The first of those that did not succeed."""


class GroupFailurePolicy(Protocol):
    """The plug-in point: what a member's final failure means for the others."""

    def on_member_failed(self, on_failure: OnFailure, member: Member) -> Verdict:
        """The verdict for the members that have not started."""


class AsConfigured:
    """The group's own `on_failure` decides."""

    def on_member_failed(self, on_failure: OnFailure, member: Member) -> Verdict:
        """Stop, continue or skip, as the group's maker said."""
        return {
            OnFailure.STOP: Verdict.STOP,
            OnFailure.CONTINUE: Verdict.CONTINUE,
            OnFailure.SKIP: Verdict.SKIP_REMAINING,
        }[on_failure]


def status_of(members: Collection[JobStatus]) -> GroupStatus:
    """The group's status, from its members' chains."""
    present = set(members)
    if not present:
        return GroupStatus.CREATED
    if present <= states.WAITING:
        return GroupStatus.QUEUED
    if present & states.ACTIVE:
        return GroupStatus.RUNNING
    if present <= states.SUCCESS:
        return GroupStatus.COMPLETED
    return GroupStatus.CANCELLED if present == {states.CANCELLED} else GroupStatus.PARTIAL
