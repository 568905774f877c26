"""The table of operations and the way from a method and a path to one of them."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any
from urllib.parse import unquote

import msgspec

from headway.api import filters, pieces
from headway.api.operation import OPERATIONS, Answered, Call, Nothing, Operation
from headway.domain import errors
from headway.domain.tokens import Principal, Role
from headway.scheduler.scheduler import Scheduler

ROOMS = (
    "jobs",
    "explain",
    "queue",
    "runs",
    "templates",
    "schedules",
    "groups",
    "webhooks",
    "reservations",
    "claims",
    "leases",
    "lease_logs",
    "workers",
    "limits",
    "artifacts",
    "graph",
    "events_list",
    "tokens",
    "audit",
)

for _room in ROOMS:
    import_module(f"headway.api.{_room}")


class MethodNotAllowed(errors.HeadwayError):
    """The path exists, but not with this method."""

    code = "method_not_allowed"
    http_status = 405
    facts = ("allowed",)

    def __init__(self, method: str, path: str, allowed: list[str]) -> None:
        super().__init__(f"{path} does not take {method}; it takes {', '.join(allowed)}")
        self.allowed = allowed


class _Node:
    """One step of a path: literal words first, then a parameter."""

    def __init__(self) -> None:
        self.words: dict[str, _Node] = {}
        self.parameter: tuple[str, _Node] | None = None
        self.operations: dict[str, Operation] = {}


def _grow() -> _Node:
    root = _Node()
    for operation in OPERATIONS:
        node = root
        for step in operation.path.strip("/").split("/"):
            if step.startswith("{"):
                if node.parameter is None:
                    node.parameter = (step[1:-1], _Node())
                node = node.parameter[1]
            else:
                node = node.words.setdefault(step, _Node())
        node.operations[operation.method] = operation
    return root


_ROOT = _grow()


def steps(path: str) -> list[str]:
    """The steps of a path as a URL has it: a `/` inside a step is written `%2F`."""
    return [unquote(step) for step in path.strip("/").split("/")]


def find(method: str, path: str) -> tuple[Operation, dict[str, str]]:
    """The operation at a path as a URL has it, and the values of the path's parameters."""
    node: _Node | None = _ROOT
    values: dict[str, str] = {}
    for step in steps(path):
        if node is None:
            break
        if step in node.words:
            node = node.words[step]
        elif node.parameter is not None and step:
            values[node.parameter[0]] = step
            node = node.parameter[1]
        else:
            node = None
    if node is None or not node.operations:
        raise errors.NotFound("page", path)
    if method not in node.operations:
        raise MethodNotAllowed(method, path, sorted(node.operations))
    return node.operations[method], values


def check_role(principal: Principal, role: Role) -> None:
    """Refuse who may not."""
    if not principal.may(role):
        raise errors.Forbidden(f"this needs the role {role}, yours is {principal.role}")


def check_operation(principal: Principal, operation: Operation) -> None:
    """Refuse who may not ask this at all; of which jobs a worker may, the operation decides."""
    if not (operation.for_workers and principal.role is Role.WORK):
        check_role(principal, operation.role)


def read_body(operation: Operation, raw: bytes) -> Any:
    """The body of an operation."""
    return decode(raw, operation.body)


def decode(raw: bytes, kind: Any) -> Any:
    """A body as a type; an empty one is an empty object."""
    try:
        return pieces.decode(raw or b"{}", kind)
    except msgspec.ValidationError as error:
        raise errors.from_validation(error) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise errors.Malformed(f"the body is not JSON that can be read: {error}") from None


def read_query(operation: Operation, pairs: Mapping[str, str]) -> Any:
    """The query parameters as the operation's type."""
    if not pairs and operation.query is Nothing:
        return Nothing()
    try:
        return msgspec.convert(_with_flags(operation.query, pairs), operation.query, strict=False)
    except msgspec.ValidationError as error:
        raise errors.from_validation(error) from None


def _with_flags(kind: Any, pairs: Mapping[str, str]) -> dict[str, str | bool]:
    flags = _flags(kind)
    return {
        name: filters.read_flag(name, text) if name in flags else text
        for name, text in pairs.items()
    }


@cache
def _flags(kind: Any) -> frozenset[str]:
    """The parameters that are true or false."""
    return frozenset(one.name for one in msgspec.structs.fields(kind) if one.type is bool)


def perform(
    scheduler: Scheduler,
    principal: Principal,
    operation: Operation,
    path: Mapping[str, str],
    body: Any,
    query: Any,
    idempotency_key: str | None = None,
    if_match: str | None = None,
) -> Any:
    """Run an operation; the answer may be a future."""
    check_operation(principal, operation)
    return operation.run(
        Call(
            scheduler=scheduler,
            principal=principal,
            body=body,
            query=query,
            path=path,
            idempotency_key=idempotency_key,
            if_match=if_match,
            action=operation.name,
            noun=operation.noun,
        )
    )


def status_and_value(operation: Operation, answer: Any) -> tuple[int, Any]:
    """What an operation answered, with its status."""
    return (
        (answer.status, answer.value)
        if isinstance(answer, Answered)
        else (operation.status, answer)
    )
