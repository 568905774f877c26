"""Operations on groups."""

import msgspec

from headway.domain.manage.groups import Group
from headway.domain.manage.tokens import Role
from headway.domain.requests.group_requests import GroupRequest
from headway.protocol.jobs import CancelBody
from headway.protocol.operation import Page, Paging, operation


class GroupOrder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The members that have not started, by id or number, in their new order."""

    order: list[str | int]


create_group = operation(
    "POST", "/api/job-groups", Role.SUBMIT, body=GroupRequest, answer=Group, status=201
)
list_groups = operation("GET", "/api/job-groups", Role.READ, query=Paging, answer=Page[Group])
get_group = operation("GET", "/api/job-groups/{id}", Role.READ, answer=Group)
cancel_group = operation(
    "POST",
    "/api/job-groups/{id}/cancel",
    Role.SUBMIT,
    body=CancelBody,
    answer=Group,
    one_at_a_time=True,
)
reorder_group = operation(
    "POST",
    "/api/job-groups/{id}/reorder",
    Role.SUBMIT,
    body=GroupOrder,
    answer=Group,
    safe_to_repeat=True,
    one_at_a_time=True,
)
