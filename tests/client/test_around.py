"""What an app has around its handlers, and in each process that runs them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import headway
from headway import testing


@pytest.fixture
def seen() -> list[Any]:
    """What happened, in order."""
    return []


@pytest.fixture
def app() -> headway.App:
    return headway.App()


def run(app: headway.App, job_type: str, **params: Any) -> headway.Job:
    """Run one job to its end."""
    with testing.Harness(app) as harness:
        job = app.submit(job_type, params, retries=0)
        harness.run_until_idle()
        return job.fetch()


def test_what_is_around_a_handler_sees_its_context_and_its_result(
    app: headway.App, seen: list[Any]
) -> None:
    @app.around
    def session(ctx: headway.JobContext) -> Iterator[None]:
        seen.append(ctx.number)
        seen.append((yield))

    @app.job
    def double(n: int) -> int:
        seen.append("runs")
        return 2 * n

    assert run(app, "double", n=4).status == "SUCCEEDED"
    assert seen == [1, "runs", 8]


def test_several_nest_in_their_order_also_around_handlers_from_before(
    app: headway.App, seen: list[Any]
) -> None:
    @app.job
    def work() -> None:
        seen.append("work")

    for name in ("outer", "inner"):

        @app.around
        @contextlib.contextmanager
        def tracing(ctx: headway.JobContext, name: str = name) -> Iterator[None]:
            seen.append(f"{name} begins")
            yield
            seen.append(f"{name} ends")

    run(app, "work")
    assert seen == ["outer begins", "inner begins", "work", "inner ends", "outer ends"]


@pytest.mark.parametrize("is_async", [False, True])
def test_an_error_is_seen_where_the_handler_ran_and_cannot_be_hidden_by_accident(
    app: headway.App, seen: list[Any], *, is_async: bool
) -> None:
    @app.around
    def tracker(ctx: headway.JobContext) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            seen.append(str(error))

    if is_async:

        @app.job(name="work")
        async def slow() -> None:
            raise ValueError("no")

    else:

        @app.job(name="work")
        def quick() -> None:
            raise ValueError("no")

    job = run(app, "work")
    assert (job.status, job.error, seen) == ("FAILED", "ValueError: no", ["no"])


def test_another_error_may_be_raised_in_its_place(app: headway.App) -> None:
    @app.around
    def patient(ctx: headway.JobContext) -> Iterator[None]:
        try:
            yield
        except ConnectionError as error:
            raise headway.RetryAfter("5m", "offline") from error

    @app.job
    def work() -> None:
        raise ConnectionError

    assert run(app, "work").status == "SUSPENDED"


@pytest.mark.parametrize("is_async", [False, True])
def test_an_async_one_is_around_handlers_of_both_kinds(
    app: headway.App, seen: list[Any], *, is_async: bool
) -> None:
    @app.around
    async def session(ctx: headway.JobContext) -> AsyncIterator[None]:
        await asyncio.sleep(0)
        try:
            seen.append((yield))
        except OSError:
            await asyncio.sleep(0)
            seen.append("failed")

    if is_async:

        @app.job(name="work")
        async def slow(fails: bool) -> str:
            if fails:
                raise OSError
            return "done"

    else:

        @app.job(name="work")
        def quick(fails: bool) -> str:
            if fails:
                raise OSError
            return "done"

    assert run(app, "work", fails=False).status == "SUCCEEDED"
    assert run(app, "work", fails=True).status == "FAILED"
    assert seen == ["done", "failed"]


def test_one_that_does_not_yield_once_fails_the_job(app: headway.App) -> None:
    @app.around
    def twice(ctx: headway.JobContext) -> Iterator[None]:
        yield
        yield

    @app.job
    def work() -> None: ...

    assert run(app, "work").error == "RuntimeError: twice must yield exactly once"


def test_what_is_no_generator_is_refused(app: headway.App) -> None:
    with pytest.raises(TypeError, match="has to yield once"):
        app.around(lambda ctx: None)


def test_a_process_that_runs_handlers_begins_and_ends_with_the_hooks(
    app: headway.App, seen: list[Any]
) -> None:
    @app.on_startup
    async def connect() -> None:
        seen.append(asyncio.get_running_loop())

    @app.on_startup
    def log_in() -> None:
        seen.append("in")

    @app.on_shutdown
    def log_out() -> None:
        seen.append("out")

    @app.on_shutdown
    async def disconnect() -> None:
        raise RuntimeError("it is gone already")

    @app.job
    async def work() -> None:
        seen.append(asyncio.get_running_loop())

    run(app, "work")
    loop, *rest = seen
    assert rest == ["in", loop, "out"]
