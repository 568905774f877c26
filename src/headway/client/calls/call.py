"""One call as a value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec

Answer = TypeVar("Answer")

JobRef = int | str


@dataclass(frozen=True)
class Call(Generic[Answer]):
    """One call: what to ask, and the type of the answer."""

    method: str
    path: str
    answer: Any
    body: Any = None
    query: Mapping[str, Any] = field(default_factory=dict)
    safe_to_repeat: bool = True
    needs_server: bool = False
    """Only a server can answer, and it takes as long as the work does."""


def step(value: object) -> str:
    """A value as one step of a path."""
    return quote(str(value), safe="")


def words(query: msgspec.Struct | None) -> dict[str, Any]:
    """The query parameters that were given."""
    if query is None:
        return {}
    given = {name: getattr(query, name) for name in query.__struct_fields__}
    return {name: value for name, value in given.items() if value is not None}
