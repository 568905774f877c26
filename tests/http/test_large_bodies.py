"""Few large bodies are in memory at once, and so many bytes at a time are read and done."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, MutableMapping
from typing import Any

import pytest

from headway.domain import errors
from headway.http import large_bodies
from headway.http.exchange import Exchange
from headway.http.large_bodies import AT_ONCE, LARGE, SMALL, LargeBodies, Turns
from headway.operations import dispatch

LIMIT = 64 * 1024 * 1024
MANY = 4


def request(size: int | None, receive: Callable[[], Any]) -> Exchange:
    headers = [] if size is None else [(b"content-length", str(size).encode())]
    scope = {"method": "POST", "raw_path": b"/", "headers": headers, "query_string": b""}
    return Exchange(scope, receive, _send)


async def _send(message: MutableMapping[str, Any]) -> None:
    raise AssertionError(message)


class Crowd:
    """Requests whose bodies come when they are let in, counted at each stage."""

    def __init__(self, size: int | None, body: bytes = b"x" * AT_ONCE) -> None:
        self.size = size
        self.body = body
        self.alone = False
        self.bodies = LargeBodies()
        self.received = self.doing = self.done = 0
        self.come = asyncio.Event()
        self.go_on = asyncio.Event()

    async def send(self) -> None:
        asked = request(self.size, self._receive)
        async with self.bodies.receive(asked, LIMIT, alone=self.alone) as raw:
            assert raw == self.body
            self.doing += 1
            await self.go_on.wait()
            self.doing -= 1
        self.done += 1

    async def _receive(self) -> dict[str, Any]:
        self.received += 1
        await self.come.wait()
        return {"type": "http.request", "body": self.body}

    @contextlib.asynccontextmanager
    async def of(self, count: int) -> AsyncIterator[None]:
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(self.send())
            await settled()
            yield


async def settled() -> None:
    """Everything that can go on has gone on."""
    for _ in range(50):
        await asyncio.sleep(0)


@pytest.mark.parametrize("size", [LARGE + 1, None])
def test_large_bodies_are_received_side_by_side_and_one_at_a_time_is_done(
    size: int | None,
) -> None:
    async def play() -> None:
        crowd = Crowd(size)
        async with crowd.of(3 * MANY):
            assert crowd.received == 3 * MANY
            crowd.come.set()
            await settled()
            assert (crowd.received, crowd.doing) == (3 * MANY, 1)
            crowd.go_on.set()
        assert crowd.done == 3 * MANY

    asyncio.run(play())


def test_large_bodies_leave_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_bodies, "MOST_HELD", AT_ONCE)

    async def play() -> None:
        large, medium, small = Crowd(LARGE + 1), Crowd(AT_ONCE), Crowd(SMALL, b"x" * SMALL)
        medium.bodies = small.bodies = large.bodies
        for crowd in (large, medium, small):
            crowd.come.set()
        async with large.of(1), medium.of(1), small.of(50):
            assert (large.received, medium.received, small.doing) == (1, 1, 50)
            with pytest.raises(errors.Busy):
                await large.send()
            for crowd in (large, medium, small):
                crowd.go_on.set()

    asyncio.run(play())


@pytest.mark.parametrize(("size", "at_once"), [(AT_ONCE // 2, 2), (AT_ONCE, 1), (LARGE, 1)])
def test_so_many_bytes_are_done_at_a_time(size: int, at_once: int) -> None:
    async def play() -> None:
        crowd = Crowd(size, b"x" * size)
        async with crowd.of(3 * MANY):
            crowd.come.set()
            await settled()
            assert (crowd.received, crowd.doing) == (3 * MANY, at_once)
            crowd.go_on.set()
        assert crowd.done == 3 * MANY

    asyncio.run(play())


def test_small_bodies_wait_for_nothing() -> None:
    async def play() -> None:
        bodies = LargeBodies()
        large, small = Crowd(LARGE, b"x" * LARGE), Crowd(SMALL, b"x" * SMALL)
        large.bodies = small.bodies = bodies
        async with large.of(2), small.of(1000):
            large.come.set()
            small.come.set()
            await settled()
            assert (large.doing, small.doing) == (1, 1000)
            large.go_on.set()
            small.go_on.set()

    asyncio.run(play())


def test_a_small_body_that_may_mean_much_work_is_done_alone() -> None:
    async def play() -> None:
        crowd = Crowd(SMALL, b"x" * SMALL)
        crowd.alone = True
        async with crowd.of(5):
            crowd.come.set()
            await settled()
            assert (crowd.received, crowd.doing) == (5, 1)
            crowd.go_on.set()
        assert crowd.done == 5

    asyncio.run(play())


def test_verbs_that_may_change_thousands_of_jobs_are_done_one_at_a_time() -> None:
    verbs = {one.path.removeprefix("/api/") for one in dispatch.FUNCTIONS if one.one_at_a_time}
    assert verbs == {
        *(f"jobs/{{id}}/{verb}" for verb in ("cancel", "retry", "move", "approve", "reject")),
        *("queue/reorder", "job-groups/{id}/cancel", "job-groups/{id}/reorder", "jobs/actions"),
    }


def test_what_comes_first_has_its_turn_first_and_one_that_leaves_keeps_no_place() -> None:
    async def play() -> None:
        turns, done = Turns(10), []

        async def do(name: str, size: int) -> None:
            async with turns.take(size):
                done.append(name)
                await asyncio.sleep(0)

        async with turns.take(6):
            tasks = [
                asyncio.create_task(do(name, size)) for name, size in (("a", 8), ("b", 9), ("c", 3))
            ]
            await settled()
            assert done == []  # c would fit, but is not first
            tasks[0].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert done == ["b", "c"]
        async with asyncio.timeout(5), turns.take(10):
            pass

    asyncio.run(play())


def test_more_than_can_be_held_is_refused_and_can_come_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(large_bodies, "MOST_HELD", 3 * AT_ONCE)

    async def play() -> None:
        crowd = Crowd(AT_ONCE)
        crowd.come.set()
        async with crowd.of(3):
            with pytest.raises(errors.Busy, match="try again in 5 s"):
                await crowd.send()
            crowd.go_on.set()
        async with crowd.of(1):
            pass
        assert crowd.done == 4

    asyncio.run(play())


def test_a_large_body_that_never_comes_leaves_its_place() -> None:
    async def play() -> None:
        crowd = Crowd(LARGE + 1)
        gone = [asyncio.create_task(crowd.send()) for _ in range(MANY)]
        await settled()
        for task in gone:
            task.cancel()
        await asyncio.gather(*gone, return_exceptions=True)
        crowd.come.set()
        crowd.go_on.set()
        async with crowd.of(1):
            pass
        assert crowd.done == 1

    asyncio.run(play())
