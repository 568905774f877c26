"""What an async handler sees of its run: every step and wait is awaited."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, cast, overload

from headway.domain import handlers
from headway.domain.errors import JobFailed
from headway.domain.requests.job_requests import BatchJobRequest
from headway.domain.steps import StepKind
from headway.worker.context import JobContext
from headway.worker.programs import program
from headway.worker.programs.program import Flow
from headway.worker.run_logs import RunLog

if TYPE_CHECKING:
    from headway.client.functions import JobFunction

Params = ParamSpec("Params")
Result = TypeVar("Result")


class AsyncJobContext:
    """What an async handler with a first parameter `ctx` gets.

    Steps may run at the same time (`asyncio.gather`, task groups); branches that run side by side
    need names of their own for their steps. Waits follow one another: the first that has to wait
    ends this stretch of work, and a step that is still running is run again.
    """

    __slots__ = ("_ctx",)

    def __init__(self, ctx: JobContext) -> None:
        self._ctx = ctx

    @property
    def job_id(self) -> str:
        """The job's public id."""
        return self._ctx.job_id

    @property
    def number(self) -> int:
        """The job's short number."""
        return self._ctx.number

    @property
    def run_id(self) -> str:
        """The id of this execution."""
        return self._ctx.run_id

    @property
    def attempt(self) -> int:
        """How often the job was tried before, from 0."""
        return self._ctx.attempt

    @property
    def params(self) -> dict[str, Any]:
        """The params as they were submitted."""
        return self._ctx.params

    @property
    def cancelled(self) -> bool:
        """Whether this run was asked to stop, or its time is up."""
        return self._ctx.cancelled

    @property
    def logs(self) -> RunLog:
        """The run's own log files, which are opened when something is written."""
        return self._ctx.logs

    def progress(self, fraction: float, message: str | None = None) -> None:
        """Tell how far the run is, from 0 to 1; the newest word is kept, cut if it is long."""
        self._ctx.progress(fraction, message)

    def log(self, text: str) -> None:
        """Write a line to the run's stdout log."""
        self._ctx.log(text)

    @overload
    def step(
        self,
        function: Callable[Params, Coroutine[Any, Any, Result]],
        /,
        *args: Params.args,
        **kwargs: Params.kwargs,
    ) -> Coroutine[Any, Any, Result]: ...

    @overload
    def step(
        self,
        function: Callable[Params, Result],
        /,
        *args: Params.args,
        **kwargs: Params.kwargs,
    ) -> Coroutine[Any, Any, Result]: ...

    @overload
    def step(  # type: ignore[overload-cannot-match]
        self,
        function: Callable[..., Coroutine[Any, Any, Result]],
        /,
        *args: Any,
        name: str,
        retries: int = 0,
        **kwargs: Any,
    ) -> Coroutine[Any, Any, Result]: ...

    @overload
    def step(  # type: ignore[overload-cannot-match]
        self,
        function: Callable[..., Result],
        /,
        *args: Any,
        name: str,
        retries: int = 0,
        **kwargs: Any,
    ) -> Coroutine[Any, Any, Result]: ...

    @overload
    def step(  # type: ignore[overload-cannot-match]
        self,
        function: Callable[..., Coroutine[Any, Any, Result]],
        /,
        *args: Any,
        retries: int,
        **kwargs: Any,
    ) -> Coroutine[Any, Any, Result]: ...

    @overload
    def step(  # type: ignore[overload-cannot-match]
        self,
        function: Callable[..., Result],
        /,
        *args: Any,
        retries: int,
        **kwargs: Any,
    ) -> Coroutine[Any, Any, Result]: ...

    def step(  # type: ignore[misc]
        self,
        function: Callable[..., Any],
        /,
        *args: Any,
        name: str | None = None,
        retries: int = 0,
        **kwargs: Any,
    ) -> Coroutine[Any, Any, Any]:
        """Like `JobContext.step`. A plain function runs in a thread, an async one is awaited.

        The place in the journal is taken by the call, so that steps which run at the same time
        keep the order in which they were called.
        """
        going = self._ctx.program
        place = going.next(StepKind.STEP, program.name_of(function, name))
        call = partial(function, *args, **kwargs)
        if not program.is_async(function):
            call = partial(asyncio.to_thread, call)
        return _drive(going.step(place, call, handlers.returned_by(function), retries))

    def step_on(
        self,
        connection: Any,
        function: Callable[..., Result],
        /,
        *args: Any,
        name: str | None = None,
        **kwargs: Any,
    ) -> Coroutine[Any, Any, Result]:
        """Like `JobContext.step_on`, on the thread of the loop: a connection may belong to it."""
        going = self._ctx.program
        place = going.next(StepKind.STEP, program.name_of(function, name))
        call = partial(function, *args, **kwargs)
        returns = handlers.returned_by(function)
        return _drive(going.step_on(place, call, returns, connection, self._ctx.app))

    def sleep(self, span: str | float | timedelta | datetime) -> Coroutine[Any, Any, None]:
        """Give the slot back for a span of time ("3d", seconds) or until a moment."""
        going = self._ctx.program
        return _drive(going.sleep(going.next(StepKind.SLEEP, StepKind.SLEEP.value), span))

    def wait_for(
        self, name: str, timeout: str | float | timedelta | None = None
    ) -> Coroutine[Any, Any, Any]:
        """Like `JobContext.wait_for`."""
        going = self._ctx.program
        return _drive(going.wait_for(going.next(StepKind.SIGNAL, name), timeout))

    async def call(
        self, job: "JobFunction[Params, Result]", /, *args: Params.args, **kwargs: Params.kwargs
    ) -> Result:
        """Like `JobContext.call`."""
        going = self._ctx.program
        place = going.next(StepKind.CHILDREN, job.handler.job_type)
        ends = await _drive(going.children(place, [job.request(*args, **kwargs)]))
        return cast(Result, program.results(ends, [job.handler], return_exceptions=False)[0])

    @overload
    async def map(
        self,
        job: "JobFunction[..., Result]",
        params: Sequence[Mapping[str, Any]],
        *,
        name: str | None = None,
        return_exceptions: Literal[False] = False,
    ) -> list[Result]: ...

    @overload
    async def map(
        self,
        job: "JobFunction[..., Result]",
        params: Sequence[Mapping[str, Any]],
        *,
        name: str | None = None,
        return_exceptions: bool,
    ) -> list[Result | JobFailed]: ...

    async def map(
        self,
        job: "JobFunction[..., Any]",
        params: Sequence[Mapping[str, Any]],
        *,
        name: str | None = None,
        return_exceptions: bool = False,
    ) -> list[Any]:
        """Like `JobContext.map`."""
        going = self._ctx.program
        place = going.next(StepKind.CHILDREN, name or job.handler.job_type)
        requests = [job.request(**one) for one in params]
        ends = await _drive(going.children(place, requests))
        return program.results(ends, [job.handler] * len(ends), return_exceptions=return_exceptions)

    async def gather(
        self,
        *requests: BatchJobRequest,
        name: str | None = None,
        return_exceptions: bool = False,
    ) -> list[Any]:
        """Like `JobContext.gather`."""
        going = self._ctx.program
        ends = await _drive(
            going.children(going.next(StepKind.CHILDREN, name or "gather"), requests)
        )
        return program.results(
            ends, self._ctx.handlers_of(requests), return_exceptions=return_exceptions
        )


async def _drive(flow: Flow[Result]) -> Result:
    """Go through a flow without blocking the event loop."""
    try:
        wanted = next(flow)
        while True:
            try:
                got = await _got(wanted)
            except BaseException as error:
                wanted = flow.throw(error)
            else:
                wanted = flow.send(got)
    except StopIteration as end:
        result: Result = end.value
        return result


async def _got(wanted: "Future[Any] | program.Call") -> Any:
    if isinstance(wanted, Future):
        return await asyncio.wrap_future(wanted)
    got = wanted()
    return await got if isinstance(got, Coroutine) else got
