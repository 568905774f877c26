"""Operations on groups."""

from typing import Any

import msgspec

from headway.api import paging
from headway.api.jobs import CancelBody, refuse_key
from headway.api.operation import Call, Nothing, Page, Paging, operation
from headway.domain.groups import Group
from headway.domain.requests.group_requests import GroupRequest
from headway.domain.tokens import Role
from headway.scheduler import command_permission
from headway.scheduler.manage import groups
from headway.scheduler.submit import submit
from headway.storage import groups as kept
from headway.storage.transaction import Transaction


class GroupOrder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The members that have not started, by id or number, in their new order."""

    order: list[str | int]


@operation("POST", "/api/job-groups", Role.SUBMIT, body=GroupRequest, answer=Group, status=201)
def create_group(call: Call[GroupRequest, Nothing]) -> Any:
    """Submit jobs as a group, all or nothing."""
    refuse_key(call)
    members = tuple(submit.prepared(call.scheduler, call.body.jobs))
    request = msgspec.structs.replace(call.body, jobs=members)

    def work(tx: Transaction) -> Group:
        command_permission.check_submits(tx, call.principal.role, call.body.jobs)
        return groups.create(call.scheduler, tx, request)

    return call.change(work)


@operation("GET", "/api/job-groups", Role.READ, query=Paging, answer=Page[Group])
def list_groups(call: Call[Nothing, Paging]) -> Page[Group]:
    """List groups, newest first."""
    limit = paging.check_limit(call.query.limit)
    before = paging.read_cursor(call.query.cursor)
    found = call.scheduler.store.read(lambda tx: kept.page(tx, before=before, count=limit))
    return paging.page_of(found, lambda group: group.group_id)


@operation("GET", "/api/job-groups/{id}", Role.READ, answer=Group)
def get_group(call: Call[Nothing, Nothing]) -> Group:
    """Get one group; a member's status is that of its last attempt."""
    return call.scheduler.store.read(lambda tx: kept.find(tx, call.path["id"]))


@operation("POST", "/api/job-groups/{id}/cancel", Role.SUBMIT, body=CancelBody, answer=Group)
def cancel_group(call: Call[CancelBody, Nothing]) -> Any:
    """Cancel every member that has not ended."""
    return call.change(
        lambda tx: groups.cancel(
            call.scheduler,
            tx,
            call.path["id"],
            reason=call.body.reason,
            force=call.body.force,
        )
    )


@operation("POST", "/api/job-groups/{id}/reorder", Role.SUBMIT, body=GroupOrder, answer=Group)
def reorder_group(call: Call[GroupOrder, Nothing]) -> Any:
    """Reorder the members that have not started."""
    return call.change(
        lambda tx: groups.reorder(
            call.scheduler, tx, call.path["id"], call.body.order, call.principal.role
        )
    )
