"""The `after` gate: policies, chains, and blocking that spreads."""

import pytest
from tests.helpers import MovableClock, claim, finish, job, submit
from tests.scheduler.asking import keep_time, submit_all

from headway.domain import errors
from headway.domain.runs import RunStatus
from headway.domain.states import JobStatus
from headway.scheduler.change import cancel
from headway.scheduler.scheduler import Scheduler

ONCE = {"max_attempts": 0}


def detail(scheduler: Scheduler, number: int) -> str:
    reason = job(scheduler, number).wait_reason
    assert reason is not None
    assert reason.kind == "dependencies"
    return reason.detail


@pytest.mark.parametrize(
    ("policy", "outcome", "starts"),
    [
        ("success", RunStatus.COMPLETED, True),
        ("success", RunStatus.FAILED, False),
        ("finished", RunStatus.COMPLETED, True),
        ("finished", RunStatus.FAILED, True),
        ("failure", RunStatus.COMPLETED, False),
        ("failure", RunStatus.FAILED, True),
    ],
)
def test_a_policy_says_which_end_is_needed(
    scheduler: Scheduler, policy: str, outcome: RunStatus, starts: bool
) -> None:
    first = submit(scheduler, retry_policy=ONCE)
    second = submit(scheduler, after=[{"job": first.number, "policy": policy}])
    assert detail(scheduler, second.number) == f"waiting on job {first.job_id}"
    finish(scheduler, claim(scheduler), outcome)
    expected = JobStatus.QUEUED if starts else JobStatus.BLOCKED_BY_DEPENDENCY
    assert job(scheduler, second.number).status is expected


def test_a_dependency_waits_for_the_retry_of_a_failure(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    first = submit(scheduler)
    second = submit(scheduler, after=[first.number])
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    assert job(scheduler, second.number).status is JobStatus.WAITING_ON_DEPS
    clock.move(10)
    keep_time(scheduler)
    finish(scheduler, claim(scheduler))
    assert [one.number for one in claim(scheduler)] == [second.number]


def test_blocking_spreads_to_everything_behind(scheduler: Scheduler) -> None:
    first = submit(scheduler, retry_policy=ONCE)
    second = submit(scheduler, after=[first.number])
    third = submit(scheduler, after=[second.number])
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    assert detail(scheduler, second.number) == f"dependency failed for job {first.job_id} (failed)"
    expected = f"dependency failed for job {second.job_id} (blocked_by_dependency)"
    assert detail(scheduler, third.number) == expected


def test_a_cancelled_dependency_blocks(scheduler: Scheduler) -> None:
    first = submit(scheduler)
    second = submit(scheduler, after=[first.number])
    scheduler.store.write(lambda tx: cancel.cancel(scheduler, tx, first.number))
    expected = f"dependency failed for job {first.job_id} (cancelled)"
    assert detail(scheduler, second.number) == expected


def test_a_job_after_one_that_has_failed_is_blocked_at_once(scheduler: Scheduler) -> None:
    first = submit(scheduler, retry_policy=ONCE)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    second = submit(scheduler, after=[first.number])
    assert second.status is JobStatus.BLOCKED_BY_DEPENDENCY


def test_duplicated_dependencies_collapse(scheduler: Scheduler) -> None:
    first = submit(scheduler)
    second = submit(scheduler, after=[first.number, first.job_id, str(first.number)])
    assert len(second.after) == 1
    finish(scheduler, claim(scheduler))
    assert [one.number for one in claim(scheduler)] == [second.number]


def test_a_diamond_runs_in_order(scheduler: Scheduler) -> None:
    #      top
    #     /   \
    #  left   right
    #     \   /
    #    bottom
    submit_all(
        scheduler,
        {"ref": "top"},
        {"ref": "left", "after": ["ref:top"]},
        {"ref": "right", "after": ["ref:top"]},
        {"ref": "bottom", "after": ["ref:left", "ref:right"]},
    )
    waves = []
    while started := claim(scheduler, 10):
        waves.append([one.number for one in started])
        finish(scheduler, started)
    assert waves == [[1], [2, 3], [4]]


def test_a_circle_in_a_batch_is_refused_and_named(scheduler: Scheduler) -> None:
    with pytest.raises(errors.DependencyCycle, match="a -> b -> a"):
        submit_all(scheduler, {"ref": "a", "after": ["ref:b"]}, {"ref": "b", "after": ["ref:a"]})
    assert claim(scheduler) == []


def test_an_unknown_dependency_is_refused(scheduler: Scheduler) -> None:
    with pytest.raises(errors.UnknownReference):
        submit(scheduler, after=[99])
