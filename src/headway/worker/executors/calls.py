"""Calling a handler, and turning whatever happens into an outcome."""

import json
from collections.abc import Callable
from typing import Any

import msgspec

from headway.domain.handlers import Handler
from headway.domain.runs import Outcome, RunStatus
from headway.domain.signals import Fail, Skip
from headway.domain.values import json_types
from headway.worker.context import JobContext
from headway.worker.executors import tracebacks

RESULT_LIMIT = 1024 * 1024
FORCED_EXIT_CODE = 143

_NOTHING = Outcome(status=RunStatus.COMPLETED)


def call(handler: Handler, ctx: JobContext, result_limit: int) -> Outcome:
    """Call a plain handler; no exception of its own gets out, not even SystemExit."""
    try:
        return completed(prepare(handler, ctx)(), result_limit)
    except BaseException as error:
        return outcome_of(error)


def call_async(handler: Handler, ctx: JobContext, result_limit: int) -> Outcome:
    """Call an async handler in an event loop of its own."""
    # Only this needs it, and a child process of a plain handler starts quicker without.
    import asyncio

    try:
        return completed(asyncio.run(prepare(handler, ctx)()), result_limit)
    except BaseException as error:
        return outcome_of(error)


def prepare(handler: Handler, ctx: JobContext) -> Callable[[], Any]:
    """The handler with its checked arguments, ready to be called."""
    arguments = handler.check(ctx.params)
    if handler.wants_ctx:
        return lambda: handler.function(ctx, **arguments)
    return lambda: handler.function(**arguments)


def completed(result: Any, limit: int) -> Outcome:
    """The outcome of a handler that returned: its result as plain JSON values."""
    if result is None:
        return _NOTHING
    try:
        encoded = json_types.encode(result)
        if b"null" in encoded:  # which is what NaN and infinity would become
            json.dumps(json_types.plain(result), allow_nan=False)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        kind = type(result).__name__
        return failed(f"the result (of type {kind}) cannot be written as JSON: {error}")
    if len(encoded) > limit:
        return failed(f"the result has {len(encoded)} bytes as JSON, the limit is {limit}")
    return Outcome(status=RunStatus.COMPLETED, result=msgspec.json.decode(encoded))


def outcome_of(error: BaseException) -> Outcome:
    """The outcome of a handler that raised."""
    if isinstance(error, Skip):
        return Outcome(status=RunStatus.SKIPPED, error=_storable(str(error)))
    if isinstance(error, Fail):
        reason = tracebacks.reason(error)
        return Outcome(status=RunStatus.FAILED, error=_storable(reason), retry=error.retry)
    return failed(tracebacks.describe(error))


def failed(reason: str, exit_code: int | None = None) -> Outcome:
    """A plain failure."""
    return Outcome(status=RunStatus.FAILED, error=_storable(reason), exit_code=exit_code)


def no_handler(job_type: str) -> Outcome:
    """The outcome of a job that should not have come to this worker."""
    return failed(f"this worker has no handler for {job_type!r}")


def timed_out(seconds: float, exit_code: int | None = None) -> Outcome:
    """The outcome of a run whose time was up."""
    return Outcome(
        status=RunStatus.FAILED,
        error=f"timed out after {seconds:g} s",
        exit_code=exit_code,
        timed_out=True,
    )


def stopped() -> Outcome:
    """The outcome of a run that was ended by force."""
    return failed("stopped by force", FORCED_EXIT_CODE)


def without_traceback(error: str) -> str:
    """Type and message alone, for those to whom the frames say nothing."""
    return error.partition(tracebacks.BEGIN)[0]


def _storable(text: str) -> str:
    """Without what no database takes: NULs and halves of characters."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()
