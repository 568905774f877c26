"""Whether and when a failure is tried again."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from headway.domain import retries
from headway.domain.jobs import RetryPolicy

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def decide(attempt: int, *, wanted: bool = True, **policy: float) -> retries.Decision:
    return retries.decide(
        RetryPolicy(**policy),  # type: ignore[arg-type]
        attempt=attempt,
        wanted=wanted,
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
