"""Whether and when a failed job is tried again: a decision is a value."""

from datetime import datetime, timedelta

import msgspec

from headway.domain import states
from headway.domain.jobs import RetryPolicy
from headway.domain.states import JobStatus
from headway.domain.values.chance import Chance


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
) -> Decision:
    """What becomes of a failure; `attempt` counts from 0."""
    if not wanted:
        return LeaveAlone()
    if attempt >= policy.max_attempts:
        return GiveUp()
    return RetryAt(now + timedelta(seconds=delay_s(policy, attempt, source)))


def delay_s(policy: RetryPolicy, attempt: int, source: Chance) -> float:
    """10, 20, 40 s …, up to the policy's longest delay; with jitter, at least half of it."""
    delay = min(policy.base_delay_s * 2 ** min(attempt, 60), policy.max_delay_s)
    return float(delay * source.uniform(0.5, 1.0) if policy.jitter else delay)


def settles_its_chain(status: JobStatus) -> bool:
    """Whether a link decides for its chain: a success does, whatever is tried again after it."""
    return status in states.SUCCESS
