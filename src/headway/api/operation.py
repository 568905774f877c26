"""An operation: one thing that can be asked, described once.

The same table of operations is served over HTTP, called in the same process by the command line
and the SDK when there is no server, and turned into the OpenAPI document. An operation gets a
`Call` and answers a value; it never sees HTTP.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from headway.api import targets
from headway.domain.tokens import Principal, Role
from headway.domain.values import versions
from headway.scheduler.manage import audit
from headway.scheduler.scheduler import Scheduler
from headway.storage.transaction import Manner, Transaction

Body = TypeVar("Body")
Query = TypeVar("Query")
Item = TypeVar("Item")
Value = TypeVar("Value")


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


@dataclass(frozen=True, kw_only=True)
class Call(Generic[Body, Query]):
    """What is asked, by whom."""

    scheduler: Scheduler
    principal: Principal
    body: Body
    query: Query
    path: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: str | None = None
    if_match: str | None = None
    action: str = ""
    noun: str = ""

    def change(
        self, work: Callable[[Transaction], Value], manner: Manner = Manner.ALONE
    ) -> "Future[Value]":
        """Run the work in a transaction, which also notes who changed what."""

        def noted(tx: Transaction) -> Value:
            answer = work(tx)
            what = targets.target(self.noun, self.path, self.body, answer)
            audit.note(self.scheduler, tx, self.principal, self.action, what)
            return answer

        return self.scheduler.store.write_later(noted, manner)


@dataclass(frozen=True)
class Answered:
    """A value with a status other than the operation's usual one."""

    value: Any
    status: int


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One row of the table."""

    method: str
    path: str
    role: Role
    run: Callable[[Call[Any, Any]], Any]
    body: Any
    query: Any
    answer: Any
    status: int
    also: tuple[int, ...]
    summary: str
    for_workers: bool
    """Whether `work` may ask it of the jobs that its workers run, and of their children."""
    blocking: bool
    """Whether it waits for files or the database itself: not a thing for an event loop."""

    @property
    def shows_version(self) -> bool:
        """Whether its answer carries a version."""
        return self.answer in versions.FIELDS and self.method in ("GET", "PATCH")

    @property
    def takes_version(self) -> bool:
        """Whether it can be told to change only the version that the caller read."""
        return self.answer in versions.FIELDS and self.method in ("PATCH", "DELETE")

    @property
    def noun(self) -> str:
        """What it is about."""
        return targets.noun(self.path)

    @property
    def name(self) -> str:
        """A stable name for generated clients."""
        return self.run.__name__


OPERATIONS: list[Operation] = []

Run = TypeVar("Run", bound=Callable[..., Any])


def operation(
    method: str,
    path: str,
    role: Role,
    *,
    answer: Any,
    body: Any = Nothing,
    query: Any = Nothing,
    status: int = 200,
    also: tuple[int, ...] = (),
    blocking: bool = False,
    for_workers: bool = False,
) -> Callable[[Run], Run]:
    """Put a function into the table. `also` lists other good statuses that it may answer with."""

    def register(run: Run) -> Run:
        OPERATIONS.append(
            Operation(
                method=method,
                path=path,
                role=role,
                run=run,
                body=body,
                query=query,
                answer=answer,
                status=status,
                also=also,
                summary=(run.__doc__ or "").strip(),
                for_workers=for_workers,
                blocking=blocking or method == "GET",
            )
        )
        return run

    return register


def map_future(future: "Future[Body]", change: Callable[[Body], Any]) -> "Future[Any]":
    """A future with another form of the same answer."""
    changed: Future[Any] = Future()

    def pass_on(done: "Future[Body]") -> None:
        error = done.exception()
        if error is not None:
            changed.set_exception(error)
        else:
            changed.set_result(change(done.result()))

    future.add_done_callback(pass_on)
    return changed
