"""A run's way through the journal of its job.

What happens is written once, as generators: they yield what has to be waited for, a future or a
call of the user's function. A handler in a thread waits (`drive`), one on an event loop awaits.
"""

import functools
import inspect
import logging
import threading
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec

from headway.domain import errors, states, steps
from headway.domain.handlers import Handler
from headway.domain.requests import job_requests
from headway.domain.requests.job_requests import BatchJobRequest
from headway.domain.signals import Fail, LeaseLost, Skip, Suspended
from headway.domain.steps import ChildEnd, Step, StepKind, Wait
from headway.domain.values import durations, json_types
from headway.protocol.work_values import StepAnswer, StepReport
from headway.worker.programs.journal import Journal

if TYPE_CHECKING:
    from concurrent.futures import Future

    from headway.client.app import App

RESULT_LIMIT = 1024 * 1024

Result = TypeVar("Result")
Call: TypeAlias = Callable[[], Any]
Flow: TypeAlias = Generator["Future[Any] | Call", Any, Result]
Save: TypeAlias = Callable[[StepReport], "Future[StepAnswer] | Call"]

_LOST = (errors.LeaseEnded, errors.ForeignLease, errors.NotFound, errors.Unavailable)
"""Refusals after which nothing of the run can be stored; a scheduler that is away is asked again
for as long as the lease holds."""

log = logging.getLogger("headway.steps")


class Place(msgspec.Struct, frozen=True):
    """Where in the journal an entry belongs: `index` counts the uses of its kind and name."""

    kind: StepKind
    name: str
    index: int


class Program:
    """One run. The journal is missing where nothing is stored: in a direct request."""

    def __init__(self, run_id: str, known: Sequence[Step] | None, journal: Journal | None) -> None:
        self._run_id = run_id
        self._journal = journal
        self._known = None if known is None else _by_place(known)
        self._counting = threading.Lock()
        self._used: Counter[tuple[StepKind, str]] = Counter()
        self._lost: LeaseLost | None = None
        self.wait: Wait | None = None
        """What the run was suspended for."""

    def next(self, kind: StepKind, name: str) -> Place:
        """The place of the next entry of this kind and name."""
        job_requests.check_name("name", name)
        with self._counting:
            place = Place(kind, name, self._used[kind, name])
            self._used[kind, name] += 1
        return place

    def step(
        self, place: Place, call: Call, returns: Any, retries: int, save: Save | None = None
    ) -> Flow[Any]:
        """Run a function once in the life of the job, and return its stored result."""
        if retries < 0:
            raise errors.InvalidRequest("retries", f"{retries} is less than 0")
        found = yield from self._found(place)
        if found is not None:
            return _restored(found.result, returns, place.name)
        started_at = self._journal.now() if self._journal else None
        value = yield from _tried(call, place, retries)
        result = json_types.stored(f"the result of step {place.name!r}", value, RESULT_LIMIT)
        if self._journal is not None:
            report = StepReport(
                lease_id=self._run_id,
                name=place.name,
                index=place.index,
                result=result,
                started_at=started_at,
            )
            answer: StepAnswer = yield from self._asked((save or self._journal.record)(report))
            if answer.error is not None:
                raise self._judged(answer.error)
        return _restored(result, returns, place.name)

    def step_on(
        self, place: Place, call: Call, returns: Any, connection: Any, app: "App | None"
    ) -> Flow[Any]:
        """A step that is committed on a connection of the caller, with what it wrote there."""
        if app is None:
            raise errors.InvalidRequest("connection", "this worker does not know its app")

        def begun() -> Any:
            _begin(connection)
            return call()

        def save(report: StepReport) -> Call:
            return functools.partial(app.record_step_on, connection, report)

        try:
            return (yield from self.step(place, begun, returns, 0, save))
        except BaseException:
            connection.rollback()
            raise

    def sleep(self, place: Place, span: str | float | timedelta | datetime) -> Flow[None]:
        """Give the slot back until a moment, or for a span of time."""
        until = span if isinstance(span, datetime) else None
        job_requests.check_moment("until", until)
        delay_s = None if isinstance(span, datetime) else seconds(span)
        if (yield from self._found(place)) is not None or delay_s == 0:
            return
        if until is None or until > self._keeper().now():
            self._suspend(place, until=until, delay_s=delay_s)

    def wait_for(self, place: Place, timeout: str | float | timedelta | None) -> Flow[Any]:
        """Give the slot back until a signal comes; one that has come is taken."""
        delay_s = None if timeout is None else seconds(timeout)
        found = yield from self._found(place)
        if found is None:
            found = yield from self._asked(
                self._keeper().take_signal(self._run_id, place.name, place.index)
            )
        if found is None:
            self._suspend(place, delay_s=delay_s)
        elif found.timed_out:
            raise errors.SignalTimeout(place.name)
        else:
            return found.result

    def children(self, place: Place, requests: Sequence[BatchJobRequest]) -> Flow[list[ChildEnd]]:
        """Give the slot back until these jobs have ended, and return how, in order."""
        found = yield from self._found(place)
        if found is not None:
            return msgspec.convert(found.result, list[ChildEnd])
        if len(requests) > steps.MOST_CHILDREN:
            raise errors.InvalidRequest(
                "children", f"{len(requests)} jobs; one wait makes at most {steps.MOST_CHILDREN}"
            )
        if requests:
            self._suspend(place, children=tuple(requests))
        return []

    def _found(self, place: Place) -> Flow[Step | None]:
        """The entry of this place, if the journal holds it."""
        if self._lost is not None:
            raise LeaseLost(*self._lost.args)
        if self.wait is not None:
            raise Suspended(self.wait)
        if self._journal is None:
            return None
        if self._known is None:
            self._known = _by_place((yield from self._asked(self._journal.read(self._run_id))))
        return self._known.get(place)

    def _keeper(self) -> Journal:
        if self._journal is None:
            raise errors.InvalidRequest("", "a direct request is no job and cannot wait; submit it")
        return self._journal

    def _suspend(
        self,
        place: Place,
        *,
        until: datetime | None = None,
        delay_s: float | None = None,
        children: tuple[BatchJobRequest, ...] = (),
    ) -> None:
        self._keeper()
        self.wait = Wait(
            kind=place.kind,
            name=place.name,
            index=place.index,
            until=until,
            delay_s=delay_s,
            children=children,
        )
        raise Suspended(self.wait)

    def _asked(self, question: "Future[Result] | Call") -> Flow[Result]:
        """The answer of the journal; without the lease there is none, and no going on."""
        try:
            answer: Result = yield question
        except errors.HeadwayError as error:
            raise self._judged(error) from None
        return answer

    def _judged(self, error: errors.HeadwayError) -> BaseException:
        if isinstance(error, _LOST):
            self._lost = LeaseLost(str(error))
            return self._lost
        return error


def drive(flow: Flow[Result], wait: "Callable[[Future[Any]], Any]") -> Result:
    """Go through a flow in the thread of a handler."""
    try:
        wanted = next(flow)
        while True:
            try:
                got = wanted() if callable(wanted) else wait(wanted)
            except BaseException as error:
                wanted = flow.throw(error)
            else:
                wanted = flow.send(got)
    except StopIteration as end:
        result: Result = end.value
        return result


def name_of(function: Callable[..., Any], name: str | None) -> str:
    """The name of a step: as given, otherwise that of its function."""
    plain = function.func if isinstance(function, functools.partial) else function
    found: str | None = name or getattr(plain, "__name__", None)
    if found is None:
        raise TypeError(f"{function!r} has no name: give the step one with name=…")
    return found


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call of this has to be awaited."""
    return any(
        map(
            inspect.iscoroutinefunction,
            (function, inspect.unwrap(function), type(function).__call__),
        )
    )


def results(
    ends: Sequence[ChildEnd], restoring: Sequence[Handler | None], *, return_exceptions: bool
) -> list[Any]:
    """What children returned, each as its handler declares it, or the failure of the first."""
    return [
        _result(end, handler, return_exceptions)
        for end, handler in zip(ends, restoring, strict=False)
    ]


def seconds(span: str | float | timedelta) -> float:
    """A span of time as it is sent."""
    found = durations.parse(span.total_seconds() if isinstance(span, timedelta) else span)
    job_requests.check_seconds("span", found)
    return found


def _tried(call: Call, place: Place, retries: int) -> Flow[Any]:
    """What the function returns, at once again if it raises and may be tried again."""
    for left in range(retries, -1, -1):
        try:
            return (yield call)
        except (Skip, Fail):
            raise
        except Exception as error:
            if not left:
                raise
            log.warning("step %r is tried again, %d times at most: %r", place.name, left, error)


def _begin(connection: Any) -> None:
    """Open a transaction where each statement would be committed by itself."""
    if getattr(connection, "in_transaction", None) is False:  # sqlite3
        connection.execute("BEGIN IMMEDIATE")
    elif getattr(connection, "autocommit", False) is True:  # psycopg
        connection.execute("BEGIN")


def _restored(result: Any, returns: Any, name: str) -> Any:
    if result is None or returns is Any:
        return result
    try:
        return json_types.restore(result, returns)
    except msgspec.ValidationError as error:
        raise errors.InvalidResult(name, str(error)) from None


def _result(end: ChildEnd, handler: Handler | None, return_exceptions: bool) -> Any:
    if end.status in states.SUCCESS:
        return end.result if handler is None else handler.restore(end.result)
    failure = errors.JobFailed(end.number, end.status, end.error)
    if return_exceptions:
        return failure
    raise failure


def _by_place(journal: Sequence[Step]) -> dict[Place, Step]:
    """Entries that are over; one that is still waited for says nothing yet."""
    return {
        Place(step.kind, step.name, step.index): step
        for step in journal
        if step.finished_at is not None
    }
