"""When the jobs of a function are made by themselves, as its decorator says."""

from collections.abc import Sequence

from headway.domain import errors
from headway.domain.handlers import Handler
from headway.domain.manage.code_schedules import Timing
from headway.domain.values import durations

SHORTEST_PERIOD_S = 1.0


def timings(
    handler: Handler,
    cron: str | Sequence[str],
    every: float | str | Sequence[float | str],
    timezone: str,
) -> tuple[Timing, ...]:
    """The timings of a handler, each checked; one that needs params can have none."""
    expressions = [cron] if isinstance(cron, str) else [*cron]
    spans = [every] if isinstance(every, str | int | float) else [*every]
    if not expressions and not spans:
        return ()
    _refuse_params(handler)
    found = [Timing(cron=_checked(one, timezone), timezone=timezone) for one in expressions]
    return (*found, *(Timing(every=_period(one)) for one in spans))


def _refuse_params(handler: Handler) -> None:
    try:
        handler.check({})
    except errors.InvalidParams as error:
        raise TypeError(
            f"handler {handler.job_type!r} has a schedule, and its jobs have no params: "
            f"give each parameter a default ({error.detail})"
        ) from None


def _checked(expression: str, timezone: str) -> str:
    # Only apps with a schedule wait for the reader of cron.
    from headway.domain.manage import cron

    cron.parse(expression, timezone)
    return expression


def _period(span: float | str) -> float:
    seconds = durations.parse(span)
    if seconds < SHORTEST_PERIOD_S:
        raise errors.InvalidRequest("every", f"{seconds:g} s is less than a second")
    return seconds
