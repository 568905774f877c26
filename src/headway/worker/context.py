"""What one run is given to do, and what its handler sees of it."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, cast, overload

import msgspec

from headway.domain import handlers
from headway.domain.errors import JobFailed
from headway.domain.leases import LONGEST_MESSAGE
from headway.domain.requests.job_requests import BatchJobRequest
from headway.domain.steps import Step, StepKind, Wait
from headway.files import log_files
from headway.files.log_parts import OutputBound
from headway.worker.programs import program
from headway.worker.programs.program import Flow, Program
from headway.worker.run_logs import RunLog

if TYPE_CHECKING:
    from concurrent.futures import Future

    from headway.client.app import App
    from headway.client.functions import JobFunction
    from headway.worker.async_context import AsyncJobContext
    from headway.worker.programs.journal import Journal

Params = ParamSpec("Params")
Result = TypeVar("Result")


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """One run to execute; `deadline` (monotonic) is when its lease ends, if that is known."""

    run_id: str
    job_id: str
    number: int
    job_type: str
    params: dict[str, Any]
    attempt: int
    timeout_s: float | None
    data: Path
    deadline: float | None = None
    steps: tuple[Step, ...] | None = ()
    """The journal of the job; None if it is too large and has to be read."""

    @property
    def parent_id(self) -> str | None:
        """The job whose children this run submits; a direct request is no job."""
        return self.job_id if self.number else None

    @property
    def log_dir(self) -> Path:
        """The folder of this run's logs, put together only when something is written."""
        return self.data / log_files.folder(self.run_id)


class Progress(msgspec.Struct, frozen=True):
    """How far a run is, in its own words."""

    fraction: float | None
    message: str | None = None


class JobContext:
    """What a handler with a first parameter `ctx` gets.

    With its steps and waits, a handler becomes a program that goes on: after a crash, a retry or a
    wait it runs from the top again, past what the journal of its job holds.
    """

    __slots__ = (
        "_bound",
        "_cancelled",
        "_logs",
        "_program",
        "_progress",
        "_when_cancelled",
        "_work",
        "app",
        "journal",
    )

    def __init__(
        self, work: Work, bound: OutputBound | None = None, journal: "Journal | None" = None
    ) -> None:
        self._work = work
        self._bound = bound
        self._logs: RunLog | None = None
        self._progress: Progress | None = None
        self._cancelled = False
        self._when_cancelled: Callable[[], None] | None = None
        self._program: Program | None = None
        self.app: App | None = None
        """The app whose handler runs, if the executor knows it."""
        self.journal = journal

    @property
    def job_id(self) -> str:
        """The job's public id."""
        return self._work.job_id

    @property
    def number(self) -> int:
        """The job's short number."""
        return self._work.number

    @property
    def run_id(self) -> str:
        """The id of this execution."""
        return self._work.run_id

    @property
    def attempt(self) -> int:
        """How often the job was tried before, from 0."""
        return self._work.attempt

    @property
    def params(self) -> dict[str, Any]:
        """The params as they were submitted."""
        return self._work.params

    @property
    def cancelled(self) -> bool:
        """Whether this run was asked to stop, or its time is up."""
        return self._cancelled

    @property
    def logs(self) -> RunLog:
        """The run's own log files, which are opened when something is written."""
        if self._logs is None:
            work = (
                self._work
            )  # not `self`: a reference cycle for every run is work for the collector
            self._logs = RunLog(lambda: work.log_dir, self._bound or OutputBound())
        return self._logs

    def progress(self, fraction: float, message: str | None = None) -> None:
        """Tell how far the run is, from 0 to 1; the newest word is kept, cut if it is long.

        What no heartbeat can carry, half a character, becomes a question mark.
        """
        if not 0 <= fraction <= 1:
            raise ValueError(f"progress is a number from 0 to 1, not {fraction}")
        if message:
            message = message[:LONGEST_MESSAGE].encode(errors="replace").decode()
        self._progress = Progress(float(fraction), message)

    def remark(self, message: str) -> None:
        """Say something about the run that is not how far it is."""
        self._progress = Progress(None, message)

    def log(self, text: str) -> None:
        """Write a line to the run's stdout log."""
        self.logs.write("stdout", f"{text}\n")

    def take_progress(self) -> Progress | None:
        """The newest progress that was not taken before."""
        newest, self._progress = self._progress, None
        return newest

    def put_back(self, progress: Progress | None) -> None:
        """Progress that was taken and did not arrive; a newer word replaces it."""
        if self._progress is None:
            self._progress = progress

    def cancel(self) -> None:
        """Ask the run to stop by itself."""
        self._cancelled = True
        if self._when_cancelled is not None:
            self._when_cancelled()

    def when_cancelled(self, tell: Callable[[], None]) -> None:
        """Have `tell` called on cancel; it may be called twice when both happen at once."""
        self._when_cancelled = tell
        if self._cancelled:
            tell()

    @overload
    def step(
        self,
        function: Callable[Params, Result],
        /,
        *args: Params.args,
        **kwargs: Params.kwargs,
    ) -> Result: ...

    @overload
    def step(  # type: ignore[overload-cannot-match]
        self,
        function: Callable[..., Result],
        /,
        *args: Any,
        name: str,
        retries: int = 0,
        **kwargs: Any,
    ) -> Result: ...

    @overload
    def step(  # type: ignore[overload-cannot-match]
        self,
        function: Callable[..., Result],
        /,
        *args: Any,
        retries: int,
        **kwargs: Any,
    ) -> Result: ...

    def step(  # type: ignore[misc]
        self,
        function: Callable[..., Any],
        /,
        *args: Any,
        name: str | None = None,
        retries: int = 0,
        **kwargs: Any,
    ) -> Any:
        """Run a function once in the life of this job, and return what it returned.

        Its result, which must be JSON, is on disk before this returns. When the handler runs again,
        the stored result is returned and the function is not called. The key is the name, by
        default the function's, and how often it was used before in this run. A step that raises
        stores nothing: it is tried again `retries` times at once, then the job is by its own rules.
        """
        place = self.program.next(StepKind.STEP, program.name_of(function, name))
        return self._drive(
            self.program.step(
                place, _call(function, args, kwargs), handlers.returned_by(function), retries
            )
        )

    @overload
    def step_on(
        self,
        connection: Any,
        function: Callable[Params, Result],
        /,
        *args: Params.args,
        **kwargs: Params.kwargs,
    ) -> Result: ...

    @overload
    def step_on(  # type: ignore[overload-cannot-match]
        self,
        connection: Any,
        function: Callable[..., Result],
        /,
        *args: Any,
        name: str,
        **kwargs: Any,
    ) -> Result: ...

    def step_on(  # type: ignore[misc]
        self,
        connection: Any,
        function: Callable[..., Any],
        /,
        *args: Any,
        name: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """A step that is committed together with what it writes, so that it happens exactly once.

        The connection (sqlite3 or psycopg) is one of yours to the database that the jobs are in.
        The function writes on it and leaves the transaction open; then the step is added and
        everything is committed, or rolled back if it raises.
        """
        place = self.program.next(StepKind.STEP, program.name_of(function, name))
        call = _call(function, args, kwargs)
        return self._drive(
            self.program.step_on(place, call, handlers.returned_by(function), connection, self.app)
        )

    def sleep(self, span: str | float | timedelta | datetime) -> None:
        """Give the slot back for a span of time ("3d", seconds) or until a moment."""
        place = self.program.next(StepKind.SLEEP, StepKind.SLEEP.value)
        self._drive(self.program.sleep(place, span))

    def wait_for(self, name: str, timeout: str | float | timedelta | None = None) -> Any:
        """Give the slot back until the signal comes, and return its payload.

        Signals that came before are kept, and each is taken once, in order. Raises
        `headway.SignalTimeout` if it does not come in time.
        """
        place = self.program.next(StepKind.SIGNAL, name)
        return self._drive(self.program.wait_for(place, timeout))

    def call(
        self, job: "JobFunction[Params, Result]", /, *args: Params.args, **kwargs: Params.kwargs
    ) -> Result:
        """Have a child job run, give the slot back meanwhile, and return its result.

        Raises `headway.JobFailed` if it does not succeed.
        """
        place = self.program.next(StepKind.CHILDREN, job.handler.job_type)
        ends = self._drive(self.program.children(place, [job.request(*args, **kwargs)]))
        return cast(Result, program.results(ends, [job.handler], return_exceptions=False)[0])

    @overload
    def map(
        self,
        job: "JobFunction[..., Result]",
        params: Sequence[Mapping[str, Any]],
        *,
        name: str | None = None,
        return_exceptions: Literal[False] = False,
    ) -> list[Result]: ...

    @overload
    def map(
        self,
        job: "JobFunction[..., Result]",
        params: Sequence[Mapping[str, Any]],
        *,
        name: str | None = None,
        return_exceptions: bool,
    ) -> list[Result | JobFailed]: ...

    def map(
        self,
        job: "JobFunction[..., Any]",
        params: Sequence[Mapping[str, Any]],
        *,
        name: str | None = None,
        return_exceptions: bool = False,
    ) -> list[Any]:
        """Have a child job run for each set of params, and return their results in order.

        All are made together, and the slot is given back until the last has ended. If one does not
        succeed, `headway.JobFailed` is raised, or stands in its place with `return_exceptions`.
        """
        place = self.program.next(StepKind.CHILDREN, name or job.handler.job_type)
        requests = [job.request(**one) for one in params]
        ends = self._drive(self.program.children(place, requests))
        return program.results(ends, [job.handler] * len(ends), return_exceptions=return_exceptions)

    def gather(
        self,
        *requests: BatchJobRequest,
        name: str | None = None,
        return_exceptions: bool = False,
    ) -> list[Any]:
        """Like `map` for several kinds: `ctx.gather(story.request(…), cover.request(…))`."""
        place = self.program.next(StepKind.CHILDREN, name or "gather")
        ends = self._drive(self.program.children(place, requests))
        return program.results(
            ends, self.handlers_of(requests), return_exceptions=return_exceptions
        )

    def handlers_of(self, requests: Sequence[BatchJobRequest]) -> list[handlers.Handler | None]:
        """The handlers that declare what these jobs return, as far as this app has them."""
        known = self.app.handlers if self.app is not None else {}
        return [known.get(request.job_type or "") for request in requests]

    @property
    def program(self) -> Program:
        """This run's way through the journal, made when it is first needed."""
        if self._program is None:
            journal = self.journal if self._work.parent_id else None
            self._program = Program(self._work.run_id, self._work.steps, journal)
        return self._program

    @property
    def suspended_for(self) -> Wait | None:
        """What the run was suspended for."""
        return None if self._program is None else self._program.wait

    def awaited(self) -> "AsyncJobContext":
        """The context as an async handler sees it."""
        from headway.worker.async_context import AsyncJobContext

        return AsyncJobContext(self)

    def _drive(self, flow: Flow[Result]) -> Result:
        return program.drive(flow, self._wait)

    def _wait(self, answer: "Future[Any]") -> Any:
        return answer.result()


def _call(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[[], Any]:
    if program.is_async(function):
        raise TypeError(
            f"step {program.name_of(function, None)!r} is an async function and this handler is"
            " not: make the handler async, and await its steps"
        )
    return partial(function, *args, **kwargs)
