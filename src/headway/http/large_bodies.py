"""Bodies of many megabytes: few are in memory at once, and one at a time is read and done.

Once read, a body of many small values takes thirty times its size. So those that may be large wait
for a place before they are received, and for their turn before they are read.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from headway.http.exchange import Exchange

LARGE = 4 * 1024 * 1024
"""Smaller bodies wait for nothing."""
PLACES = 4
"""How many large bodies are received at once."""


class LargeBodies:
    """The bodies of requests, and what is done with them."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(PLACES)
        self._turn = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def receive(self, exchange: Exchange, limit: int) -> AsyncIterator[bytes]:
        """The body of a request; a large one keeps others waiting until it is done."""
        if limit <= LARGE or exchange.announced_size(limit) <= LARGE:
            yield await exchange.body(limit)
            return
        async with self._places:
            raw = await exchange.body(limit)
            async with self._turn:
                yield raw
