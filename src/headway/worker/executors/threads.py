"""Handlers inside the worker's own process: plain ones on slot threads, async ones on a loop."""

import contextvars
import logging
import threading
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from headway.client import parents
from headway.domain.handlers import Handler
from headway.domain.runs import Outcome
from headway.live_threads import LiveThreads
from headway.worker import run_logs
from headway.worker.context import JobContext, Work
from headway.worker.executors import calls
from headway.worker.executors.interface import Done, Executor, Running
from headway.worker.executors.settling import Settlement
from headway.worker.executors.slot_threads import SlotThreads
from headway.worker.executors.timers import Timers

if TYPE_CHECKING:
    from headway.client.app import App
    from headway.worker.executors.loops import EventLoop

log = logging.getLogger("headway.worker")


class ThreadExecutor(Executor):
    """Slot threads for plain handlers, and one event loop beside them for async ones."""

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        slots: int,
        *,
        timers: Timers | None = None,
        result_limit: int = calls.RESULT_LIMIT,
        live: LiveThreads | None = None,
        app: "App | None" = None,
    ) -> None:
        self.timers = timers or Timers()
        self.live = live or LiveThreads()
        self.result_limit = result_limit
        self._handlers = handlers
        self._app = app
        self.threads = SlotThreads(slots, self.timers)
        self._event_loop: EventLoop | None = None
        self._starting = threading.Lock()

    def start(self, work: Work, ctx: JobContext, done: Done) -> Running:
        """Hand the run to a slot thread, or to the event loop."""
        handler = self._handlers.get(work.job_type)
        ctx.app = self._app
        self.live.begin(work.run_id, work.number)
        if handler is not None and handler.is_async:
            return self._loop().start(handler, work, ctx, done)
        run = _ThreadRun(self, handler, work, ctx, done)
        self.threads.put(run)
        return run

    def on_loop(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run something else where async handlers run, and wait for its end."""
        return self._loop().run(coroutine)

    def close(self) -> None:
        """Let idle threads end; what still runs is not waited for."""
        self.threads.close()
        if self._event_loop is not None:
            self._event_loop.close()

    def _loop(self) -> "EventLoop":
        """The event loop; asyncio, which is large, is loaded for the first async handler."""
        with self._starting:
            if self._event_loop is None:
                from headway.worker.executors import loops

                self._event_loop = loops.EventLoop(self.timers, self.result_limit, self.live)
            return self._event_loop


class _ThreadRun:
    """One run on a slot thread."""

    __slots__ = ("_ctx", "_executor", "_handler", "_settlement", "_work")

    def __init__(
        self,
        executor: ThreadExecutor,
        handler: Handler | None,
        work: Work,
        ctx: JobContext,
        done: Done,
    ) -> None:
        self._executor = executor
        self._handler = handler
        self._work = work
        self._ctx = ctx
        self._settlement = Settlement(done)

    def stop(self) -> None:
        """A thread cannot be stopped from outside: ask it."""
        self._executor.live.outlive([self._work.run_id])
        self._ctx.cancel()

    def renew(self, deadline: float) -> None:
        """A thread freezes together with its worker: there is nothing to extend."""

    def execute(self) -> bool:
        """Run to the end; False when the outcome came too late to count."""
        if self._work.timeout_s is None:
            outcome = self._outcome()
        else:
            timer = self._executor.timers.after(self._work.timeout_s, self._time_out)
            outcome = self._outcome()
            timer.cancel()
        self._executor.live.end(self._work.run_id)
        return self._settlement.settle(outcome)

    def _outcome(self) -> Outcome:
        if self._handler is None:
            return calls.no_handler(self._work.job_type)
        # What a handler sets in its context must not reach the next one on this thread.
        return contextvars.copy_context().run(self._call, self._handler)

    def _call(self, handler: Handler) -> Outcome:
        logs = self._ctx.logs
        run_logs.route(logs)
        parents.enter(self._work.parent_id)
        try:
            return calls.call(handler, self._ctx, self._executor.result_limit)
        finally:
            run_logs.leave(logs)

    def _time_out(self) -> None:
        if self._work.timeout_s is not None and self._settlement.claim():
            log.warning(
                "job %s timed out, but its handler runs in a thread, which cannot be stopped: it "
                'goes on until it looks at ctx.cancelled; isolation="process" would end it',
                self._work.number,
            )
            self._executor.live.outlive([self._work.run_id])
            self._ctx.cancel()
            self._executor.threads.write_off()
            self._settlement.report(calls.timed_out(self._work.timeout_s))
