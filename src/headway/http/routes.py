"""From a method and a path to an operation, and from query parameters to its type."""

from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import unquote

import msgspec

from headway.domain import errors
from headway.operations import dispatch, filters
from headway.operations.bound import Bound
from headway.protocol.operation import Nothing, Operation


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
        self.bound: dict[str, Bound] = {}


def _grow() -> _Node:
    root = _Node()
    for operation, bound in dispatch.FUNCTIONS.items():
        node = root
        for step in operation.path.strip("/").split("/"):
            if step.startswith("{"):
                if node.parameter is None:
                    node.parameter = (step[1:-1], _Node())
                node = node.parameter[1]
            else:
                node = node.words.setdefault(step, _Node())
        node.bound[operation.method] = bound
    return root


_ROOT = _grow()


def steps(path: str) -> list[str]:
    """The steps of a path as a URL has it: a `/` inside a step is written `%2F`."""
    return [unquote(step) for step in path.strip("/").split("/")]


def find(method: str, path: str) -> tuple[Bound, dict[str, str]]:
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
    if node is None or not node.bound:
        raise errors.NotFound("page", path)
    if method not in node.bound:
        raise MethodNotAllowed(method, path, sorted(node.bound))
    return node.bound[method], values


def read_query(operation: Operation[Any, Any, Any], pairs: Mapping[str, str]) -> Any:
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
