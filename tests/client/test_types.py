"""What a type checker knows of jobs; it reads this file with the others."""

import asyncio
from typing import Any, assert_type

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
