"""The client: one way to ask, in the same process or over HTTP, waiting or not."""

import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeVar

import msgspec

from headway.client.transport import Transport
from headway.domain import errors
from headway.domain.jobs import JobResult
from headway.protocol import jobs
from headway.protocol.operation import JobRef, Operation, Page

Body = TypeVar("Body")
Query = TypeVar("Query")
Answer = TypeVar("Answer")
Item = TypeVar("Item")

FIRST_POLL_S = 0.01
LONGEST_POLL_S = 0.5


class Client:
    """Sends operations: `client.send(protocol.jobs.get_job, id=7)`."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def send(
        self,
        operation: Operation[Body, Query, Answer],
        *,
        body: Body | None = None,
        query: Query | None = None,
        **path: JobRef,
    ) -> Answer:
        """Ask, and wait for the answer; the names in the operation's path are given by name."""
        return self.transport.send(operation.request(body, query, path))

    async def send_async(
        self,
        operation: Operation[Body, Query, Answer],
        *,
        body: Body | None = None,
        query: Query | None = None,
        **path: JobRef,
    ) -> Answer:
        """Like `send`, without blocking the event loop."""
        return await self.transport.send_async(operation.request(body, query, path))

    def wait(self, job: JobRef, timeout: float | None = None) -> JobResult:
        """Wait until a job and its retries have ended."""
        for wait_s in polls(timeout):
            try:
                return self.send(jobs.get_result, id=job)
            except errors.NotFinished:
                time.sleep(wait_s)
        raise TimeoutError(f"job {job} did not end within {timeout:g} s")

    async def wait_async(self, job: JobRef, timeout: float | None = None) -> JobResult:
        """Wait until a job and its retries have ended, without blocking the event loop."""
        import asyncio  # a slow import that only async callers need, and they have it

        for wait_s in polls(timeout):
            try:
                return await self.send_async(jobs.get_result, id=job)
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

    def pages(
        self,
        operation: Operation[Any, Query, Page[Item]],
        *,
        query: Query | None = None,
        **path: JobRef,
    ) -> Iterator[Item]:
        """Every item of a list, page by page."""
        page = self.send(operation, query=query, **path)
        yield from page.items
        while page.next_cursor is not None:
            page = self.send(operation, query=after(operation, query, page.next_cursor), **path)
            yield from page.items

    async def pages_async(
        self,
        operation: Operation[Any, Query, Page[Item]],
        *,
        query: Query | None = None,
        **path: JobRef,
    ) -> AsyncIterator[Item]:
        """Like `pages`, for `async for`."""
        page = await self.send_async(operation, query=query, **path)
        for item in page.items:
            yield item
        while page.next_cursor is not None:
            following = after(operation, query, page.next_cursor)
            page = await self.send_async(operation, query=following, **path)
            for item in page.items:
                yield item

    def close(self) -> None:
        """Close the database or the connections."""
        self.transport.close()

    async def close_async(self) -> None:
        """Like `close`, without blocking the event loop."""
        await self.transport.close_async()


def after(
    operation: Operation[Any, Query, Any],
    query: Query | None,
    cursor: str | None,
    **fields: Any,
) -> Query:
    """A query for the page at a cursor, with other fields changed too."""
    first: Any = operation.query() if query is None else query
    following: Query = msgspec.structs.replace(first, cursor=cursor, **fields)
    return following


def polls(timeout: float | None) -> Iterator[float]:
    """Waits that grow, until the time is up."""
    give_up = None if timeout is None else time.monotonic() + timeout
    wait_s = FIRST_POLL_S
    while give_up is None or time.monotonic() < give_up:
        left = LONGEST_POLL_S if give_up is None else max(0.0, give_up - time.monotonic())
        yield min(wait_s, left)
        wait_s = min(wait_s * 1.5, LONGEST_POLL_S)
