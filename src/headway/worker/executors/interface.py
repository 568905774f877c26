"""What every executor promises."""

import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from headway.domain.runs import Outcome
from headway.worker.context import JobContext, Work
from headway.worker.executors import process_hooks

Done = Callable[[Outcome], None]


class Running(Protocol):
    """A run that was started."""

    def stop(self) -> None:
        """End it by force, as far as that is possible; it returns at once."""

    def renew(self, deadline: float) -> None:
        """Let it live until this time on the monotonic clock, even if the worker freezes."""


class Executor(Protocol):
    """Starts runs."""

    def start(self, work: Work, ctx: JobContext, done: Done) -> Running:
        """Start a run and return at once; `done` is called exactly once, from any thread."""

    def together(self) -> contextlib.AbstractContextManager[None]:
        """What is started in this block may be handed over at its end, in one piece."""
        return contextlib.nullcontext()

    def on_loop(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run something else where async handlers run, and wait for its end."""
        return process_hooks.on_own_loop(coroutine)
