"""A run in a handler process, as the server sees it."""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from headway.domain.runs import Outcome
from headway.worker.context import JobContext, Work
from headway.worker.executors import calls
from headway.worker.executors.interface import Done
from headway.worker.pool import messages

if TYPE_CHECKING:
    from headway.worker.pool.process import HandlerProcess

GRACE_S = 10.0
"""How long a run that has to stop may go on before its process gets no more work."""

CRASHED = "Scheduler crash recovery"

log = logging.getLogger("headway.worker")


class PooledRun:
    """One run, from the moment it is handed over until its outcome is known."""

    __slots__ = ("_done", "_stopped", "ctx", "process", "when_stopped", "work")

    def __init__(
        self, work: Work, ctx: JobContext, done: Done, when_stopped: Callable[["PooledRun"], None]
    ) -> None:
        self.work = work
        self.ctx = ctx
        self.process: HandlerProcess | None = None
        """Where it runs; None while no process is ready."""
        self.when_stopped = when_stopped
        self._done = done
        self._stopped = False

    def begin(self, process: "HandlerProcess") -> None:
        """Have a process start it."""
        self.process = process
        process.send(messages.Start.of(self.work))
        self.ctx.when_cancelled(self.cancel)
        if self._stopped:
            process.send(messages.Stop(self.work.run_id))

    def advance(self, fraction: float | None, message: str | None) -> None:
        """It said how far it is."""
        if fraction is not None:
            self.ctx.progress(fraction, message)

    def cancel(self) -> None:
        """Ask it to end by itself."""
        if self.process is not None:
            self.process.send(messages.Cancel(self.work.run_id))

    def stop(self) -> None:
        """Ask its thread to end; a process that keeps such a thread for long is replaced."""
        self._stopped = True
        if self.process is not None:
            self.process.send(messages.Stop(self.work.run_id))
        self.when_stopped(self)

    def renew(self, deadline: float) -> None:
        """Its process lives for as long as the server renews leases at all."""

    def settle(self, outcome: Outcome) -> None:
        """It has ended; a failing receiver must not take the thread that tells it along."""
        self.ctx.when_cancelled(_ignore)  # no reference cycle for every run
        try:
            self._done(outcome)
        except Exception:
            log.exception("an outcome could not be reported")

    def crash(self, how: str, exit_code: int | None) -> None:
        """Its process is gone."""
        if self._stopped:
            self.settle(calls.stopped())
        else:
            self.settle(calls.crashed(f"{CRASHED}: the process of its handler {how}", exit_code))


def _ignore() -> None:
    """The run is over: there is nothing to cancel."""
