"""Retry rules in the store: crashes are counted, and a snooze is no failure."""

from tests.helpers import WORKER, MovableClock, claim, job, run_next, runs_of, submit

from headway.domain import states
from headway.domain.jobs import RetryState
from headway.domain.runs import RunStatus
from headway.domain.signals import RetryAfter
from headway.protocol.work_values import Report, ReportAnswer, Started
from headway.scheduler.change import cancel, rewind
from headway.scheduler.programs import reports
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import timekeeper, verify
from headway.worker.executors import calls


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
    submit(scheduler, "later", after=[1])
    (started,) = claim(scheduler)
    answers = [put_off(scheduler, started) for _ in range(2)]
    assert [one.status for one in answers] == [states.SUSPENDED] * 2
    (run,) = runs_of(scheduler, 1)
    assert (run.status, run.error) == (RunStatus.SUSPENDED, "snoozed for 300 s: busy")
    assert claim(scheduler) == []
    assert job(scheduler, 2).status is states.WAITING_ON_DEPS
    wait(scheduler, clock, 300)
    assert run_next(scheduler).attempt == 0
    assert [job(scheduler, one).status for one in (1, 2)] == [states.SUCCEEDED, states.QUEUED]
    assert verify.verify(scheduler) == []


def put_off(scheduler: Scheduler, started: Started) -> ReportAnswer:
    """A run says that it wants to be called later."""
    outcome = calls.outcome_of(RetryAfter("5m", "busy"))
    assert started.lease is not None
    report = Report(lease_id=started.lease.lease_id, outcome=outcome)
    return scheduler.store.write(lambda tx: reports.record(scheduler, tx, WORKER, [report]))[0]


def test_a_job_that_was_cancelled_meanwhile_is_not_put_off(scheduler: Scheduler) -> None:
    submit(scheduler)
    (started,) = claim(scheduler)
    scheduler.store.write(lambda tx: cancel.cancel(scheduler, tx, 1))
    assert put_off(scheduler, started).status is states.CANCELLED
