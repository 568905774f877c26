"""The clock is set forward and back: nothing that lives is judged by it, nothing stays ahead."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from tests.helpers import WORKER, MovableClock, claim, finish, job, run_next, submit
from tests.servers import wait_for

from headway.domain.runs import RunStatus
from headway.domain.schedule_requests import ScheduleRequest
from headway.domain.states import JobStatus
from headway.domain.template_requests import TemplateRequest
from headway.scheduler import (
    clock_steps,
    direct,
    leases,
    limit_control,
    schedules,
    templates,
    timekeeper,
)
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.start import Started
from headway.scheduler.timekeeper import Timekeeper
from headway.storage import job_lists, jobs, runs
from headway.storage.job_lists import JobFilter
from headway.storage.transaction import DUE

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
DAY_S = 24 * 3600.0


def step(scheduler: Scheduler, clock: MovableClock, seconds: float) -> datetime:
    """Set the clock, and let what is due happen as the timekeeper does; answers the new time."""
    watch = clock_steps.ClockWatch(clock, passed=lambda: 0.0)
    now = clock.move(seconds)
    clock_steps.mend(scheduler, watch.step_s())
    timekeeper.run_due(scheduler, now)
    return now


def expires_at(scheduler: Scheduler, started: Started) -> datetime:
    assert started.lease is not None
    lease_id = started.lease.lease_id
    return scheduler.store.read(lambda tx: leases.view(tx, lease_id)).expires_at


def test_a_clock_that_goes_as_time_passes_was_not_set(clock: MovableClock) -> None:
    passed = iter([0.0, 5.0, 5.0, 5.0])
    watch = clock_steps.ClockWatch(clock, passed=lambda: next(passed))
    clock.move(5.4)
    assert watch.step_s() == 0
    clock.move(-3600)
    assert watch.step_s() == -3600
    assert watch.step_s() == 0


def test_a_lease_whose_worker_lives_outlasts_a_clock_that_is_set_forward(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, timeout_s=600)
    (started,) = claim(scheduler)
    now = step(scheduler, clock, DAY_S)
    assert job(scheduler, started.number).status is JobStatus.RUNNING
    assert expires_at(scheduler, started) == now + timedelta(seconds=30)
    clock.move(31)
    timekeeper.run_due(scheduler, now)
    assert job(scheduler, started.number).status is JobStatus.TIMEOUT


def test_two_servers_that_see_one_step_move_a_time_out_once(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, timeout_s=20)
    (started,) = claim(scheduler)
    step(scheduler, clock, DAY_S)
    clock_steps.mend(scheduler, DAY_S)
    assert expires_at(scheduler, started) == clock.now() + timedelta(seconds=20)


def test_a_worker_that_is_gone_is_noticed_after_the_clock_was_set_back(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler)
    (started,) = claim(scheduler)
    step(scheduler, clock, -DAY_S)
    clock.move(31)
    timekeeper.run_due(scheduler, clock.now())
    assert job(scheduler, started.number).status is JobStatus.TIMEOUT


def test_claims_and_the_reserved_slot_last_one_more_term(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler)
    claim(scheduler, lease=False)
    held = scheduler.store.write(lambda tx: direct.reserve(scheduler, tx, "somebody", None))
    step(scheduler, clock, DAY_S)
    assert job(scheduler, 1).status is JobStatus.CLAIMED
    shown = scheduler.store.read(lambda tx: direct.get(tx, held.reservation_id))
    assert shown.state == "ACTIVE"


@pytest.fixture
def hourly(scheduler: Scheduler) -> str:
    request = TemplateRequest(name="story", job_type="write")
    scheduler.store.write(lambda tx: templates.create(scheduler, tx, request, by_admin=True))
    schedule = ScheduleRequest(template="story", cron="0 * * * *")
    made = scheduler.store.write(lambda tx: schedules.create(scheduler, tx, schedule))
    return made.schedule_id


def fire_times(scheduler: Scheduler) -> list[datetime | None]:
    shown = scheduler.store.read(
        lambda tx: jobs.views(tx, job_lists.numbers(tx, JobFilter(), 500)[::-1])
    )
    return [one.fire_time for one in shown]


def test_schedules_fire_at_the_right_times_after_a_jump_forward_and_back(
    scheduler: Scheduler, clock: MovableClock, hourly: str
) -> None:
    step(scheduler, clock, DAY_S + 60)
    assert fire_times(scheduler) == [NOON + timedelta(days=1)]
    step(scheduler, clock, -DAY_S - 60)
    shown = scheduler.store.read(lambda tx: schedules.get(tx, hourly))
    assert shown.next_trigger_at == NOON + timedelta(hours=1)
    for _ in range(25):
        clock.move(hours=1)
        timekeeper.run_due(scheduler, NOON)
    hours = [NOON + timedelta(hours=count) for count in range(1, 26)]
    assert sorted(one for one in fire_times(scheduler) if one) == hours


def test_retries_and_rates_of_the_time_to_come_wait_no_longer_than_meant(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    scheduler.store.write(
        lambda tx: limit_control.put(scheduler, tx, "calls", size=None, rate="1/min")
    )
    submit(scheduler, limits={"calls": 1})
    clock.move(DAY_S)
    run_next(scheduler, RunStatus.FAILED)
    now = step(scheduler, clock, -DAY_S)
    assert job(scheduler, 2).scheduled_for == now + timedelta(seconds=10)
    clock.move(10)
    timekeeper.run_due(scheduler, now)
    assert [one.number for one in claim(scheduler)] == [2]


def test_no_run_took_less_than_no_time(scheduler: Scheduler, clock: MovableClock) -> None:
    submit(scheduler)
    (started,) = claim(scheduler)
    clock.move(-60)
    finish(scheduler, started)
    (run,) = scheduler.store.read(lambda tx: runs.of_job(tx, started.number))
    assert run.duration_ms == 0


def test_a_clock_set_back_while_nothing_ran_is_noticed_at_the_start(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    assert clock_steps.step_while_away(scheduler) == 0
    submit(scheduler)
    clock.move(-DAY_S)
    assert clock_steps.step_while_away(scheduler) == -DAY_S


@pytest.fixture
def running(scheduler: Scheduler) -> Iterator[Timekeeper]:
    made = Timekeeper(scheduler)
    made.start()
    yield made
    made.stop()


def test_the_timekeeper_sees_the_step_before_it_judges(
    scheduler: Scheduler, clock: MovableClock, running: Timekeeper
) -> None:
    submit(scheduler)
    (started,) = claim(scheduler, worker_id=WORKER)
    clock.move(DAY_S)
    scheduler.store.wakeups.tell({DUE})
    wait_for(lambda: expires_at(scheduler, started) > clock.now() or None, "a fresh lease")
    assert job(scheduler, started.number).status is JobStatus.RUNNING


def test_nothing_is_judged_by_a_clock_that_was_set_since_the_last_look(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler)
    (started,) = claim(scheduler, worker_id=WORKER)
    watch = clock_steps.ClockWatch(clock, passed=lambda: 0.0)
    clock.move(DAY_S)
    timekeeper.run_due(scheduler, clock.now(), watch.trusts)
    assert job(scheduler, started.number).status is JobStatus.RUNNING
    assert watch.step_s() == DAY_S
    timekeeper.run_due(scheduler, clock.now(), watch.trusts)
    assert job(scheduler, started.number).status is JobStatus.TIMEOUT
