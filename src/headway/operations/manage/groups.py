"""Operations on groups."""

import msgspec

from headway.domain.manage.groups import Group
from headway.domain.requests.group_requests import GroupRequest
from headway.operations import paging
from headway.operations.bound import Call, serves
from headway.operations.jobs import refuse_key
from headway.protocol import groups as protocol
from headway.protocol.groups import GroupOrder
from headway.protocol.jobs import CancelBody
from headway.protocol.operation import Nothing, Page, Paging
from headway.scheduler import command_permission
from headway.scheduler.manage import groups
from headway.scheduler.submit import submit
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import groups as kept


def _prepared(call: Call[GroupRequest, Nothing]) -> GroupRequest:
    refuse_key(call)
    members = list(submit.prepared(call.scheduler, call.body.jobs))
    return msgspec.structs.replace(call.body, jobs=members)


@serves(protocol.create_group, _prepared)
def create_group(
    call: Call[GroupRequest, Nothing], tx: Transaction, request: GroupRequest
) -> Group:
    """Submit jobs as a group, all or nothing."""
    at_the_end = [call.body.on_complete] if call.body.on_complete else []
    command_permission.check_submits(tx, call.principal.role, [*call.body.jobs, *at_the_end])
    return groups.create(call.scheduler, tx, request)


@serves(protocol.list_groups)
def list_groups(call: Call[Nothing, Paging], tx: Transaction) -> Page[Group]:
    """List groups, newest first."""
    limit = paging.check_limit(call.query.limit)
    before = paging.read_cursor(call.query.cursor)
    return paging.page_of(kept.page(tx, before=before, count=limit), lambda group: group.group_id)


@serves(protocol.get_group)
def get_group(call: Call[Nothing, Nothing], tx: Transaction) -> Group:
    """Get one group; a member's status is that of its last attempt."""
    return kept.find(tx, call.path["id"])


@serves(protocol.cancel_group)
def cancel_group(call: Call[CancelBody, Nothing], tx: Transaction) -> Group:
    """Cancel every member that has not ended."""
    return groups.cancel(
        call.scheduler, tx, call.path["id"], reason=call.body.reason, force=call.body.force
    )


@serves(protocol.reorder_group)
def reorder_group(call: Call[GroupOrder, Nothing], tx: Transaction) -> Group:
    """Reorder the members that have not started."""
    return groups.reorder(call.scheduler, tx, call.path["id"], call.body.order, call.principal.role)
