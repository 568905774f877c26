"""Waiting for the writer on an event loop, at the price of one wake-up for each commit."""

import asyncio
from collections import deque
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, ref

T = TypeVar("T")


def awaiting(future: "Future[T]") -> "asyncio.Future[T]":
    """Like `asyncio.wrap_future`; futures that are done at about the same time wake the loop once.

    Waking a loop is a system call, and a commit may have the answers for a thousand callers.
    """
    loop = asyncio.get_running_loop()
    inbox = _inboxes.get(loop)
    if inbox is None:
        inbox = _inboxes[loop] = _Inbox(loop)
    waiter: asyncio.Future[T] = loop.create_future()
    future.add_done_callback(lambda done: inbox.put(waiter, done))
    waiter.add_done_callback(lambda done: future.cancel() if done.cancelled() else None)
    return waiter


class _Inbox:
    """Futures that are done, until the loop has time for them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = ref(loop)  # or else a loop that is over would be kept for ever
        self._done: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._is_called = False

    def put(self, waiter: "asyncio.Future[Any]", done: "Future[Any]") -> None:
        self._done.append((waiter, done))
        loop = self._loop()
        if not self._is_called and loop is not None and not loop.is_closed():
            self._is_called = True
            loop.call_soon_threadsafe(self._answer)

    def _answer(self) -> None:
        # In this order: what is put from here on calls again.
        self._is_called = False
        while self._done:
            _pass_on(*self._done.popleft())


def _pass_on(waiter: "asyncio.Future[Any]", done: "Future[Any]") -> None:
    if waiter.done():
        return
    try:
        error = done.exception()
    except CancelledError:
        waiter.cancel()
        return
    if error is None:
        waiter.set_result(done.result())
    else:
        waiter.set_exception(error)


_inboxes: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Inbox]" = WeakKeyDictionary()
