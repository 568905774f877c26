"""Whether and when a failure is tried again."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from headway.domain import retries
from headway.domain.jobs import RetryPolicy
from headway.domain.signals import RetryAfter

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def decide(
    attempt: int,
    *,
    wanted: bool = True,
    crashes: int = 0,
    after_s: float | None = None,
    **policy: float | str,
) -> retries.Decision:
    return retries.decide(
        msgspec.convert(policy, RetryPolicy),
        attempt=attempt,
        wanted=wanted,
        crashes=crashes,
        after_s=after_s,
        now=NOW,
        source=random.Random(1),
    )


@pytest.mark.parametrize(("attempt", "seconds"), [(0, 10), (1, 20), (2, 40)])
def test_the_delay_doubles(attempt: int, seconds: int) -> None:
    assert decide(attempt) == retries.RetryAt(NOW + timedelta(seconds=seconds))


def test_after_three_retries_it_gives_up() -> None:
    assert decide(3) == retries.GiveUp()


def test_without_retries_it_gives_up_at_once() -> None:
    assert decide(0, max_attempts=0) == retries.GiveUp()


def test_a_job_that_is_not_wanted_again_is_not_retried() -> None:
    assert decide(0, wanted=False) == retries.LeaveAlone()


@pytest.mark.parametrize("attempt", [9, 100, 900])
def test_the_delay_has_an_upper_end(attempt: int) -> None:
    found = decide(attempt, max_attempts=1000)
    assert found == retries.RetryAt(NOW + timedelta(hours=1))


def test_jitter_shortens_the_delay_by_half_at_most() -> None:
    policy = RetryPolicy(jitter=True)
    delays = [retries.delay_s(policy, 0, random.Random(seed)) for seed in range(100)]
    assert all(5 <= delay <= 10 for delay in delays)
    assert len(set(delays)) > 50


@pytest.mark.parametrize("attempt", [0, 1, 7])
def test_a_fixed_delay_does_not_grow(attempt: int) -> None:
    found = decide(attempt, backoff="fixed", base_delay_s=15.0, max_attempts=9)
    assert found == retries.RetryAt(NOW + timedelta(seconds=15))


def test_the_delay_that_a_worker_wants_goes_before_the_policys() -> None:
    assert decide(2, after_s=7.0) == retries.RetryAt(NOW + timedelta(seconds=7))
    assert decide(3, after_s=7.0) == retries.GiveUp()


@pytest.mark.parametrize(
    ("crashes", "policy", "ends"),
    [(2, {}, False), (3, {}, True), (1, {"max_crashes": 1}, True), (3, {"max_attempts": 99}, True)],
)
def test_crashes_have_a_limit_of_their_own(
    crashes: int, policy: dict[str, Any], ends: bool
) -> None:
    assert (decide(0, crashes=crashes, **policy) == retries.GiveUp()) is ends


@pytest.mark.parametrize(("delay", "slept_s"), [("5m", 300), (0, 1)])
def test_a_snooze_is_a_sleep_of_a_second_at_least(delay: float | str, slept_s: float) -> None:
    assert RetryAfter(delay).wait.delay_s == slept_s


@pytest.mark.parametrize(
    ("rules", "error", "wanted"),
    [
        ({}, KeyError(), True),
        ({"retry_on": (OSError,)}, ConnectionError(), True),
        ({"retry_on": (OSError,)}, ValueError(), False),
        ({"give_up_on": (ValueError,)}, UnicodeDecodeError("x", b"", 0, 1, "y"), False),
        ({"give_up_on": (ValueError,)}, OSError(), True),
        ({"retry_on": (OSError,), "give_up_on": (ConnectionError,)}, ConnectionError(), False),
        ({"retry_on": ()}, OSError(), False),
    ],
)
def test_a_handlers_rules_say_which_exceptions_are_worth_a_retry(
    rules: dict[str, Any], error: BaseException, wanted: bool
) -> None:
    assert retries.RetryRules(**rules).wants_retry(error) is wanted
