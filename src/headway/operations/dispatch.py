"""From an operation to the function that does it, for callers who may ask for it."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from headway.domain import errors
from headway.domain.manage.tokens import Principal, Role
from headway.operations.bound import BOUND, Answered, Bound, Call
from headway.protocol.operation import Operation
from headway.scheduler.scheduler import Scheduler

AREAS = (
    "jobs",
    "actions",
    "explain",
    "queue",
    "runs",
    "manage.templates",
    "manage.schedules",
    "manage.groups",
    "manage.webhooks",
    "manage.reservations",
    "work.claims",
    "work.leases",
    "work.programs",
    "work.lease_logs",
    "work.workers",
    "manage.limits",
    "manage.artifacts",
    "graph",
    "events_list",
    "manage.tokens",
    "manage.audit",
)

for _area in AREAS:
    import_module(f"headway.operations.{_area}")

FUNCTIONS: Mapping[Operation[Any, Any, Any], Bound] = BOUND
"""The function of every operation; those without one are served by a server alone."""


def check_role(principal: Principal, role: Role) -> None:
    """Refuse callers whose role is too low."""
    if not principal.may(role):
        raise errors.Forbidden(f"this needs the role {role}, yours is {principal.role}")


def check_operation(principal: Principal, operation: Operation[Any, Any, Any]) -> None:
    """Refuse callers who may not ask this at all; a worker may ask it of some jobs."""
    if not (operation.for_workers and principal.role is Role.WORK):
        check_role(principal, operation.role)


def perform(
    scheduler: Scheduler,
    principal: Principal,
    bound: Bound,
    path: Mapping[str, str],
    body: Any,
    query: Any,
    idempotency_key: str | None = None,
    if_match: str | None = None,
) -> Any:
    """Run an operation; the answer may be a future."""
    check_operation(principal, bound.operation)
    return bound.perform(
        Call(
            scheduler=scheduler,
            principal=principal,
            body=body,
            query=query,
            path=path,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )
    )


def status_and_value(operation: Operation[Any, Any, Any], answer: Any) -> tuple[int, Any]:
    """What an operation returned, with its status."""
    return (
        (answer.status, answer.value)
        if isinstance(answer, Answered)
        else (operation.status, answer)
    )


def find(operation: Operation[Any, Any, Any]) -> Bound:
    """The function of an operation; without one, only a server does it."""
    bound = FUNCTIONS.get(operation)
    if bound is None:
        raise errors.NeedsServer()
    return bound
