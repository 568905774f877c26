"""Work that was done a short while ago is not done again."""

from typing import Any

from tests.helpers import MovableClock, claim, finish, submit

from headway.domain.runs import RunStatus
from headway.scheduler.scheduler import Scheduler

REPORT: dict[str, Any] = {"dedup_key": "report", "dedup_window_s": 60}


def test_a_failure_inside_the_window_does_not_count(scheduler: Scheduler) -> None:
    submit(scheduler, **REPORT, retry_policy={"max_attempts": 0})
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    second = submit(scheduler, **REPORT)
    assert [one.number for one in claim(scheduler)] == [second.number]


def test_a_success_before_the_window_does_not_count(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, **REPORT)
    finish(scheduler, claim(scheduler))
    clock.move(61)
    second = submit(scheduler, **REPORT)
    assert [one.number for one in claim(scheduler)] == [second.number]
