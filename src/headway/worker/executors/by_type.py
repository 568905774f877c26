"""The executor that belongs to a job type."""

import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

from headway.domain.jobs import COMMAND
from headway.domain.runs import Outcome
from headway.worker.context import JobContext, Work
from headway.worker.executors.interface import Executor, Running


class Executors(Executor):
    """Picks the executor by job type."""

    def __init__(
        self, handlers: Executor, processes: Executor, commands: Executor, isolated: set[str]
    ) -> None:
        self._handlers = handlers
        self._processes = processes
        self._commands = commands
        self._isolated = isolated

    def start(self, work: Work, ctx: JobContext, done: Callable[[Outcome], None]) -> Running:
        """Start the run where it belongs."""
        if work.job_type == COMMAND:
            return self._commands.start(work, ctx, done)
        chosen = self._processes if work.job_type in self._isolated else self._handlers
        return chosen.start(work, ctx, done)

    def together(self) -> contextlib.AbstractContextManager[None]:
        """Hand over the handlers that are started in this block in one piece."""
        return self._handlers.together()

    def on_loop(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run something else where async handlers run, and wait for its end."""
        return self._handlers.on_loop(coroutine)
