"""Bodies: how many bytes of them are received, and how many are read and done at a time.

Once read, a body of many small values takes thirty times its size, and the jobs of a batch are one
transaction. So all but the smallest wait for their turn before they are read, and keep it until
they are done: however many come at once, few are in memory, and what others write comes in between.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator

from headway.domain import errors
from headway.http.exchange import Exchange

SMALL = 2 * 1024
"""Up to this size, bodies wait for nothing: heartbeats, cancels and most submits of one job."""
AT_ONCE = 128 * 1024
"""So many bytes of bodies are read and done at a time, or one body that is larger."""
LARGE = 4 * 1024 * 1024
"""Larger bodies are counted apart, so that they leave room for the others."""
MOST_HELD = 256 * 1024 * 1024
"""So many bytes of bodies that have come may wait to be read, and as many of large ones."""


class LargeBodies:
    """The bodies of requests, and what is done with them."""

    def __init__(self) -> None:
        self._turns = Turns(AT_ONCE)
        self._held, self._large = Held(), Held()

    @contextlib.asynccontextmanager
    async def receive(
        self, exchange: Exchange, limit: int, *, alone: bool = False
    ) -> AsyncIterator[bytes]:
        """The body of a request; a large one keeps others waiting until it is done.

        A small one that may mean much work is done alone as well.
        """
        held = self._large if exchange.announced_size(limit) > LARGE else self._held
        async with contextlib.AsyncExitStack() as stack:
            raw = await exchange.body(limit, stack.enter_context(held.share()))
            if alone or len(raw) > SMALL:
                await stack.enter_async_context(self._turns.take(AT_ONCE if alone else len(raw)))
            yield raw


class Held:
    """How many bytes of bodies are in memory. A client that sends slowly holds what it has sent."""

    def __init__(self) -> None:
        self._size = 0

    @contextlib.contextmanager
    def share(self) -> Iterator[Callable[[int], None]]:
        """A function that counts bytes of one body; they are held until the end."""
        taken = 0

        def take(size: int) -> None:
            nonlocal taken
            if self._size + size > MOST_HELD and taken + size > SMALL:
                raise errors.Busy(
                    f"{MOST_HELD // 1024**2} MiB of requests wait for their turn,"
                    " the most that this server holds"
                )
            taken += size
            self._size += size

        try:
            yield take
        finally:
            self._size -= taken


class Turns:
    """Lets so many bytes in at a time, first come, first served; a larger piece comes alone."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._free = most
        self._line: deque[tuple[int, asyncio.Future[None]]] = deque()

    @contextlib.asynccontextmanager
    async def take(self, size: int) -> AsyncIterator[None]:
        """Wait for room; it is given back at the end."""
        size = min(size, self._most)
        await self._wait(size)
        try:
            yield
        finally:
            self._give_back(size)

    async def _wait(self, size: int) -> None:
        if not self._line and size <= self._free:
            self._free -= size
            return
        turn = asyncio.get_running_loop().create_future()
        self._line.append((size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            self._give_back(0 if turn.cancelled() else size)  # its turn may just have come
            raise

    def _give_back(self, size: int) -> None:
        self._free += size
        self._let_in()

    def _let_in(self) -> None:
        while self._line and (self._line[0][1].cancelled() or self._line[0][0] <= self._free):
            size, turn = self._line.popleft()
            if not turn.cancelled():
                self._free -= size
                turn.set_result(None)
