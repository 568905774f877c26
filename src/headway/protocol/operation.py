"""An operation as a value: what is asked and where, who may ask it, what it takes and returns.

Handlers are bound to these values, and clients send them: in the same process by calling the bound
function, over HTTP by the method and the path.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Generic, TypedDict, TypeVar, Unpack, overload
from urllib.parse import quote

import msgspec

from headway.domain import errors
from headway.domain.manage.tokens import Role
from headway.domain.values import versions

Body = TypeVar("Body")
Query = TypeVar("Query")
Answer = TypeVar("Answer")
Item = TypeVar("Item")

JobRef = int | str
"""A job by its number or id."""

MOST_ON_A_PAGE = 200
OF_A_JOB = "/api/jobs/{id}"
ID = "id"
REFERENCE = re.compile(r"\s*[0-9A-Fa-f-]+\s*")


class Page(msgspec.Struct, Generic[Item], frozen=True, kw_only=True):
    """One page of a list; `next_cursor` fetches the next page. Large items end a page early."""

    items: list[Item]
    next_cursor: str | None = None


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No body, or no query parameters."""


class Paging(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of a list, and from where."""

    limit: int = 50
    cursor: str | None = None


class Opens(Enum):
    """Which transaction an operation is given."""

    READ = "read"
    WRITE = "write"
    WRITE_BESIDE = "write beside others"
    WRITE_APART = "write with the writer of claims"
    LATER = "none: its handler joins a batch of the writer and returns a future"
    BLOCKING = "none: its handler opens transactions and files itself, and blocks"

    @property
    def writes(self) -> bool:
        """Whether it is one write transaction."""
        return self in (Opens.WRITE, Opens.WRITE_BESIDE, Opens.WRITE_APART)


@dataclass(frozen=True, eq=False, kw_only=True)
class Operation(Generic[Body, Query, Answer]):
    """One thing that can be asked."""

    method: str
    path: str
    role: Role
    body: type[Body]
    query: type[Query]
    answer: type[Answer]
    opens: Opens
    safe_to_repeat: bool
    """Whether asking twice does no more than asking once."""
    status: int = 200
    also: tuple[int, ...] = ()
    """Other good statuses that it may return."""
    for_workers: bool = False
    """Whether `work` may ask it of the jobs that its workers run, and of their children."""
    noted: bool = True
    """Whether its write is noted in the audit log; runs and leases tell what workers write."""
    needs_server: bool = False
    one_at_a_time: bool = False
    """Whether one request may change thousands of jobs: then a server does one at a time."""
    takes_its_time: bool = False
    """Whether the answer takes as long as the work does."""

    @property
    def blocking(self) -> bool:
        """Whether it waits for files or the database itself: not a thing for an event loop."""
        return self.method == "GET" or self.opens is Opens.BLOCKING

    @cached_property
    def shows_version(self) -> bool:
        """Whether its answer carries a version."""
        return self.answer in versions.FIELDS and self.method in ("GET", "PATCH")

    @cached_property
    def takes_version(self) -> bool:
        """Whether it accepts a precondition: change only the version that the caller read."""
        return self.answer in versions.FIELDS and self.method in ("PATCH", "DELETE")

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters in the path."""
        return tuple(step[1:-1] for step in self.path.split("/") if step.startswith("{"))

    def request(
        self, body: Body | None, query: Query | None, path: Mapping[str, JobRef]
    ) -> "Request[Answer]":
        """One request for it; what names nothing is refused here."""
        if path.keys() != set(self.parameters):
            raise TypeError(f"{self.method} {self.path} takes {', '.join(self.parameters)}")
        values = {name: self._value(name, path[name]) for name in self.parameters}
        return Request(operation=self, path=values, body=self._declared(body), query=query)

    def _declared(self, body: Body | None) -> Body | None:
        """A body that says more than is taken, as what is: a single submit takes no `ref`."""
        if body is None or type(body) is self.body or not isinstance(body, self.body):
            return body
        kind: Any = self.body
        declared: Body = kind(**{name: getattr(body, name) for name in kind.__struct_fields__})
        return declared

    def _value(self, name: str, given: JobRef) -> str:
        """A value of the path as text; what is no job may be another path in its place."""
        text = str(given)
        if not text:
            raise errors.InvalidRequest("", "a name, number or id is empty; say which one is meant")
        if name == ID and self.path.startswith(OF_A_JOB) and not REFERENCE.fullmatch(text):
            raise errors.NotFound("job", repr(given))
        return text

    def target(self, path: Mapping[str, str]) -> str:
        """The path as a URL has it, with its values in their places."""
        return self.path.format_map({name: quote(text, safe="") for name, text in path.items()})


@dataclass(frozen=True, kw_only=True)
class Request(Generic[Answer]):
    """An operation that is asked, with all that it takes."""

    operation: Operation[Any, Any, Answer]
    path: Mapping[str, str]
    body: Any = None
    query: Any = None


class Details(TypedDict, total=False):
    """What most operations leave as it is."""

    opens: Opens
    safe_to_repeat: bool
    status: int
    also: tuple[int, ...]
    for_workers: bool
    noted: bool
    needs_server: bool
    one_at_a_time: bool
    takes_its_time: bool


@overload
def operation(
    method: str, path: str, role: Role, *, answer: type[Answer], **details: Unpack[Details]
) -> Operation[Nothing, Nothing, Answer]: ...


@overload
def operation(
    method: str,
    path: str,
    role: Role,
    *,
    body: type[Body],
    answer: type[Answer],
    **details: Unpack[Details],
) -> Operation[Body, Nothing, Answer]: ...


@overload
def operation(
    method: str,
    path: str,
    role: Role,
    *,
    query: type[Query],
    answer: type[Answer],
    **details: Unpack[Details],
) -> Operation[Nothing, Query, Answer]: ...


def operation(
    method: str,
    path: str,
    role: Role,
    *,
    body: Any = Nothing,
    query: Any = Nothing,
    answer: Any,
    **details: Unpack[Details],
) -> Operation[Any, Any, Any]:
    """An operation. A GET reads, everything else writes, unless it says otherwise."""
    details.setdefault("opens", Opens.READ if method == "GET" else Opens.WRITE)
    details.setdefault("safe_to_repeat", method in ("GET", "PUT", "PATCH"))
    return Operation(
        method=method, path=path, role=role, body=body, query=query, answer=answer, **details
    )
