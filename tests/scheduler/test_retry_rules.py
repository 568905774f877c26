"""Retry rules in the store: crashes are counted, and a snooze is no failure."""

from typing import Any

import pytest
from tests.helpers import MovableClock, claim, finish, job, run_next, runs_of, submit

from headway.domain import retries, states
from headway.domain.jobs import RetryState, WaitReason
from headway.domain.runs import RunStatus
from headway.scheduler.change import cancel, rewind
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import timekeeper, verify

SNOOZE: dict[str, Any] = {
    "status": RunStatus.SKIPPED,
    "error": "snoozed for 300 s",
    "snoozed": True,
    "retry_after_s": 300.0,
}


def wait(scheduler: Scheduler, clock: MovableClock, seconds: float) -> None:
    clock.move(seconds)
    timekeeper.run_due(scheduler, clock.now())


def crash(scheduler: Scheduler, clock: MovableClock) -> None:
    """Its worker says nothing more."""
    assert claim(scheduler)
    wait(scheduler, clock, 31)


def test_a_job_that_kills_its_worker_is_stopped_whatever_its_retries_say(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, retry_policy={"max_attempts": 50, "base_delay_s": 0})
    for _ in range(3):
        crash(scheduler, clock)
    assert [job(scheduler, number).crashes for number in (1, 2, 3)] == [1, 2, 3]
    last = job(scheduler, 3)
    assert (last.status, last.permanently_failed) == (states.TIMEOUT, True)
    assert last.retried_by is None


def test_failures_between_crashes_count_only_as_attempts(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, retry_policy={"max_attempts": 9, "base_delay_s": 0, "max_crashes": 2})
    crash(scheduler, clock)
    run_next(scheduler, RunStatus.FAILED, error="no")
    assert job(scheduler, 2).crashes == 1
    wait(scheduler, clock, 1)
    run_next(scheduler, RunStatus.FAILED, error="died", crashed=True)
    assert (job(scheduler, 3).crashes, job(scheduler, 3).retry_state) == (2, RetryState.EXHAUSTED)


def test_a_job_whose_time_is_up_has_not_crashed(scheduler: Scheduler, clock: MovableClock) -> None:
    submit(scheduler, timeout_s=10)
    claim(scheduler)
    wait(scheduler, clock, 11)
    assert (job(scheduler, 1).status, job(scheduler, 1).crashes) == (states.TIMEOUT, 0)


def test_a_rewound_job_has_not_crashed(scheduler: Scheduler, clock: MovableClock) -> None:
    submit(scheduler, retry_policy={"max_attempts": 0})
    crash(scheduler, clock)
    scheduler.store.write(lambda tx: rewind.rewind(scheduler, tx, 1))
    assert job(scheduler, 1).crashes == 0


def test_a_snooze_uses_up_no_attempt_and_no_retry(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, retry_policy={"max_attempts": 0})
    run_next(scheduler, **SNOOZE)
    first, second = job(scheduler, 1), job(scheduler, 2)
    assert (first.status, first.retry_state) == (states.CANCELLED, RetryState.SCHEDULED)
    assert first.wait_reason == WaitReason(kind="snoozed", detail="snoozed for 300 s")
    assert first.retried_by == second.job_id
    assert [run.status for run in runs_of(scheduler, 1)] == [RunStatus.SKIPPED]
    assert (second.attempt, second.chain_id, second.status) == (0, first.job_id, states.QUEUED)
    assert claim(scheduler) == []
    wait(scheduler, clock, 300)
    run_next(scheduler)
    assert job(scheduler, 2).status is states.SUCCEEDED
    assert verify.verify(scheduler) == []


def test_jobs_after_a_snoozed_one_wait_for_the_end_of_its_chain(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler)
    submit(scheduler, after=[1])
    run_next(scheduler, **SNOOZE)
    assert job(scheduler, 2).status is states.WAITING_ON_DEPS
    wait(scheduler, clock, 300)
    run_next(scheduler)
    assert job(scheduler, 2).status is states.QUEUED


def test_a_job_that_was_cancelled_meanwhile_is_not_put_off(scheduler: Scheduler) -> None:
    submit(scheduler)
    (started,) = claim(scheduler)
    scheduler.store.write(lambda tx: cancel.cancel(scheduler, tx, 1))
    finish(scheduler, started, **SNOOZE)
    assert (job(scheduler, 1).status, job(scheduler, 1).retried_by) == (states.CANCELLED, None)


def test_a_chain_cannot_put_itself_off_for_ever(
    scheduler: Scheduler, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "MOST_SNOOZES", 2)
    submit(scheduler)
    for _ in range(3):
        run_next(scheduler, **SNOOZE)
        wait(scheduler, clock, 300)
    last = job(scheduler, 3)
    assert (last.status, last.retry_state) == (states.FAILED, RetryState.SUPPRESSED)
    assert "put off 2 times" in str(last.error)
    assert verify.verify(scheduler) == []


def test_the_same_snooze_reported_again_changes_nothing(scheduler: Scheduler) -> None:
    submit(scheduler)
    (started,) = claim(scheduler)
    answers = [finish(scheduler, started, **SNOOZE) for _ in range(2)]
    assert [one.status for (one,) in answers] == [states.CANCELLED] * 2
    assert job(scheduler, 1).retried_by == job(scheduler, 2).job_id
