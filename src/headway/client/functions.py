"""Functions as jobs. A job is submitted with its params alone: the worker gives the context.

What a type checker sees: `submit` takes what the function takes after `ctx`, and `result` returns
what the function comes to, also if it is async. A direct call is that of the function itself.
"""

import functools
from collections.abc import Callable, Coroutine
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from headway.client import options
from headway.client.handles import JobHandle
from headway.client.options import JobOptions, SubmitOptions
from headway.domain import taken
from headway.domain.handlers import Handler
from headway.domain.requests.job_requests import BatchJobRequest
from headway.protocol import jobs

if TYPE_CHECKING:
    from headway.client.app import App

Params = ParamSpec("Params")
Result = TypeVar("Result")
Returned = TypeVar("Returned", covariant=True)


class JobFunction(Generic[Params, Result]):
    """A function that can be submitted; called like any function, it just runs."""

    def __init__(self, app: "App", handler: Handler, chosen: JobOptions) -> None:
        self.app = app
        self.handler = handler
        self._options = chosen
        functools.update_wrapper(self, handler.function)

    def __call__(self, *args: Params.args, **kwargs: Params.kwargs) -> Result:
        """Run the function here and now, without the scheduler."""
        return cast(Result, self.handler.function(*args, **kwargs))

    def options(self, **chosen: Unpack[SubmitOptions]) -> Self:
        """The same function with other options: `story.options(delay="5m").submit(…)`."""
        merged = cast(SubmitOptions, {**self._options, **chosen})
        return type(self)(self.app, self.handler, merged)

    def submit(self, *args: Params.args, **kwargs: Params.kwargs) -> JobHandle[Result]:
        """Submit a job; when this returns, it is on disk."""
        request = self.app.as_child(self.request(*args, **kwargs))
        job = self.app.client.send(jobs.create_job, body=request)
        return JobHandle.of(self.app.client, job, self.handler)

    async def submit_async(self, *args: Params.args, **kwargs: Params.kwargs) -> JobHandle[Result]:
        """Like `submit`, without blocking the event loop."""
        request = self.app.as_child(self.request(*args, **kwargs))
        job = await self.app.client.send_async(jobs.create_job, body=request)
        return JobHandle.of(self.app.client, job, self.handler)

    def direct(self, *args: Params.args, **kwargs: Params.kwargs) -> Result:
        """Run it in the server's next free slot, before the queue, and return its result.

        It is no job: nothing is stored, and it needs a running server.
        """
        request = self.request(*args, **kwargs)
        answer = self.app.direct(self.handler.job_type, request.params)
        return cast(Result, self.handler.restore(answer))

    async def direct_async(self, *args: Params.args, **kwargs: Params.kwargs) -> Result:
        """Like `direct`, without blocking the event loop."""
        request = self.request(*args, **kwargs)
        answer = await self.app.direct_async(self.handler.job_type, request.params)
        return cast(Result, self.handler.restore(answer))

    def submit_on(
        self, connection: Any, *args: Params.args, **kwargs: Params.kwargs
    ) -> JobHandle[Result]:
        """Submit in the transaction of a connection you own (sqlite3 or psycopg).

        The job exists exactly if you commit. On PostgreSQL, a job with a key, one that waits for
        something and the first of its kind stop all other writers until then, so commit soon; and
        they are refused in a transaction that is REPEATABLE READ or SERIALIZABLE.
        """
        job = self.app.submit_on(connection, self.request(*args, **kwargs))
        return JobHandle.of(self.app.client, job, self.handler)

    def request(self, *args: Params.args, **kwargs: Params.kwargs) -> BatchJobRequest:
        """What `submit` would ask for; params that do not fit are refused here."""
        params = self.handler.bind(*args, **kwargs)
        if later := {one.name for one in taken.found(params)}:
            self.handler.check_apart(params, later)
        else:
            self.handler.check(params)
        return options.request(self.handler.job_type, params, self._options)


class AsyncJobFunction(JobFunction[Params, Result]):
    """A function that is awaited when it is called."""

    def __call__(  # type: ignore[override]
        self, *args: Params.args, **kwargs: Params.kwargs
    ) -> Coroutine[Any, Any, Result]:
        """Run the function here and now, without the scheduler."""
        return cast(Coroutine[Any, Any, Result], super().__call__(*args, **kwargs))


class ContextJobFunction(JobFunction[Params, Result]):
    """A function that takes the context first when it is called."""

    def __call__(  # type: ignore[override]
        self, ctx: Any, *args: Params.args, **kwargs: Params.kwargs
    ) -> Result:
        """Run the function here and now, without the scheduler."""
        return cast(Result, self.handler.function(ctx, *args, **kwargs))


class AsyncContextJobFunction(JobFunction[Params, Result]):
    """A function that takes the context first when it is called, and is awaited."""

    def __call__(  # type: ignore[override]
        self, ctx: Any, *args: Params.args, **kwargs: Params.kwargs
    ) -> Coroutine[Any, Any, Result]:
        """Run the function here and now, without the scheduler."""
        return cast(Coroutine[Any, Any, Result], self.handler.function(ctx, *args, **kwargs))


_KINDS: dict[tuple[bool, bool], type[JobFunction[..., Any]]] = {
    (False, False): JobFunction,
    (False, True): AsyncJobFunction,
    (True, False): ContextJobFunction,
    (True, True): AsyncContextJobFunction,
}


def job_function(app: "App", handler: Handler, chosen: JobOptions) -> JobFunction[..., Any]:
    """The function as a job, with the call that it has."""
    return _KINDS[handler.wants_ctx, handler.is_async](app, handler, chosen)


class TakesContext(Protocol[Params, Returned]):
    """A function whose first parameter is called `ctx`."""

    def __call__(self, ctx: Any, *args: Params.args, **kwargs: Params.kwargs) -> Returned:
        """Do the work."""


class Decorator(Protocol):
    """Makes a function a job."""

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, function: TakesContext[Params, Coroutine[Any, Any, Result]], /
    ) -> AsyncContextJobFunction[Params, Result]: ...

    @overload
    def __call__(
        self, function: TakesContext[Params, Result], /
    ) -> ContextJobFunction[Params, Result]: ...

    @overload
    def __call__(
        self, function: Callable[Params, Coroutine[Any, Any, Result]], /
    ) -> AsyncJobFunction[Params, Result]: ...

    @overload
    def __call__(self, function: Callable[Params, Result], /) -> JobFunction[Params, Result]: ...
