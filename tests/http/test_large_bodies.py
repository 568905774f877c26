"""Few large bodies are in memory at once, and one at a time is read and done."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, MutableMapping
from typing import Any

import pytest

from headway.http.exchange import Exchange
from headway.http.large_bodies import LARGE, PLACES, LargeBodies

LIMIT = 64 * 1024 * 1024


def request(size: int | None, receive: Callable[[], Any]) -> Exchange:
    headers = [] if size is None else [(b"content-length", str(size).encode())]
    scope = {"method": "POST", "raw_path": b"/", "headers": headers, "query_string": b""}
    return Exchange(scope, receive, _send)


async def _send(message: MutableMapping[str, Any]) -> None:
    raise AssertionError(message)


class Crowd:
    """Requests whose bodies come when they are let in, counted at each stage."""

    def __init__(self, size: int | None) -> None:
        self.size = size
        self.bodies = LargeBodies()
        self.received = self.doing = self.done = 0
        self.come = asyncio.Event()
        self.go_on = asyncio.Event()

    async def send(self) -> None:
        async with self.bodies.receive(request(self.size, self._receive), LIMIT) as raw:
            assert raw == b"x"
            self.doing += 1
            await self.go_on.wait()
            self.doing -= 1
        self.done += 1

    async def _receive(self) -> dict[str, Any]:
        self.received += 1
        await self.come.wait()
        return {"type": "http.request", "body": b"x"}

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
def test_few_large_bodies_are_received_and_one_at_a_time_is_done(size: int | None) -> None:
    async def play() -> None:
        crowd = Crowd(size)
        async with crowd.of(3 * PLACES):
            assert crowd.received == PLACES
            crowd.come.set()
            await settled()
            assert (crowd.received, crowd.doing) == (PLACES, 1)
            crowd.go_on.set()
        assert crowd.done == 3 * PLACES

    asyncio.run(play())


def test_smaller_bodies_wait_for_nothing() -> None:
    async def play() -> None:
        crowd = Crowd(LARGE)
        async with crowd.of(3 * PLACES):
            crowd.come.set()
            await settled()
            assert crowd.doing == 3 * PLACES
            crowd.go_on.set()

    asyncio.run(play())


def test_a_large_body_that_never_comes_leaves_its_place() -> None:
    async def play() -> None:
        crowd = Crowd(LARGE + 1)
        gone = [asyncio.create_task(crowd.send()) for _ in range(PLACES)]
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
