"""One call as a value."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec

from headway.domain import errors

Answer = TypeVar("Answer")

JobRef = int | str
REFERENCE = re.compile(r"\s*[0-9A-Fa-f-]+\s*")


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
    takes_its_time: bool = False
    """The answer takes as long as the work does."""


def step(value: object) -> str:
    """A value as one step of a path; an empty one would be another path."""
    if value == "":
        raise errors.InvalidRequest("", "a name, number or id is empty; say which one is meant")
    return quote(str(value), safe="")


def job_step(job: JobRef) -> str:
    """A job as one step of a path; what is neither number nor id may be another path there."""
    if job != "" and not REFERENCE.fullmatch(str(job)):
        raise errors.NotFound("job", repr(job))
    return step(job)


def words(query: msgspec.Struct | None) -> dict[str, Any]:
    """The query parameters that were given."""
    if query is None:
        return {}
    given = {name: getattr(query, name) for name in query.__struct_fields__}
    return {name: value for name, value in given.items() if value is not None}
