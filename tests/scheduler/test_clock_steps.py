"""The clock is set forward and back: nothing that lives is judged by it, nothing stays ahead."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from tests.helpers import (
    WORKER,
    MovableClock,
    claim,
    finish,
    job,
    newest_numbers,
    run_next,
    runs_of,
    submit,
)
from tests.servers import wait_for

from headway.domain import errors
from headway.domain.requests.job_requests import JobPatch
from headway.domain.requests.schedule_requests import ScheduleRequest
from headway.domain.requests.template_requests import TemplateRequest
from headway.domain.runs import RunStatus
from headway.domain.states import JobStatus
from headway.domain.values import moments
from headway.protocol.work_values import Started
from headway.scheduler.change import edit
from headway.scheduler.lease import leases
from headway.scheduler.manage import limits, schedules, templates
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import clock_steps, direct, timekeeper
from headway.scheduler.upkeep.clock_steps import Step
from headway.scheduler.upkeep.timekeeper import Timekeeper
from headway.storage import job_views
from headway.storage.engine.transaction import DUE

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
DAY_S = 24 * 3600.0


def step(scheduler: Scheduler, clock: MovableClock, seconds: float) -> datetime:
    """Set the clock, and let what is due happen as the timekeeper does; answers the new time."""
    watch = watching(clock)
    now = clock.move(seconds)
    found = watch.step()
    assert found is not None
    mend(scheduler, found)
    timekeeper.run_due(scheduler, now)
    return now


def mend(scheduler: Scheduler, found: Step) -> None:
    """Put a step of the clock right."""
    clock_steps.move(scheduler, found)
    clock_steps.tell(scheduler, found)


def watching(clock: MovableClock) -> clock_steps.ClockWatch:
    """A watch by which no time passes."""
    return clock_steps.ClockWatch(clock, ran=lambda: 0.0, passed=lambda: 0.0)


def expires_at(scheduler: Scheduler, started: Started) -> datetime:
    assert started.lease is not None
    lease_id = started.lease.lease_id
    return scheduler.store.read(lambda tx: leases.view(tx, lease_id)).expires_at


def test_a_clock_that_goes_as_time_passes_was_not_set(clock: MovableClock) -> None:
    ran, passed = iter([0.0, 5.0, 5.0, 5.0]), iter([0.0, 5.0, 5.0, 5.0])
    watch = clock_steps.ClockWatch(clock, ran=lambda: next(ran), passed=lambda: next(passed))
    clock.move(5.4)
    assert watch.step() is None
    clock.move(-3600)
    assert watch.step() == Step(by_s=-3600, set_by_s=-3600)
    assert watch.step() is None


def test_a_machine_that_was_suspended_has_a_clock_that_was_not_set(clock: MovableClock) -> None:
    passed = iter([0.0, DAY_S])
    watch = clock_steps.ClockWatch(clock, ran=lambda: 0.0, passed=lambda: next(passed))
    clock.move(DAY_S)
    assert watch.step() == Step(by_s=DAY_S, set_by_s=0, within_s=DAY_S)


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
    mend(scheduler, Step(by_s=DAY_S, set_by_s=DAY_S))
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
    shown = scheduler.store.read(lambda tx: job_views.read(tx, newest_numbers(tx)[::-1]))
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
    scheduler.store.write(lambda tx: limits.put(scheduler, tx, "calls", size=None, rate="1/min"))
    submit(scheduler, limits={"calls": 1})
    clock.move(DAY_S)
    run_next(scheduler, RunStatus.FAILED)
    now = step(scheduler, clock, -DAY_S)
    assert job(scheduler, 2).scheduled_for == now + timedelta(seconds=10)
    clock.move(10)
    timekeeper.run_due(scheduler, now)
    assert [one.number for one in claim(scheduler)] == [2]


HOUR_S = 3600.0


def waits_s(scheduler: Scheduler, number: int) -> float:
    """How long a job waits for its time; what it says of it must be that time."""
    shown = job(scheduler, number)
    assert shown.scheduled_for is not None
    assert shown.wait_reason is not None
    assert shown.wait_reason.detail == f"scheduled for {moments.show(shown.scheduled_for)}"
    return (shown.scheduled_for - scheduler.clock.now()).total_seconds()


@pytest.mark.parametrize("set_by_s", [-HOUR_S, -HOUR_S / 2, HOUR_S])
def test_a_delayed_job_waits_as_long_as_was_meant(
    scheduler: Scheduler, clock: MovableClock, set_by_s: float
) -> None:
    submit(scheduler, delay_s=2 * HOUR_S)
    clock.move(HOUR_S)
    submit(scheduler, delay_s=HOUR_S / 2)
    clock.move(60)
    step(scheduler, clock, set_by_s)
    assert [waits_s(scheduler, number) for number in (1, 2)] == [HOUR_S - 60, HOUR_S / 2 - 60]
    clock.move(HOUR_S / 2 - 60)
    timekeeper.run_due(scheduler, clock.now())
    assert [one.number for one in claim(scheduler, 2)] == [2]


def test_a_clock_that_is_set_there_and_back_leaves_delays_as_they_were(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, delay_s=2 * DAY_S)
    clock.move(60)
    for set_by_s in (DAY_S, -DAY_S):
        step(scheduler, clock, set_by_s)
    assert waits_s(scheduler, 1) == 2 * DAY_S - 60


def test_a_named_moment_stays_what_it_was(scheduler: Scheduler, clock: MovableClock) -> None:
    moment = NOON + timedelta(hours=2)
    submit(scheduler, scheduled_for=moment.isoformat())
    submit(scheduler, delay_s=60)
    patch = JobPatch(scheduled_for=moment)
    scheduler.store.write(lambda tx: edit.edit(scheduler, tx, 2, patch))
    step(scheduler, clock, -HOUR_S)
    assert [job(scheduler, number).scheduled_for for number in (1, 2)] == [moment, moment]


def test_other_changes_leave_a_delay_a_delay(scheduler: Scheduler, clock: MovableClock) -> None:
    submit(scheduler, delay_s=60)
    patch = JobPatch(priority=5)
    scheduler.store.write(lambda tx: edit.edit(scheduler, tx, 1, patch))
    step(scheduler, clock, -HOUR_S)
    assert waits_s(scheduler, 1) == 60


def test_the_wait_goes_on_while_the_machine_is_suspended(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, delay_s=2 * HOUR_S)
    clock.move(HOUR_S)
    mend(scheduler, Step(by_s=HOUR_S, set_by_s=0, within_s=HOUR_S))
    assert waits_s(scheduler, 1) == HOUR_S


def test_two_servers_that_see_one_step_move_a_delay_once(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, delay_s=2 * HOUR_S)
    step(scheduler, clock, -HOUR_S)
    mend(scheduler, Step(by_s=-HOUR_S, set_by_s=-HOUR_S))
    assert waits_s(scheduler, 1) == 2 * HOUR_S


def test_a_delay_that_was_given_by_the_new_clock_is_not_moved(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, delay_s=60)
    clock.move(-HOUR_S)
    submit(scheduler, delay_s=60)
    clock.move(2)
    mend(scheduler, Step(by_s=-HOUR_S, set_by_s=-HOUR_S, within_s=3))
    assert [waits_s(scheduler, number) for number in (1, 2)] == [58, 58]


@pytest.mark.parametrize(("every", "waits"), [("15m", 10), ("1d", 24 * 60 - 5)])
def test_a_new_interval_waits_as_long_as_was_meant(
    scheduler: Scheduler, clock: MovableClock, every: str, waits: float
) -> None:
    request = TemplateRequest(name="story", job_type="write")
    scheduler.store.write(lambda tx: templates.create(scheduler, tx, request, by_admin=True))
    schedule = ScheduleRequest(template="story", every=every)
    made = scheduler.store.write(lambda tx: schedules.create(scheduler, tx, schedule))
    clock.move(minutes=5)
    now = step(scheduler, clock, -HOUR_S)
    shown = scheduler.store.read(lambda tx: schedules.get(tx, made.schedule_id))
    assert shown.next_trigger_at == now + timedelta(minutes=waits)
    for _ in range(3):
        mend(scheduler, Step(by_s=-HOUR_S, set_by_s=-HOUR_S))
    assert scheduler.store.read(lambda tx: schedules.get(tx, made.schedule_id)) == shown
    clock.move(minutes=waits)
    timekeeper.run_due(scheduler, now)
    assert fire_times(scheduler) == [shown.next_trigger_at]


def test_no_run_took_less_than_no_time(scheduler: Scheduler, clock: MovableClock) -> None:
    submit(scheduler)
    (started,) = claim(scheduler)
    clock.move(-60)
    finish(scheduler, started)
    (run,) = runs_of(scheduler, started.number)
    assert run.duration_ms == 0


def test_a_clock_set_back_while_nothing_ran_is_noticed_at_the_start(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    assert clock_steps.step_while_away(scheduler) is None
    submit(scheduler)
    clock.move(-DAY_S)
    found = clock_steps.step_while_away(scheduler)
    assert found == Step(by_s=-DAY_S, set_by_s=-DAY_S)
    mend(scheduler, found)
    clock.move(3600)
    assert clock_steps.step_while_away(scheduler) is None, "seen again by the next server"


def test_a_clock_set_back_while_nothing_ran_is_noticed_after_the_first_new_event(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler)
    clock.move(-DAY_S)
    submit(scheduler)
    clock.move(5)
    ahead_s = DAY_S - 5
    found = clock_steps.step_while_away(scheduler)
    assert found == Step(by_s=-ahead_s, set_by_s=-ahead_s, within_s=5 + clock_steps.SMALLEST_S)


@pytest.mark.parametrize("lease", [True, False])
def test_a_delay_that_is_over_is_not_begun_anew_when_the_clock_is_set_back(
    scheduler: Scheduler, clock: MovableClock, lease: bool
) -> None:
    submit(scheduler, locks=["stove"])
    delayed = submit(scheduler, locks=["stove"], delay_s=10)
    if lease:
        (holder,) = claim(scheduler)
    else:
        run_next(scheduler)
    timekeeper.run_due(scheduler, clock.move(11))
    if lease:
        step(scheduler, clock, -DAY_S)
        finish(scheduler, holder)
    else:
        claim(scheduler, lease=False)
        step(scheduler, clock, -DAY_S)
        timekeeper.run_due(scheduler, clock.move(61))
    assert [one.number for one in claim(scheduler)] == [delayed.number]


def test_a_step_that_could_not_be_put_right_is_put_right_in_the_next_round(
    scheduler: Scheduler, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(scheduler)
    claim(scheduler)
    rounds = timekeeper.Rounds(scheduler, watching(clock))
    clock.move(DAY_S)
    with monkeypatch.context() as patched:
        patched.setattr(scheduler.store, "write", full_disk)
        with pytest.raises(errors.Unavailable):
            rounds.run()
    rounds.run()
    assert job(scheduler, 1).status is JobStatus.RUNNING


def test_a_step_that_is_put_right_late_moves_a_delay_once(
    scheduler: Scheduler, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(scheduler, delay_s=2 * HOUR_S)
    passed = [0.0]
    watch = clock_steps.ClockWatch(clock, ran=lambda: passed[0], passed=lambda: passed[0])
    rounds = timekeeper.Rounds(scheduler, watch)
    clock.move(HOUR_S)
    with monkeypatch.context() as patched:
        patched.setattr(clock_steps, "_move", full_disk)
        with pytest.raises(errors.Unavailable):
            rounds.run()
    mend(scheduler, Step(by_s=HOUR_S, set_by_s=HOUR_S))  # by another server
    submit(scheduler, delay_s=2 * HOUR_S)
    clock.move(300)
    passed[0] += 300
    rounds.run()
    assert [waits_s(scheduler, number) for number in (1, 2)] == [2 * HOUR_S - 300] * 2


def test_a_delay_that_was_given_while_a_step_could_not_be_put_right_is_not_moved(
    scheduler: Scheduler, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = [0.0]
    watch = clock_steps.ClockWatch(clock, ran=lambda: passed[0], passed=lambda: passed[0])
    rounds = timekeeper.Rounds(scheduler, watch)
    clock.move(HOUR_S)
    with monkeypatch.context() as patched:
        patched.setattr(clock_steps, "_move", full_disk)
        with pytest.raises(errors.Unavailable):
            rounds.run()
    submit(scheduler, delay_s=2 * HOUR_S)
    clock.move(300)
    passed[0] += 300
    rounds.run()
    assert waits_s(scheduler, 1) == 2 * HOUR_S - 300


def test_a_step_of_which_jobs_could_not_be_told_is_not_moved_again_with_the_next(
    scheduler: Scheduler, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(scheduler, delay_s=2 * HOUR_S)
    rounds = timekeeper.Rounds(scheduler, watching(clock))
    clock.move(HOUR_S)
    with monkeypatch.context() as patched:
        patched.setattr(clock_steps, "_tell_delays", full_disk)
        with pytest.raises(errors.Unavailable):
            rounds.run()
    clock.move(DAY_S)
    rounds.run()
    assert waits_s(scheduler, 1) == 2 * HOUR_S


def test_a_run_that_began_between_a_step_back_and_a_restart_keeps_its_deadline(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, timeout_s=20)
    clock.move(-DAY_S)
    claim(scheduler)
    clock.move(5)
    timekeeper.Rounds(scheduler, watching(clock)).run()
    assert job(scheduler, 1).status is JobStatus.RUNNING
    clock.move(15)
    timekeeper.run_due(scheduler, clock.now())
    assert job(scheduler, 1).status is JobStatus.TIMEOUT


def test_a_step_after_the_start_does_not_hide_one_from_before_it(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, delay_s=10)
    clock.move(-DAY_S)
    rounds = timekeeper.Rounds(scheduler, watching(clock))
    clock.move(-60)
    rounds.run()
    timekeeper.run_due(scheduler, clock.move(10))
    assert claim(scheduler)


def test_a_run_that_began_after_a_step_that_was_not_noticed_yet_keeps_its_deadline(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, timeout_s=20)
    passed = [0.0]
    watch = clock_steps.ClockWatch(clock, ran=lambda: passed[0], passed=lambda: passed[0])
    clock.move(-DAY_S)
    claim(scheduler)
    clock.move(5)
    passed[0] = 5.0
    found = watch.step()
    assert found is not None
    mend(scheduler, found)
    timekeeper.run_due(scheduler, clock.now())
    assert job(scheduler, 1).status is JobStatus.RUNNING


def test_a_step_after_one_that_was_noticed_is_found_at_the_next_start(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler)
    step(scheduler, clock, -DAY_S)
    clock.move(-DAY_S)
    submit(scheduler)
    found = clock_steps.step_while_away(scheduler)
    assert found is not None
    assert found.by_s == -DAY_S


def full_disk(*_: object, **__: object) -> None:
    """A write that fails."""
    raise errors.Unavailable("the disk is full")


def test_two_steps_of_the_clock_count_as_one() -> None:
    there = Step(by_s=60, set_by_s=50, within_s=5)
    back = Step(by_s=-20, set_by_s=-20, within_s=5)
    assert clock_steps.both(there, back) == Step(by_s=40, set_by_s=30, within_s=10)
    assert clock_steps.both(None, back) == back
    assert clock_steps.both(there, None) == there


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
    watch = watching(clock)
    clock.move(DAY_S)
    timekeeper.run_due(scheduler, clock.now(), watch.trusts)
    assert job(scheduler, started.number).status is JobStatus.RUNNING
    assert watch.step() == Step(by_s=DAY_S, set_by_s=DAY_S)
    timekeeper.run_due(scheduler, clock.now(), watch.trusts)
    assert job(scheduler, started.number).status is JobStatus.TIMEOUT
