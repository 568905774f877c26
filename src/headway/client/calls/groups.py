"""Calls about groups."""

from collections.abc import Sequence

from headway.api.groups import GroupOrder
from headway.api.jobs import CancelBody
from headway.api.operation import Page, Paging
from headway.client.calls.call import Call, JobRef, step, words
from headway.domain.groups import Group
from headway.domain.requests.group_requests import GroupRequest


def create_group(request: GroupRequest) -> Call[Group]:
    """Submit jobs as a group, all or nothing."""
    return Call("POST", "/api/job-groups", Group, request, safe_to_repeat=False)


def list_groups(paging: Paging | None = None) -> Call[Page[Group]]:
    """List groups, newest first."""
    return Call("GET", "/api/job-groups", Page[Group], query=words(paging))


def get_group(group_id: str) -> Call[Group]:
    """Get one group with its members."""
    return Call("GET", f"/api/job-groups/{step(group_id)}", Group)


def cancel_group(group_id: str, *, reason: str | None = None, force: bool = False) -> Call[Group]:
    """Cancel every member that has not ended."""
    body = CancelBody(reason=reason, force=force)
    path = f"/api/job-groups/{step(group_id)}/cancel"
    return Call("POST", path, Group, body, safe_to_repeat=False)


def reorder_group(group_id: str, order: Sequence[JobRef]) -> Call[Group]:
    """Reorder the members that have not started."""
    body = GroupOrder(order=list(order))
    return Call("POST", f"/api/job-groups/{step(group_id)}/reorder", Group, body)
