"""Functions bound to the operations of the protocol, each with the transaction that it is given."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar, overload

from headway.domain.manage.tokens import Principal
from headway.operations import targets
from headway.protocol.operation import Opens, Operation
from headway.scheduler.manage import audit
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.store import Store
from headway.storage.engine.transaction import Transaction

Body = TypeVar("Body")
Query = TypeVar("Query")
Answer = TypeVar("Answer")
Value = TypeVar("Value")
Prepared = TypeVar("Prepared")
Shown = TypeVar("Shown", covariant=True)

WRITES: Mapping[Opens, Callable[[Store, Callable[[Transaction], Any]], "Future[Any]"]] = {
    Opens.WRITE: Store.write_later,
    Opens.WRITE_BESIDE: Store.write_beside_later,
    Opens.WRITE_APART: Store.write_apart_later,
}


@dataclass(frozen=True, kw_only=True)
class Call(Generic[Body, Query]):
    """A call: the request and its caller."""

    scheduler: Scheduler
    principal: Principal
    body: Body
    query: Query
    path: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: str | None = None
    if_match: str | None = None


@dataclass(frozen=True)
class Answered(Generic[Shown]):
    """A value with a status other than the operation's usual one."""

    value: Shown
    status: int


@dataclass(frozen=True, eq=False)
class Bound:
    """An operation and the function that does it."""

    operation: Operation[Any, Any, Any]
    run: Callable[..., Any]
    perform: Callable[[Call[Any, Any]], Any]
    """Runs the function in its transaction; returns its answer or a future of it."""

    @cached_property
    def name(self) -> str:
        """A stable name, for the audit log and for generated clients."""
        return self.run.__name__

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return (self.run.__doc__ or "").strip()


BOUND: dict[Operation[Any, Any, Any], Bound] = {}
"""Every operation that has a function, in the order of the functions."""

Handler = Callable[[Call[Body, Query], Transaction], Answer | Answered[Answer]]
PreparedHandler = Callable[[Call[Body, Query], Transaction, Prepared], Answer | Answered[Answer]]


@overload
def serves(
    operation: Operation[Body, Query, Answer],
) -> Callable[[Handler[Body, Query, Answer]], Handler[Body, Query, Answer]]: ...


@overload
def serves(
    operation: Operation[Body, Query, Answer], prepare: Callable[[Call[Body, Query]], Prepared]
) -> Callable[
    [PreparedHandler[Body, Query, Prepared, Answer]],
    PreparedHandler[Body, Query, Prepared, Answer],
]: ...


def serves(
    operation: Operation[Any, Any, Any], prepare: Callable[[Call[Any, Any]], Any] | None = None
) -> Callable[[Any], Any]:
    """Bind a function that is given the operation's transaction.

    What `prepare` returns is given too: it does what is expensive before the transaction begins.
    """

    def bind(run: Callable[..., Any]) -> Callable[..., Any]:
        begin = _read if operation.opens is Opens.READ else _write
        if not (operation.opens is Opens.READ or operation.opens.writes):
            raise TypeError(f"{run.__name__} is given no transaction")

        def perform(call: Call[Any, Any]) -> Any:
            given = () if prepare is None else (prepare(call),)
            return begin(bound, call, lambda tx: run(call, tx, *given))

        bound = BOUND[operation] = Bound(operation, run, perform)
        return run

    return bind


Later = Callable[[Call[Body, Query]], Future[Answered[Answer]]]


def serves_later(
    operation: Operation[Body, Query, Answer],
) -> Callable[[Later[Body, Query, Answer]], Later[Body, Query, Answer]]:
    """Bind a function that hands its work to the writer itself, to share statements with others."""

    def bind(run: Later[Body, Query, Answer]) -> Later[Body, Query, Answer]:
        _bind_as_it_is(operation, run, Opens.LATER)
        return run

    return bind


Blocking = Callable[[Call[Body, Query]], Answer]


def serves_blocking(
    operation: Operation[Body, Query, Answer],
) -> Callable[[Blocking[Body, Query, Answer]], Blocking[Body, Query, Answer]]:
    """Bind a function that opens transactions and files itself; it never runs on an event loop."""

    def bind(run: Blocking[Body, Query, Answer]) -> Blocking[Body, Query, Answer]:
        _bind_as_it_is(operation, run, Opens.BLOCKING)
        return run

    return bind


def _bind_as_it_is(
    operation: Operation[Any, Any, Any], run: Callable[[Call[Any, Any]], Any], opens: Opens
) -> None:
    if operation.opens is not opens:
        raise TypeError(f"{run.__name__} is given a transaction")
    BOUND[operation] = Bound(operation, run, run)


def _read(_: Bound, call: Call[Any, Any], work: Callable[[Transaction], Value]) -> Value:
    return call.scheduler.store.read(work)


def _write(
    bound: Bound, call: Call[Any, Any], work: Callable[[Transaction], Value]
) -> "Future[Value]":
    """Run the work in a transaction, which also notes who changed what."""

    def noted(tx: Transaction) -> Value:
        answer = work(tx)
        what = targets.target(bound.operation.path, call.path, call.body, answer)
        audit.note(call.scheduler, tx, call.principal, bound.name, what)
        return answer

    write = WRITES[bound.operation.opens]
    return write(call.scheduler.store, noted if bound.operation.noted else work)


def map_future(future: "Future[Value]", change: Callable[[Value], Shown]) -> "Future[Shown]":
    """A future with another form of the same answer."""
    changed: Future[Shown] = Future()

    def pass_on(done: "Future[Value]") -> None:
        error = done.exception()
        if error is not None:
            changed.set_exception(error)
        else:
            changed.set_result(change(done.result()))

    future.add_done_callback(pass_on)
    return changed
