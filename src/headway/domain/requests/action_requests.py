"""What is done to many jobs at once."""

from enum import StrEnum

import msgspec

from headway.domain import errors
from headway.domain.requests import job_requests
from headway.domain.values import priorities


class Action(StrEnum):
    """What is done to each job."""

    CANCEL = "cancel"
    RETRY = "retry"
    APPROVE = "approve"
    REPRIORITISE = "reprioritise"


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """An action, with what it says beside the jobs."""

    action: Action
    priority: int | None = None
    reason: str | None = None


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A job that was left as it is, and the code of the error that tells why."""

    job_id: str
    code: str


def wanted(action: Action, priority: int | str | None, reason: str | None) -> Wanted:
    """The action that these words mean; what would mean nothing is refused."""
    job_requests.check_reason(reason)
    if reason is not None and action not in (Action.CANCEL, Action.APPROVE):
        raise errors.InvalidRequest("reason", f"to {action} takes no reason")
    if priority is not None and action not in (Action.RETRY, Action.REPRIORITISE):
        raise errors.InvalidRequest("priority", f"to {action} takes no priority")
    if priority is None and action is Action.REPRIORITISE:
        raise errors.InvalidRequest("priority", "give the new priority")
    given = None if priority is None else priorities.read(priority)
    return Wanted(action=action, priority=given, reason=reason)
