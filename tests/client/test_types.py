"""What a type checker knows of jobs; it reads this file with the others."""

import asyncio
from typing import Any, assert_type

import pytest

import headway
from headway import testing

app = headway.App()


@app.job
def plain(name: str, size: int = 1) -> list[str]:
    """Takes its params."""
    return [name] * size


@app.job(retries=0)
def told(ctx: headway.JobContext, name: str) -> int:
    """Takes the context before them."""
    return ctx.attempt + len(name)


@app.job
async def awaited(ctx: headway.JobContext, name: str) -> str:
    """Takes the context and is awaited."""
    return f"{name} {ctx.attempt}"


@app.job(queue="slow")
async def alone(name: Any) -> bytes | None:
    """Is awaited; its first parameter could be anything, but is no context."""
    return None if name else b""


def test_a_job_is_submitted_without_its_context_and_comes_to_what_the_function_does() -> None:
    with testing.Harness(app) as harness:
        jobs = plain.submit("a", size=2), told.submit(name="b"), awaited.submit("c")
        last = alone.options(delay=0).submit(name="d")
        assert harness.run_until_idle() == 4
        assert assert_type(jobs[0].result(), list[str]) == ["a", "a"]
        assert assert_type(jobs[1].result(), int) == 1
        assert assert_type(jobs[2].result(), str) == "c 0"
        assert assert_type(last.result(), bytes | None) is None


def test_a_function_is_called_as_it_is_written() -> None:
    assert assert_type(plain("a"), list[str]) == ["a"]
    assert assert_type(asyncio.run(alone("")), bytes | None) == b""


def test_what_only_one_job_can_mean_is_no_option_of_the_decorator() -> None:
    made = headway.App()
    made.job(idempotency_key="one")  # type: ignore[call-overload]
    made.job(after=1)  # type: ignore[call-overload]
    made.job(template="nightly")  # type: ignore[call-overload]
    made.job(missing_producer="later")  # type: ignore[call-overload]
    plain.options(idempotency_key="one", missing_producer="wait")
    plain.options(missing_producer="later")  # type: ignore[arg-type]


def test_a_job_comes_after_a_handle_a_job_a_step_an_id_or_a_number() -> None:
    with testing.Harness(app):
        first = plain.submit("a")
        found = first.fetch()
        for other in (first, found, first.job_id, first.number):
            waits = plain.options(after=other).submit("b").fetch()
            assert [one.job for one in waits.after] == [first.job_id]
        both = plain.options(after=[first, {"job": waits, "policy": "finished"}]).submit("c")
        assert [one.policy for one in both.fetch().after] == ["success", "finished"]
        plain.options(after=1.5)  # type: ignore[arg-type]


def test_a_step_of_a_pipeline_takes_what_its_function_takes() -> None:
    with testing.Harness(app), app.pipeline() as flow:
        step = flow.add(told, name="a")
        flow.add(plain.options(after=step), "b", size=2)
        flow.add_command("true", after=[step])
        with pytest.raises(headway.HeadwayError):
            flow.add(plain, size="large")  # type: ignore[arg-type, call-arg]


def charge(order: int, note: str = "") -> list[str]:
    """A step."""
    return [f"{order} {note}"]


async def fetch(page: int) -> bytes:
    """A step that is awaited."""
    return bytes(page)


@app.job
def program(ctx: headway.JobContext) -> None:
    """Cut into steps and waits."""
    assert_type(ctx.step(charge, 7), list[str])
    assert_type(ctx.step(charge, 7, note="x"), list[str])
    assert_type(ctx.step(charge, 7, name="other"), list[str])
    assert_type(ctx.step(charge, 7, retries=2), list[str])
    assert_type(ctx.step(charge, 7, name="other", retries=2), list[str])
    ctx.step(charge, "seven")  # type: ignore[call-overload]
    ctx.step(charge, 7, colour="red")  # type: ignore[call-arg]
    assert_type(ctx.call(told, name="x"), int)
    assert_type(ctx.map(plain, [{"name": "a"}]), list[list[str]])
    assert_type(
        ctx.map(told, [{"name": "a"}], return_exceptions=True), list[int | headway.JobFailed]
    )
    ctx.call(told, size=1)  # type: ignore[call-arg]
    ctx.gather(plain.request("a"), told.request("b"))


@app.job
async def awaiting(ctx: headway.AsyncJobContext) -> None:
    """The same, awaited."""
    assert_type(await ctx.step(fetch, 7), bytes)
    assert_type(await ctx.step(charge, 7), list[str])
    assert_type(await ctx.step(fetch, 7, name="other"), bytes)
    assert_type(await ctx.step(charge, 7, retries=2), list[str])
    assert_type(await ctx.call(told, name="x"), int)
    assert_type(await ctx.map(awaited, [{"name": "a"}]), list[str])
    await ctx.step(fetch, "seven")  # type: ignore[call-overload]
