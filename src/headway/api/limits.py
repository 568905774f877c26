"""Operations on limits and locks."""

from typing import Any

import msgspec

from headway.api.operation import Call, Nothing, Page, operation
from headway.domain.answers import LimitView, LockView
from headway.domain.tokens import Role
from headway.scheduler.manage import limits


class LimitBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much may be used at once, or started within a window such as `60/min`, or both."""

    size: int | None = None
    rate: str | None = None


@operation("GET", "/api/limits", Role.READ, answer=Page[LimitView])
def list_limits(call: Call[Nothing, Nothing]) -> Page[LimitView]:
    """List limits and how much of each is in use."""
    found = call.scheduler.store.read(lambda tx: limits.views(call.scheduler, tx))
    return Page(items=found)


@operation("GET", "/api/limits/{name}", Role.READ, answer=LimitView)
def get_limit(call: Call[Nothing, Nothing]) -> LimitView:
    """Get one limit."""
    return call.scheduler.store.read(lambda tx: limits.view(call.scheduler, tx, call.path["name"]))


@operation("PUT", "/api/limits/{name}", Role.ADMIN, body=LimitBody, answer=LimitView)
def put_limit(call: Call[LimitBody, Nothing]) -> Any:
    """Define or change a limit."""
    return call.change(
        lambda tx: limits.put(
            call.scheduler, tx, call.path["name"], size=call.body.size, rate=call.body.rate
        )
    )


@operation("DELETE", "/api/limits/{name}", Role.ADMIN, answer=LimitView)
def delete_limit(call: Call[Nothing, Nothing]) -> Any:
    """Remove a limit that no active job names."""
    return call.change(lambda tx: limits.remove(call.scheduler, tx, call.path["name"]))


@operation("GET", "/api/locks", Role.READ, answer=Page[LockView])
def list_locks(call: Call[Nothing, Nothing]) -> Page[LockView]:
    """List locks that are held or waited for."""
    return Page(items=call.scheduler.store.read(limits.locks))
