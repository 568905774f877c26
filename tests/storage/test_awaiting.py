"""Waiting for the writer on event loops that come and go."""

import asyncio
import gc
import weakref
from concurrent.futures import Future

from headway.storage.engine.awaiting import awaiting


def test_a_loop_that_is_over_is_not_kept() -> None:
    async def wait() -> "weakref.ref[asyncio.AbstractEventLoop]":
        done: Future[int] = Future()
        done.set_result(1)
        assert await awaiting(done) == 1
        return weakref.ref(asyncio.get_running_loop())

    loop = asyncio.run(wait())
    gc.collect()
    assert loop() is None
