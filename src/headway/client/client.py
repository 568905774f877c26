"""The client: one way to ask, in the same process or over HTTP, waiting or not."""

import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import TypeVar

from headway.api.operation import Page
from headway.client import calls
from headway.client.calls import Call, JobRef
from headway.client.transport import Transport
from headway.domain import errors
from headway.domain.jobs import JobResult

Answer = TypeVar("Answer")
Item = TypeVar("Item")

FIRST_POLL_S = 0.01
LONGEST_POLL_S = 0.5


class Client:
    """Sends calls. `send_async` does the same without blocking an event loop."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def send(self, call: Call[Answer]) -> Answer:
        """Ask, and wait for the answer."""
        answer: Answer = self.transport.send(call)
        return answer

    async def send_async(self, call: Call[Answer]) -> Answer:
        """Ask, without blocking the event loop."""
        answer: Answer = await self.transport.send_async(call)
        return answer

    def wait(self, job: JobRef, timeout: float | None = None) -> JobResult:
        """Wait until a job and its retries have ended."""
        for wait_s in polls(timeout):
            try:
                return self.send(calls.get_result(job))
            except errors.NotFinished:
                time.sleep(wait_s)
        raise TimeoutError(f"job {job} did not end within {timeout:g} s")

    async def wait_async(self, job: JobRef, timeout: float | None = None) -> JobResult:
        """Wait until a job and its retries have ended, without blocking the event loop."""
        import asyncio  # a slow import that only async callers need, and they have it

        for wait_s in polls(timeout):
            try:
                return await self.send_async(calls.get_result(job))
            except errors.NotFinished:
                await asyncio.sleep(wait_s)
        raise TimeoutError(f"job {job} did not end within {timeout:g} s")

    def log(
        self, run_id: str, stream: str = "stdout", *, follow: bool = False, tail: int | None = None
    ) -> Iterator[bytes]:
        """A run's output, piece by piece."""
        return self.transport.log(run_id, stream, follow=follow, tail=tail)

    def log_async(
        self, run_id: str, stream: str = "stdout", *, follow: bool = False, tail: int | None = None
    ) -> AsyncIterator[bytes]:
        """Like `log`, for `async for`."""
        return self.transport.log_async(run_id, stream, follow=follow, tail=tail)

    def pages(self, call: Call[Page[Item]]) -> Iterator[Item]:
        """Every item of a list, page by page."""
        following: Call[Page[Item]] | None = call
        while following is not None:
            page = self.send(following)
            yield from page.items
            following = _following(following, page)

    async def pages_async(self, call: Call[Page[Item]]) -> AsyncIterator[Item]:
        """Like `pages`, for `async for`."""
        following: Call[Page[Item]] | None = call
        while following is not None:
            page = await self.send_async(following)
            for item in page.items:
                yield item
            following = _following(following, page)

    def close(self) -> None:
        """Let go of the database or the connections."""
        self.transport.close()

    async def close_async(self) -> None:
        """Like `close`, without blocking the event loop."""
        await self.transport.close_async()


def _following(call: Call[Page[Item]], page: Page[Item]) -> Call[Page[Item]] | None:
    """The call for the page after this one, if there is one."""
    if page.next_cursor is None:
        return None
    return replace(call, query={**call.query, "cursor": page.next_cursor})


def polls(timeout: float | None) -> Iterator[float]:
    """Waits that grow, until the time is up."""
    give_up = None if timeout is None else time.monotonic() + timeout
    wait_s = FIRST_POLL_S
    while give_up is None or time.monotonic() < give_up:
        left = LONGEST_POLL_S if give_up is None else max(0.0, give_up - time.monotonic())
        yield min(wait_s, left)
        wait_s = min(wait_s * 1.5, LONGEST_POLL_S)
