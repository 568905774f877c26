"""What an app wants done in each process that runs its handlers: at its start, and at its end."""

import inspect
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

log = logging.getLogger("headway.worker")

Runs = Callable[[Coroutine[Any, Any, Any]], Any]
"""Runs a coroutine to its end: on the event loop of the async handlers, or on one of its own."""


def on_own_loop(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine on a loop of its own."""
    # Most apps have no async hooks, and it is large.
    import asyncio

    return asyncio.run(coroutine)


def start_up(hooks: Sequence[Callable[[], Any]], run: Runs = on_own_loop) -> None:
    """Call the hooks in their order; one that raises keeps the process from running handlers."""
    for hook in hooks:
        _call(hook, run)


def shut_down(hooks: Sequence[Callable[[], Any]], run: Runs = on_own_loop) -> None:
    """Call the hooks, the last one first; one that raises does not keep the others from it."""
    for hook in reversed(hooks):
        try:
            _call(hook, run)
        except Exception:
            log.exception("a hook failed at the end of the process")


def _call(hook: Callable[[], Any], run: Runs) -> None:
    made = hook()
    if inspect.iscoroutine(made):
        run(made)
