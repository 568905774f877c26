"""Operations on limits and locks."""

import msgspec

from headway.domain.answers import LimitView, LockView
from headway.domain.manage.tokens import Role
from headway.protocol.operation import Page, operation


class LimitBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much may be used at once, or started within a window such as `60/min`, or both."""

    size: int | None = None
    rate: str | None = None


list_limits = operation("GET", "/api/limits", Role.READ, answer=Page[LimitView])
get_limit = operation("GET", "/api/limits/{name}", Role.READ, answer=LimitView)
put_limit = operation("PUT", "/api/limits/{name}", Role.ADMIN, body=LimitBody, answer=LimitView)
delete_limit = operation("DELETE", "/api/limits/{name}", Role.ADMIN, answer=LimitView)
list_locks = operation("GET", "/api/locks", Role.READ, answer=Page[LockView])
