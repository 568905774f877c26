"""Calling a handler, and turning whatever happens into an outcome."""

import logging
from collections.abc import Callable
from typing import Any

from headway.domain.handlers import Handler
from headway.domain.retries import LONGEST_DELAY_S, RetryRules
from headway.domain.runs import Outcome, RunStatus
from headway.domain.signals import Fail, RetryAfter, Skip, Suspended
from headway.domain.values import durations, json_types
from headway.worker.context import JobContext
from headway.worker.executors import arounds, tracebacks

RESULT_LIMIT = 1024 * 1024
FORCED_EXIT_CODE = 143

log = logging.getLogger("headway.worker")

SWALLOWED = (
    "the handler swallowed headway.Suspended, by which a wait gives the slot back: let it pass,"
    " and catch Exception, not BaseException, around ctx.sleep, wait_for, call, map and gather"
)

_NOTHING = Outcome(status=RunStatus.COMPLETED)


def call(handler: Handler, ctx: JobContext, result_limit: int) -> Outcome:
    """Call a plain handler; no exception of its own gets out, not even SystemExit."""
    try:
        return returned(ctx, prepare(handler, ctx)(), result_limit)
    except BaseException as error:
        return raised(handler, ctx, error)


def call_async(handler: Handler, ctx: JobContext, result_limit: int) -> Outcome:
    """Call an async handler in an event loop of its own."""
    # Only this needs it, and a child process of a plain handler starts quicker without.
    import asyncio

    try:
        return returned(ctx, asyncio.run(prepare(handler, ctx)()), result_limit)
    except BaseException as error:
        return raised(handler, ctx, error)


def prepare(handler: Handler, ctx: JobContext) -> Callable[[], Any]:
    """The handler with its checked arguments and what is around it, ready to be called."""
    call = _bound(handler, ctx)
    return arounds.within(handler, ctx, call) if handler.arounds else call


def _bound(handler: Handler, ctx: JobContext) -> Callable[[], Any]:
    arguments = handler.check(ctx.params)
    if handler.wants_ctx:
        seen = ctx.awaited() if handler.is_async else ctx
        return lambda: handler.function(seen, **arguments)
    return lambda: handler.function(**arguments)


def returned(ctx: JobContext, result: Any, limit: int) -> Outcome:
    """The outcome of a handler that returned; one that was suspended must not."""
    if ctx.suspended_for is not None:  # and would again, however often it is tried
        return Outcome(status=RunStatus.FAILED, error=SWALLOWED, retry=False)
    return completed(result, limit)


def raised(handler: Handler, ctx: JobContext, error: BaseException) -> Outcome:
    """The outcome of a handler that raised: suspended, if that and nothing else came out."""
    if ctx.suspended_for is None:
        return outcome_of(error, handler.rules, ctx.attempt)
    if _is_nothing_but_suspended(error):
        return Outcome(status=RunStatus.SUSPENDED, wait=ctx.suspended_for)
    return failed(f"{SWALLOWED}\n\n{tracebacks.describe(error)}")


def _is_nothing_but_suspended(error: BaseException) -> bool:
    """Tasks of an async handler that are suspended together come out as a group."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_nothing_but_suspended, error.exceptions))
    return isinstance(error, Suspended)


def completed(result: Any, limit: int) -> Outcome:
    """The outcome of a handler that returned: its result as plain JSON values."""
    if result is None:
        return _NOTHING
    try:
        stored = json_types.stored("the result", result, limit)
    except ValueError as error:
        return failed(str(error))
    return Outcome(status=RunStatus.COMPLETED, result=stored)


def outcome_of(error: BaseException, rules: RetryRules | None = None, attempt: int = 0) -> Outcome:
    """The outcome of a handler that raised, by its own rules for retries."""
    if isinstance(error, Skip):
        return Outcome(status=RunStatus.SKIPPED, error=_storable(str(error)))
    if isinstance(error, RetryAfter):
        told = _storable(str(error))
        return Outcome(status=RunStatus.SUSPENDED, error=told, wait=error.wait)
    rules = rules or RetryRules()
    is_told = isinstance(error, Fail)
    reason = tracebacks.reason(error) if is_told else tracebacks.describe(error)
    return Outcome(
        status=RunStatus.FAILED,
        error=_storable(reason),
        retry=error.retry if isinstance(error, Fail) else rules.wants_retry(error),
        retry_after_s=_delay_s(rules, attempt),
    )


def _delay_s(rules: RetryRules, attempt: int) -> float | None:
    """What the handler's own function says; without a usable answer the retry policy decides."""
    if rules.backoff is None:
        return None
    try:
        return min(durations.parse(rules.backoff(attempt)), LONGEST_DELAY_S)
    except Exception:
        log.exception("the backoff function of a job cannot be used; its retry policy decides")
        return None


def failed(reason: str, exit_code: int | None = None) -> Outcome:
    """A plain failure."""
    return Outcome(status=RunStatus.FAILED, error=_storable(reason), exit_code=exit_code)


def crashed(reason: str, exit_code: int | None = None) -> Outcome:
    """A failure that took its process along."""
    return Outcome(
        status=RunStatus.FAILED, error=_storable(reason), exit_code=exit_code, crashed=True
    )


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
