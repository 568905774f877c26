"""Schedules: each fire once, whatever the clock and the servers do."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from tests.helpers import MovableClock, ask, claim, event_kinds, finish, newest_numbers

from headway.domain import errors, events
from headway.domain.jobs import Job
from headway.domain.manage.reservations import ReservationState
from headway.domain.manage.schedules import Schedule
from headway.domain.manage.tokens import Role
from headway.domain.requests.schedule_requests import SchedulePatch, ScheduleRequest
from headway.domain.requests.template_requests import TemplatePatch, TemplateRequest
from headway.operations.manage import schedules as operations
from headway.protocol.schedules import PreviewQuery, ScheduleQuery
from headway.scheduler.manage import schedules, templates
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import direct, timekeeper, trigger
from headway.storage import job_views
from headway.storage.manage import schedules as kept

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def template(scheduler: Scheduler) -> None:
    request = TemplateRequest(name="story", job_type="write", params={"genre": "horror", "n": 1})
    scheduler.store.write(lambda tx: templates.create(scheduler, tx, request, by_admin=True))


def make(scheduler: Scheduler, **fields: Any) -> Schedule:
    timing = {} if {"every", "at", "cron"} & fields.keys() else {"cron": "0 * * * *"}
    request = ScheduleRequest(**{"template": "story", **timing, **fields})
    return scheduler.store.write(lambda tx: schedules.create(scheduler, tx, request))


def change(scheduler: Scheduler, schedule: Schedule, **fields: Any) -> Schedule:
    patch = SchedulePatch(**fields)
    return scheduler.store.write(
        lambda tx: schedules.change(scheduler, tx, schedule.schedule_id, patch)
    )


def read(scheduler: Scheduler, schedule: Schedule) -> Schedule:
    return scheduler.store.read(lambda tx: schedules.get(tx, schedule.schedule_id))


def fire(scheduler: Scheduler, started_at: datetime = NOON) -> int:
    return scheduler.store.write(lambda tx: trigger.fire_due(scheduler, tx, started_at))


def made_jobs(scheduler: Scheduler) -> list[Job]:
    """Every job, oldest first."""
    return scheduler.store.read(lambda tx: job_views.read(tx, newest_numbers(tx)[::-1]))


def fire_times(scheduler: Scheduler) -> list[datetime | None]:
    return [job.fire_time for job in made_jobs(scheduler)]


def test_a_fire_makes_a_job_with_the_schedules_params_over_the_templates(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    schedule = make(scheduler, params={"n": 2}, priority="HIGH")
    assert schedule.next_trigger_at == NOON + HOUR
    clock.move(hours=1)
    fire(scheduler)
    (job,) = made_jobs(scheduler)
    assert job.params == {"genre": "horror", "n": 2}
    assert (job.schedule_id, job.fire_time) == (schedule.schedule_id, NOON + HOUR)
    assert job.priority == 10
    after = read(scheduler, schedule)
    assert after.last_triggered_at == NOON + HOUR
    assert after.next_trigger_at == NOON + 2 * HOUR
    assert events.SCHEDULE_FIRED in event_kinds(scheduler)


def test_nothing_fires_before_its_time_or_a_second_time(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    make(scheduler)
    assert fire(scheduler) == 0
    clock.move(hours=1)
    fire(scheduler)
    assert fire(scheduler) == 0
    assert len(made_jobs(scheduler)) == 1


def test_a_clock_that_steps_back_fires_nothing_twice(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    schedule = make(scheduler)
    clock.move(hours=1)
    fire(scheduler)
    clock.move(minutes=-30)
    fire(scheduler)
    change(scheduler, schedule, enabled=False)
    change(scheduler, schedule, enabled=True)
    clock.move(minutes=30)
    fire(scheduler)
    assert fire_times(scheduler) == [NOON + HOUR]


def test_a_late_timekeeper_fires_each_due_fire_once(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    make(scheduler)
    clock.move(hours=3, minutes=10)
    fire(scheduler)
    assert fire_times(scheduler) == [NOON + n * HOUR for n in (1, 2, 3)]


@pytest.mark.parametrize(
    ("fields", "hours"),
    [
        ({"catchup": "skip"}, [6]),
        ({}, [5, 6]),
        ({"catchup": "all"}, [1, 2, 3, 4, 5, 6]),
        ({"catchup": "all", "catchup_limit": 2}, [4, 5, 6]),
    ],
)
def test_fires_from_before_the_start_follow_catchup(
    scheduler: Scheduler, clock: MovableClock, fields: dict[str, Any], hours: list[int]
) -> None:
    make(scheduler, **fields)
    started = NOON + 5.5 * HOUR
    clock.set(NOON + 6 * HOUR)
    fire(scheduler, started)
    assert fire_times(scheduler) == [NOON + n * HOUR for n in hours]


def test_a_missed_single_moment_is_made_up_for_once(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    schedule = make(scheduler, at=NOON + HOUR)
    skipped = make(scheduler, at=NOON + HOUR, catchup="skip")
    clock.move(hours=2)
    fire(scheduler, NOON + 2 * HOUR)
    assert [job.schedule_id for job in made_jobs(scheduler)] == [schedule.schedule_id]
    assert read(scheduler, schedule).next_trigger_at is None
    assert read(scheduler, skipped).next_trigger_at is None
    assert events.SCHEDULE_SKIPPED in event_kinds(scheduler)


def test_a_clock_that_jumps_ahead_does_not_make_jobs_without_end(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    make(scheduler, every="1s")
    clock.move(days=1)
    fire(scheduler)
    assert len(made_jobs(scheduler)) == trigger.MOST_LATE
    assert fire_times(scheduler)[-1] == clock.now()


def test_overlap_skip_waits_for_the_earlier_job_to_end(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    make(scheduler, overlap="skip")
    clock.move(hours=1)
    fire(scheduler)
    clock.move(hours=1)
    fire(scheduler)
    assert len(made_jobs(scheduler)) == 1
    assert events.SCHEDULE_SKIPPED in event_kinds(scheduler)
    finish(scheduler, claim(scheduler))
    clock.move(hours=1)
    fire(scheduler)
    assert fire_times(scheduler) == [NOON + HOUR, NOON + 3 * HOUR]


def test_an_archived_template_makes_an_event_and_the_schedule_goes_on(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    schedule = make(scheduler)
    scheduler.store.write(lambda tx: templates.archive(tx, "story"))
    clock.move(hours=1)
    fire(scheduler)
    assert made_jobs(scheduler) == []
    assert event_kinds(scheduler) == [events.SCHEDULE_FAILED]
    after = read(scheduler, schedule)
    assert after.next_trigger_at == NOON + 2 * HOUR
    assert after.last_triggered_at is None


def test_a_disabled_schedule_does_not_fire(scheduler: Scheduler, clock: MovableClock) -> None:
    schedule = make(scheduler)
    disabled = scheduler.store.write(
        lambda tx: schedules.disable(scheduler, tx, schedule.schedule_id)
    )
    assert disabled.next_trigger_at is None
    clock.move(hours=1.5)
    assert fire(scheduler) == 0
    enabled = scheduler.store.write(
        lambda tx: schedules.enable(scheduler, tx, schedule.schedule_id)
    )
    assert enabled.next_trigger_at == NOON + 2 * HOUR


def test_a_single_moment_that_has_passed_can_be_disabled_but_not_enabled(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    schedule = make(scheduler, at=NOON + HOUR)
    clock.move(hours=2)
    fire(scheduler)
    change(scheduler, schedule, enabled=False)
    with pytest.raises(errors.NeverFires):
        change(scheduler, schedule, enabled=True)


def test_a_new_time_takes_the_old_ones_place(scheduler: Scheduler) -> None:
    schedule = make(scheduler)
    changed = change(scheduler, schedule, every="15m")
    assert (changed.cron, changed.every) == (None, 900.0)
    assert changed.next_trigger_at == NOON + timedelta(minutes=15)
    with pytest.raises(errors.InvalidRequest):
        change(scheduler, schedule, every=None)
    with pytest.raises(errors.InvalidRequest, match="nothing to change"):
        change(scheduler, schedule)


def test_a_moment_without_an_offset_is_one_of_the_schedules_timezone(scheduler: Scheduler) -> None:
    schedule = make(scheduler, at=datetime(2026, 7, 1, 9, 0), timezone="Europe/Berlin")
    assert schedule.at == datetime(2026, 7, 1, 7, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "fields",
    [
        {"cron": "0 0 30 2 *"},
        {"cron": "61 * * * *"},
        {"cron": "0 * * * *", "every": "1h"},
        {"cron": None},
        {"every": 0.01},
        {"every": "soon"},
        {"at": NOON - HOUR},
        {"at": datetime.min.replace(tzinfo=UTC)},
        {"timezone": "Mars/Base"},
        {"catchup_limit": 0},
        {"priority": "HIGHEST"},
        {"template": "nobody"},
        {"name": ""},
        {"params": {"x": float("inf")}},
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused(
    scheduler: Scheduler, fields: dict[str, Any]
) -> None:
    with pytest.raises(errors.Invalid):
        make(scheduler, **fields)


def test_a_name_is_used_once(scheduler: Scheduler) -> None:
    schedule = make(scheduler, name="hourly")
    with pytest.raises(errors.NameTaken):
        make(scheduler, name="hourly")
    found = scheduler.store.read(lambda tx: schedules.get(tx, "hourly"))
    assert found == schedule


def test_a_trigger_by_hand_makes_a_job_and_leaves_the_timetable(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    schedule = make(scheduler, enabled=False)
    number = scheduler.store.write(
        lambda tx: trigger.trigger_now(scheduler, tx, schedule.schedule_id)
    )
    assert [job.number for job in made_jobs(scheduler)] == [number]
    assert read(scheduler, schedule).last_triggered_at == NOON
    assert read(scheduler, schedule).next_trigger_at is None


def test_a_removed_schedule_leaves_its_jobs(scheduler: Scheduler, clock: MovableClock) -> None:
    schedule = make(scheduler)
    clock.move(hours=1)
    fire(scheduler)
    ask(operations.remove_schedule, scheduler, id=schedule.schedule_id)
    with pytest.raises(errors.NotFound):
        read(scheduler, schedule)
    assert made_jobs(scheduler)[0].schedule_id == schedule.schedule_id


def test_the_preview_shows_local_times_and_weekdays(scheduler: Scheduler) -> None:
    schedule = make(scheduler, cron="0 9 * * 1", timezone="Europe/Berlin")
    query = PreviewQuery(n=2)
    page = ask(operations.preview_schedule, scheduler, query=query, id=schedule.schedule_id)
    assert [fire.weekday for fire in page.items] == ["Monday", "Monday"]
    assert page.items[0].local.hour == 9
    query = PreviewQuery(n=101)
    with pytest.raises(errors.InvalidRequest):
        ask(operations.preview_schedule, scheduler, query=query, id=schedule.schedule_id)


def test_the_list_goes_page_by_page(scheduler: Scheduler) -> None:
    made = {make(scheduler).schedule_id for _ in range(3)}
    first = ask(operations.list_schedules, scheduler, query=ScheduleQuery(limit=2))
    rest = ScheduleQuery(limit=2, cursor=first.next_cursor)
    second = ask(operations.list_schedules, scheduler, query=rest)
    assert {one.schedule_id for one in (*first.items, *second.items)} == made
    none = ScheduleQuery(template_id="another")
    assert ask(operations.list_schedules, scheduler, query=none).items == []


def test_below_admin_a_command_is_scheduled_only_as_its_template_says(scheduler: Scheduler) -> None:
    command = TemplateRequest(name="list", job_type="command", params={"argv": ["ls"]})
    scheduler.store.write(lambda tx: templates.create(scheduler, tx, command, by_admin=True))
    other = ScheduleRequest(template="list", every="1h", params={"argv": ["rm"]})
    with pytest.raises(errors.Forbidden):
        ask(operations.create_schedule, scheduler, Role.SUBMIT, body=other)
    plain = ScheduleRequest(template="list", every="1h")
    made = ask(operations.create_schedule, scheduler, Role.SUBMIT, body=plain)
    patch = SchedulePatch(params={"argv": ["rm"]})
    with pytest.raises(errors.Forbidden):
        ask(operations.change_schedule, scheduler, Role.SUBMIT, body=patch, id=made.schedule_id)
    assert read(scheduler, made).params == {}


def test_a_schedule_whose_timezone_is_gone_keeps_no_other_from_firing(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    lost, other = make(scheduler), make(scheduler)
    nowhere = msgspec.structs.replace(lost, timezone="Mars/Olympus")
    scheduler.store.write(lambda tx: kept.update(tx, nowhere))
    clock.move(hours=1)
    timekeeper.run_due(scheduler, clock.now())
    assert read(scheduler, other).last_triggered_at == clock.now()
    assert events.SCHEDULE_FAILED in event_kinds(scheduler)
    assert read(scheduler, lost).next_trigger_at == clock.now() + trigger.LOOK_AGAIN_AFTER


def test_what_cannot_be_done_keeps_nothing_else_from_being_done(
    scheduler: Scheduler, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise ValueError("not today")

    reservation = scheduler.store.write(lambda tx: direct.reserve(scheduler, tx, "me", None))
    monkeypatch.setattr(trigger, "fire_due", fail)
    clock.move(hours=1)
    with pytest.raises(ExceptionGroup):
        timekeeper.run_due(scheduler, clock.now())
    ended = scheduler.store.read(lambda tx: direct.get(tx, reservation.reservation_id))
    assert ended.state is ReservationState.EXPIRED


def test_a_fire_makes_what_the_last_writer_of_the_schedule_may_submit(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    plain = TemplateRequest(name="plain", job_type="write")
    scheduler.store.write(lambda tx: templates.create(scheduler, tx, plain, by_admin=False))
    request = ScheduleRequest(template="plain", cron="0 * * * *", params={"argv": ["evil"]})
    planted = scheduler.store.write(
        lambda tx: schedules.create(scheduler, tx, request, Role.SUBMIT)
    )
    patch = TemplatePatch(job_type="command")
    scheduler.store.write(lambda tx: templates.change(scheduler, tx, "plain", patch, by_admin=True))
    clock.move(hours=1)
    fire(scheduler)
    assert made_jobs(scheduler) == []
    with pytest.raises(errors.Forbidden):
        scheduler.store.write(
            lambda tx: trigger.trigger_now(scheduler, tx, planted.schedule_id, Role.ADMIN)
        )
    change(scheduler, planted, params={"argv": ["good"]})
    clock.move(hours=1)
    fire(scheduler)
    assert [job.params for job in made_jobs(scheduler)] == [{"argv": ["good"]}]
