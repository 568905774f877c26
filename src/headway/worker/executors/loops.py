"""Async handlers, all on one event loop in a thread of its own."""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from headway.client import parents
from headway.domain.handlers import Handler
from headway.domain.runs import Outcome
from headway.live_threads import LiveThreads
from headway.worker import run_logs
from headway.worker.context import JobContext, Work
from headway.worker.executors import calls
from headway.worker.executors.interface import Done
from headway.worker.executors.settling import Settlement
from headway.worker.executors.timers import Timers

_log = logging.getLogger(__name__)


class EventLoop:
    """The loop and its thread, both made when the first async handler runs."""

    def __init__(self, timers: Timers, result_limit: int, live: LiveThreads) -> None:
        self.timers = timers
        self.live = live
        self.result_limit = result_limit
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False

    def start(self, handler: Handler, work: Work, ctx: JobContext, done: Done) -> "AsyncRun":
        """Start a run on the loop."""
        self._open()
        run = AsyncRun(self, handler, work, ctx, done)
        self.soon(run.begin)
        return run

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run something else on the loop, and wait for its end."""
        self._open()
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _open(self) -> None:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                serve = threading.Thread(target=self._serve, args=(self._loop,), daemon=True)
                serve.name = "headway-loop"
                serve.start()

    def soon(self, action: Callable[[], object]) -> None:
        """Do something on the loop's thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(action)

    def close(self) -> None:
        """Stop the loop; what still runs is not waited for."""
        if self._loop is not None:
            self._is_closed = True
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        while not self._is_closed:
            try:
                loop.run_forever()
            except BaseException:
                # A SystemExit in a task that a handler started leaves the loop; others go on.
                _log.exception("a task of an async handler broke the event loop, it goes on")
        if not asyncio.all_tasks(loop):
            loop.close()


class AsyncRun:
    """One run on the event loop."""

    def __init__(
        self, loop: EventLoop, handler: Handler, work: Work, ctx: JobContext, done: Done
    ) -> None:
        self._loop = loop
        self._handler = handler
        self._run_id = work.run_id
        self._timeout_s = work.timeout_s
        self._parent_id = work.parent_id
        self._ctx = ctx
        self._settlement = Settlement(done)
        self._task: asyncio.Task[None] | None = None
        self._is_stopped = False

    def begin(self) -> None:
        """Become a task; called on the loop's thread."""
        self._task = asyncio.get_running_loop().create_task(self._live())

    def stop(self) -> None:
        """Ask the handler to stop, and cancel its task."""
        self._loop.live.outlive([self._run_id])
        self._is_stopped = True
        self._ctx.cancel()
        self._loop.soon(self._cancel_task)

    def renew(self, deadline: float) -> None:
        """The loop freezes together with its worker: there is nothing to extend."""

    async def _live(self) -> None:
        if self._timeout_s is None:
            outcome = await self._outcome()
        else:
            timer = self._loop.timers.after(self._timeout_s, self._time_out)
            outcome = await self._outcome()
            timer.cancel()
        self._loop.live.end(self._run_id)
        self._settlement.settle(outcome)

    async def _outcome(self) -> Outcome:
        logs = self._ctx.logs
        run_logs.route(logs)
        parents.enter(self._parent_id)
        try:
            result = await calls.prepare(self._handler, self._ctx)()
            return calls.returned(self._ctx, result, self._loop.result_limit)
        except BaseException as error:
            if self._is_stopped and isinstance(error, asyncio.CancelledError):
                return calls.stopped()
            return calls.raised(self._handler, self._ctx, error)
        finally:
            run_logs.leave(logs)

    def _cancel_task(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _time_out(self) -> None:
        if self._timeout_s is not None and self._settlement.claim():
            self._loop.live.outlive([self._run_id])
            self._ctx.cancel()
            self._loop.soon(self._cancel_task)
            self._settlement.report(calls.timed_out(self._timeout_s))
