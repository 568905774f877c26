"""The app: functions become jobs.

>>> app = headway.App()
>>> @app.job(retries=3, timeout="10m")
... def story(genre: str, length: int = 1200) -> str: ...
>>> story.submit(genre="horror").result(timeout=60)
"""

import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Literal, ParamSpec, TypeVar, Unpack, overload

import msgspec

from headway import settings as settings_module
from headway.client import options, parents, schedules
from headway.client.client import Client
from headway.client.functions import (
    AsyncContextJobFunction,
    AsyncJobFunction,
    ContextJobFunction,
    Decorator,
    JobFunction,
    TakesContext,
    job_function,
)
from headway.client.handles import JobHandle
from headway.client.options import Exceptions, HandlerOptions, SubmitOptions
from headway.client.pipelines import Pipeline, handles
from headway.domain import errors
from headway.domain.handlers import Around, Handler
from headway.domain.jobs import Job
from headway.domain.manage.code_schedules import Timing
from headway.domain.manage.reservations import WAIT_TIMEOUT_S
from headway.domain.requests import job_requests
from headway.domain.requests.job_requests import BatchJobRequest, DirectBody
from headway.domain.values import json_types
from headway.protocol import direct, jobs
from headway.protocol.jobs import Batch
from headway.protocol.operation import JobRef, Operation
from headway.protocol.work_values import StepAnswer, StepReport
from headway.settings import Settings

Params = ParamSpec("Params")
Result = TypeVar("Result")
Body = TypeVar("Body")
Query = TypeVar("Query")
Answer = TypeVar("Answer")
Hook = TypeVar("Hook", bound=Callable[..., Any])


class App:
    """The jobs of a program, and its scheduler: `./.headway`, or a server by URL."""

    def __init__(
        self,
        *,
        url: str | None = None,
        token: str | None = None,
        data: str | None = None,
        db: str | None = None,
        settings: Settings | None = None,
    ) -> None:
        self._given = {"url": url, "token": token, "data": data, "db": db}
        self._settings = settings
        self._client: Client | None = None
        self._is_at_work = False
        self.handlers: dict[str, Handler] = {}
        self.prepares: dict[str, Callable[[], Any]] = {}
        self.defaults: dict[str, dict[str, Any]] = {}
        self.arounds: list[Around] = []
        self.startups: list[Callable[[], Any]] = []
        self.shutdowns: list[Callable[[], Any]] = []
        self.schedules: dict[str, tuple[Timing, ...]] = {}

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        if self._settings is None:
            self._settings = settings_module.load(self._given)
        return self._settings

    def work_for(self, settings: Settings) -> None:
        """This process runs the app's jobs with these settings.

        Unless the app was made with others, what its handlers submit goes to the same scheduler, as
        children of the jobs that they run for.
        """
        given = {name for name, value in self._given.items() if value is not None}
        if self._settings is None and not given:
            self._settings = settings
        self._is_at_work = not given or self._given["url"] == settings.url

    def as_child(self, request: BatchJobRequest) -> BatchJobRequest:
        """The request, as that of a child if a handler of this app submits it."""
        parent = parents.current() if self._is_at_work else None
        if parent is None or request.parent_id is not None:
            return request
        return msgspec.structs.replace(request, parent_id=parent)

    @property
    def client(self) -> Client:
        """The way to the scheduler, opened when it is first needed."""
        if self._client is None:
            from headway import wiring

            self._client = wiring.connect(self.settings, self)
        return self._client

    @client.setter
    def client(self, client: Client) -> None:
        self._client = client

    def close(self) -> None:
        """Let go of the database or the connections; they are opened again when needed."""
        if self._client is not None:
            self._client.close()
            self._client = None

    async def close_async(self) -> None:
        """Like `close`, without blocking the event loop."""
        if self._client is not None:
            await self._client.close_async()
            self._client = None

    @overload
    def job(  # type: ignore[overload-overlap]
        self, function: TakesContext[Params, Coroutine[Any, Any, Result]], /
    ) -> AsyncContextJobFunction[Params, Result]: ...

    @overload
    def job(
        self, function: TakesContext[Params, Result], /
    ) -> ContextJobFunction[Params, Result]: ...

    @overload
    def job(
        self, function: Callable[Params, Coroutine[Any, Any, Result]], /
    ) -> AsyncJobFunction[Params, Result]: ...

    @overload
    def job(self, function: Callable[Params, Result], /) -> JobFunction[Params, Result]: ...

    @overload
    def job(
        self,
        *,
        name: str | None = None,
        isolation: Literal["thread", "process"] = "thread",
        prepare: Callable[[], Any] | None = None,
        retry_on: Exceptions | None = None,
        give_up_on: Exceptions = (),
        cron: str | Sequence[str] = (),
        every: float | str | Sequence[float | str] = (),
        timezone: str = "UTC",
        **chosen: Unpack[HandlerOptions],
    ) -> Decorator: ...

    def job(
        self,
        function: Callable[..., Any] | None = None,
        *,
        name: str | None = None,
        isolation: Literal["thread", "process"] = "thread",
        prepare: Callable[[], Any] | None = None,
        retry_on: Exceptions | None = None,
        give_up_on: Exceptions = (),
        cron: str | Sequence[str] = (),
        every: float | str | Sequence[float | str] = (),
        timezone: str = "UTC",
        **chosen: Unpack[HandlerOptions],
    ) -> Any:
        """Make a function a job. Options given here hold for every submit.

        With `retry_on`, only these exceptions are retried; those of `give_up_on` never are.
        With `cron` or `every`, one or several, a server that has the app makes jobs by itself.
        """
        rules, chosen = options.retry_rules(retry_on, give_up_on, chosen)

        def decorate(function: Callable[..., Any]) -> JobFunction[..., Any]:
            handler = Handler.of(
                function, job_type=name, isolation=isolation, rules=rules, arounds=self.arounds
            )
            plain = options.request(handler.job_type, {}, chosen)
            options.check(plain)
            timings = schedules.timings(handler, cron, every, timezone)
            if handler.job_type in self.handlers:
                raise ValueError(
                    f"there are two jobs named {handler.job_type!r}; give one of them another name"
                )
            self.handlers[handler.job_type] = handler
            self.defaults[handler.job_type] = job_requests.said(plain)
            if timings:
                self.schedules[handler.job_type] = timings
            if prepare is not None:
                self.prepares[handler.job_type] = prepare
            return job_function(self, handler, chosen)

        return decorate if function is None else decorate(function)

    def around(self, function: Hook) -> Hook:
        """Have a generator function around each handler: it gets `ctx`, and yields once.

        `yield` gives what the handler returned, and raises what it raised. The first one is the
        outermost. It may be async, and may be decorated with `contextlib.contextmanager`.
        """
        plain = inspect.unwrap(function)
        if not (inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain)):
            raise TypeError(f"{function!r} is not a generator function: it has to yield once")
        self.arounds.append(plain)
        return function

    def on_startup(self, function: Hook) -> Hook:
        """Call a function, plain or async, when a process begins to run handlers of this app."""
        self.startups.append(function)
        return function

    def on_shutdown(self, function: Hook) -> Hook:
        """Call a function, plain or async, before such a process ends, the last one first."""
        self.shutdowns.append(function)
        return function

    def submit(
        self,
        job_type: str | None = None,
        params: Mapping[str, Any] | None = None,
        **chosen: Unpack[SubmitOptions],
    ) -> JobHandle[Any]:
        """Submit a job by its type, or from a template: `app.submit(template="nightly")`."""
        request = self.as_child(_request(job_type, params, chosen))
        job = self.client.send(jobs.create_job, body=request)
        return JobHandle.of(self.client, job, self.handlers.get(job.job_type))

    async def submit_async(
        self,
        job_type: str | None = None,
        params: Mapping[str, Any] | None = None,
        **chosen: Unpack[SubmitOptions],
    ) -> JobHandle[Any]:
        """Like `submit`, without blocking the event loop."""
        request = self.as_child(_request(job_type, params, chosen))
        job = await self.client.send_async(jobs.create_job, body=request)
        return JobHandle.of(self.client, job, self.handlers.get(job.job_type))

    def direct(
        self,
        job_type: str,
        params: Mapping[str, Any] | None = None,
        *,
        wait_timeout: float = WAIT_TIMEOUT_S,
    ) -> Any:
        """Run a handler in the server's next free slot, before the queue, and return its result."""
        body = DirectBody(params=dict(params or {}), wait_timeout_s=wait_timeout)
        return self.client.send(direct.run_direct, job_type=job_type, body=body).result

    async def direct_async(
        self,
        job_type: str,
        params: Mapping[str, Any] | None = None,
        *,
        wait_timeout: float = WAIT_TIMEOUT_S,
    ) -> Any:
        """Like `direct`, without blocking the event loop."""
        body = DirectBody(params=dict(params or {}), wait_timeout_s=wait_timeout)
        answer = await self.client.send_async(direct.run_direct, job_type=job_type, body=body)
        return answer.result

    def command(self, *argv: str, **chosen: Unpack[SubmitOptions]) -> JobHandle[Any]:
        """Submit a program to run."""
        return self.submit("command", {"argv": list(argv)}, **chosen)

    async def command_async(self, *argv: str, **chosen: Unpack[SubmitOptions]) -> JobHandle[Any]:
        """Like `command`, without blocking the event loop."""
        return await self.submit_async("command", {"argv": list(argv)}, **chosen)

    def pipeline(self) -> Pipeline:
        """A graph of jobs that is submitted in one go, all or nothing."""
        return Pipeline(self.client, self.handlers, self.as_child)

    def send(
        self,
        operation: Operation[Body, Query, Answer],
        *,
        body: Body | None = None,
        query: Query | None = None,
        **path: JobRef,
    ) -> Answer:
        """Any other operation: `app.send(headway.protocol.jobs.get_job, id=7)`."""
        return self.client.send(operation, body=body, query=query, **path)

    async def send_async(
        self,
        operation: Operation[Body, Query, Answer],
        *,
        body: Body | None = None,
        query: Query | None = None,
        **path: JobRef,
    ) -> Answer:
        """Like `send`, without blocking the event loop."""
        return await self.client.send_async(operation, body=body, query=query, **path)

    def submit_on(self, connection: Any, request: BatchJobRequest) -> Job:
        """Submit in the transaction of a connection the caller owns."""
        from headway import local_wiring

        return local_wiring.submit_on(self, connection, self.as_child(request))

    def record_step_on(self, connection: Any, report: StepReport) -> StepAnswer:
        """Record a step in the transaction of a connection the caller owns, and commit it."""
        from headway import local_wiring

        return local_wiring.record_step_on(self, connection, report)

    def submit_many(self, requests: Sequence[BatchJobRequest]) -> list[JobHandle[Any]]:
        """Submit many jobs, all or nothing: `app.submit_many([story.request(…), …])`."""
        made = self.client.send(jobs.create_jobs, body=Batch(jobs=[*map(self.as_child, requests)]))
        return handles(self.client, requests, made, self.handlers)

    async def submit_many_async(self, requests: Sequence[BatchJobRequest]) -> list[JobHandle[Any]]:
        """Like `submit_many`, without blocking the event loop."""
        made = await self.client.send_async(
            jobs.create_jobs, body=Batch(jobs=[*map(self.as_child, requests)])
        )
        return handles(self.client, requests, made, self.handlers)


def _request(
    job_type: str | None, params: Mapping[str, Any] | None, chosen: SubmitOptions
) -> BatchJobRequest:
    """A request with params that may be of any type that JSON can say."""
    try:
        plain = json_types.plain(dict(params or {}))
    except TypeError as error:
        raise errors.InvalidRequest("params", str(error)) from None
    return options.request(job_type, plain, chosen)
