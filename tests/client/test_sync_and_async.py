"""Whoever waits and whoever awaits find the same names."""

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, get_origin

import pytest
from tests.servers import Stage

import headway
from headway import settings
from headway.domain import states

NOTHING_TO_WAIT_FOR = {
    headway.App: {
        *("around", "as_child", "client", "job", "on_shutdown", "on_startup", "pipeline"),
        *("record_step_on", "settings", "submit_on", "work_for"),
    },
    headway.Client: set(),
    headway.JobFunction: {"options", "request", "record_step_on", "submit_on"},
    headway.JobHandle: {"value"},
    headway.Pipeline: {"add", "add_command", "map"},
}
"""What asks nobody; `submit_on` asks on the caller's own connection, which is not async."""


def public(kind: type) -> dict[str, Any]:
    """The methods and properties that a user calls."""
    return {
        name: member.fget if isinstance(member, property) else member
        for name, member in vars(kind).items()
        if not name.startswith("_") and (callable(member) or isinstance(member, property))
    }


@pytest.mark.parametrize("kind", NOTHING_TO_WAIT_FOR, ids=lambda kind: kind.__name__)
def test_what_asks_the_scheduler_can_be_awaited_under_the_same_name(kind: type) -> None:
    found = public(kind)
    plain = {name for name in found if not name.endswith("_async")}
    assert {f"{name}_async" for name in plain - NOTHING_TO_WAIT_FOR[kind]} == set(found) - plain
    for name in plain - NOTHING_TO_WAIT_FOR[kind]:
        waits = inspect.signature(found[name])
        awaits = inspect.signature(found[f"{name}_async"])
        assert waits.parameters == awaits.parameters, name
        if get_origin(waits.return_annotation) is Iterator:
            assert get_origin(awaits.return_annotation) is AsyncIterator, name
        else:
            assert waits.return_annotation == awaits.return_annotation, name
            assert inspect.iscoroutinefunction(found[f"{name}_async"]), name


@pytest.fixture
def app(tmp_path: Path) -> headway.App:
    return headway.App(settings=settings.Settings(data=str(tmp_path / "data")))


def test_an_app_submits_in_every_way_without_blocking(app: headway.App) -> None:
    async def main() -> None:
        one = await app.submit_async("work", {"n": 1}, tags=["night"])
        assert (await one.fetch_async()).tags == ("night",)
        assert await one.status_async() is states.QUEUED
        command = await app.command_async("true", after=one)
        assert await command.status_async() is states.WAITING_ON_DEPS
        several = [headway.BatchJobRequest(job_type="work") for _ in range(3)]
        assert [job.number for job in await app.submit_many_async(several)] == [3, 4, 5]
        await app.close_async()
        assert (await app.submit_async("work")).number == 6  # it is opened again
        await app.close_async()

    asyncio.run(main())


def test_a_pipeline_is_submitted_when_its_async_block_ends(app: headway.App) -> None:
    @app.job
    def work() -> None: ...

    async def main() -> None:
        async with app.pipeline() as flow:
            first = flow.add(work)
            flow.add(work.options(after=first))
        assert [await one.status_async() for one in flow.handles] == [
            states.QUEUED,
            states.WAITING_ON_DEPS,
        ]
        with contextlib.suppress(ZeroDivisionError):
            async with app.pipeline() as broken:
                broken.add(work)
                raise ZeroDivisionError
        assert broken.handles == []
        await app.close_async()

    asyncio.run(main())


def test_pages_come_one_after_the_other(app: headway.App) -> None:
    async def main() -> list[int]:
        await app.submit_many_async([headway.BatchJobRequest(job_type="x") for _ in range(5)])
        pages = app.client.pages_async(
            headway.protocol.jobs.list_jobs, query=headway.JobQuery(limit=2)
        )
        return [job.number async for job in pages]

    assert asyncio.run(main()) == [5, 4, 3, 2, 1]
    pages = app.client.pages(headway.protocol.jobs.list_jobs, query=headway.JobQuery(limit=2))
    assert [job.number for job in pages] == [5, 4, 3, 2, 1]
    app.close()


def test_output_is_followed_from_near_and_far(stage: Stage) -> None:
    server = stage.serve()
    far = headway.connect(url=server.url, token=server.token)
    near = headway.connect(data=str(server.data), db=f"sqlite:///{server.data / 'headway.db'}")

    async def follow(client: headway.Client, run_id: str, heard: asyncio.Event) -> bytes:
        said = b""
        async for part in client.log_async(run_id, follow=True):
            said += part
            heard.set()
        await client.close_async()
        return said

    async def main() -> list[bytes]:
        job = server.submit("talk", "Ada")
        server.wait(job, "RUNNING")
        run_id = server.runs(job)[0]["run_id"]
        heard = [asyncio.Event(), asyncio.Event()]
        both = asyncio.gather(follow(far, run_id, heard[0]), follow(near, run_id, heard[1]))
        for one in heard:
            await one.wait()
        stage.let_go("Ada")
        return list(await both)

    assert asyncio.run(main()) == [b"hello Ada\nbye Ada\n"] * 2


def test_output_of_no_run_is_not_found_from_near_and_far(stage: Stage) -> None:
    server = stage.serve()
    far = headway.connect(url=server.url, token=server.token)
    near = headway.connect(data=str(server.data), db=f"sqlite:///{server.data / 'headway.db'}")

    async def main(client: headway.Client) -> None:
        with pytest.raises(headway.NotFound):
            async for _ in client.log_async("nobody"):
                pass
        await client.close_async()

    for client in (far, near):
        asyncio.run(main(client))
