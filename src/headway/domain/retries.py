"""Whether and when a failed job is tried again: a decision is a value."""

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from headway.domain import states
from headway.domain.jobs import Backoff, RetryPolicy
from headway.domain.states import JobStatus
from headway.domain.values.chance import Chance

LONGEST_DELAY_S = 10 * 365 * 86400.0


class RetryAt(msgspec.Struct, frozen=True):
    """Try again at this moment."""

    moment: datetime


class GiveUp(msgspec.Struct, frozen=True):
    """Every automatic attempt was used."""


class LeaveAlone(msgspec.Struct, frozen=True):
    """It was cancelled, or the handler said that a retry is no use."""


Decision = RetryAt | GiveUp | LeaveAlone


def decide(
    policy: RetryPolicy,
    *,
    attempt: int,
    wanted: bool,
    now: datetime,
    source: Chance,
    crashes: int = 0,
    after_s: float | None = None,
) -> Decision:
    """What becomes of a failure; `attempt` counts from 0, `crashes` with this one if it is one.

    `after_s` is a delay that the worker wants in place of the policy's.
    """
    if not wanted:
        return LeaveAlone()
    if attempt >= policy.max_attempts or crashes >= policy.max_crashes:
        return GiveUp()
    seconds = delay_s(policy, attempt, source) if after_s is None else after_s
    return RetryAt(now + timedelta(seconds=seconds))


def delay_s(policy: RetryPolicy, attempt: int, source: Chance) -> float:
    """10, 20, 40 s …, up to the policy's longest delay; with jitter, at least half of it."""
    doubled = 0 if policy.backoff is Backoff.FIXED else min(attempt, 60)
    delay = min(policy.base_delay_s * 2**doubled, policy.max_delay_s)
    return float(delay * source.uniform(0.5, 1.0) if policy.jitter else delay)


def settles_its_chain(status: JobStatus) -> bool:
    """Whether a link decides for its chain: a success does, whatever is tried again after it."""
    return status in states.SUCCESS


class RetryRules(msgspec.Struct, frozen=True, kw_only=True):
    """What a handler's own code says about trying again: only its worker can ask it."""

    retry_on: tuple[type[BaseException], ...] | None = None
    give_up_on: tuple[type[BaseException], ...] = ()
    backoff: Callable[[int], float | str] | None = None

    def wants_retry(self, error: BaseException) -> bool:
        """Whether this exception is worth another attempt."""
        if isinstance(error, self.give_up_on):
            return False
        return self.retry_on is None or isinstance(error, self.retry_on)
