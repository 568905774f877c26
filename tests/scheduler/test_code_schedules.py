"""Schedules in code: made, changed and retired when a server starts, and nothing else touched."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from tests.helpers import MovableClock, newest_numbers

from headway.domain.manage.code_schedules import Changes, Timing
from headway.domain.manage.schedules import Schedule
from headway.domain.requests.schedule_requests import SchedulePatch, ScheduleRequest
from headway.domain.requests.template_requests import TemplateRequest
from headway.scheduler.manage import code_schedules, schedules, templates
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import timekeeper, verify
from headway.storage.manage import schedules as kept

NIGHT, NOON = Timing(cron="0 3 * * *", timezone="Europe/Berlin"), Timing(cron="0 12 * * *")


def start(scheduler: Scheduler, app: str = "shop:app", **wanted: Sequence[Timing]) -> Changes:
    """A server with this app starts."""
    return scheduler.store.write(lambda tx: code_schedules.match(scheduler, tx, app, wanted))


def all_of(scheduler: Scheduler) -> list[Schedule]:
    """Every schedule, oldest first."""
    found = scheduler.store.read(lambda tx: kept.page(tx, template_id=None, before=None, count=100))
    return list(reversed(found.items))


def patch(scheduler: Scheduler, schedule: Schedule, **fields: Any) -> None:
    wanted = SchedulePatch(**fields)
    scheduler.store.write(lambda tx: schedules.change(scheduler, tx, schedule.schedule_id, wanted))


def test_a_start_makes_the_schedules_of_the_code_once(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    start(scheduler, report=[NIGHT], clean=[Timing(every=900.0)])
    assert start(scheduler, report=[NIGHT], clean=[Timing(every=900.0)]) == Changes()
    clean, report = all_of(scheduler)
    assert (report.cron, report.timezone, report.app) == ("0 3 * * *", "Europe/Berlin", "shop:app")
    assert clean.next_trigger_at == clock.now() + timedelta(minutes=15)
    assert verify.verify(scheduler) == []


def test_they_fire_as_other_schedules_do(scheduler: Scheduler, clock: MovableClock) -> None:
    start(scheduler, clean=[Timing(every=900.0)])
    started = clock.now()
    clock.move(900)
    timekeeper.run_due(scheduler, started)
    assert scheduler.store.read(newest_numbers) == [1]


def test_a_new_time_in_the_code_changes_the_schedule_and_keeps_a_persons_pause(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    start(scheduler, report=[NIGHT])
    patch(scheduler, all_of(scheduler)[0], enabled=False, priority=5)
    start(scheduler, report=[NOON])
    (changed,) = all_of(scheduler)
    assert (changed.cron, changed.timezone, changed.enabled) == ("0 12 * * *", "UTC", False)
    assert (changed.priority, changed.next_trigger_at) == (5, None)
    patch(scheduler, changed, enabled=True)
    assert all_of(scheduler)[0].next_trigger_at == clock.now() + timedelta(days=1)


def test_what_the_code_no_longer_says_is_retired(scheduler: Scheduler) -> None:
    start(scheduler, report=[NIGHT, NOON])
    start(scheduler, report=[NOON])
    assert [(one.cron, one.name) for one in all_of(scheduler)] == [
        ("0 12 * * *", "shop:app report 2")
    ]
    start(scheduler)
    assert all_of(scheduler) == []


def test_schedules_made_by_hand_and_by_other_apps_stay(scheduler: Scheduler) -> None:
    template = TemplateRequest(name="t", job_type="report")
    by_hand = ScheduleRequest(template="t", cron="0 3 * * *", timezone="Europe/Berlin")
    scheduler.store.write(lambda tx: templates.create(scheduler, tx, template, by_admin=True))
    scheduler.store.write(lambda tx: schedules.create(scheduler, tx, by_hand))
    start(scheduler, "other:app", report=[NIGHT])
    start(scheduler, report=[NIGHT])
    start(scheduler)
    assert sorted(str(one.app) for one in all_of(scheduler)) == ["None", "other:app"]


def test_an_edit_by_hand_of_what_the_code_says_lasts_until_the_next_start(
    scheduler: Scheduler,
) -> None:
    start(scheduler, report=[NIGHT])
    patch(scheduler, all_of(scheduler)[0], cron="1 1 * * *")
    start(scheduler, report=[NIGHT])
    assert [one.cron for one in all_of(scheduler)] == ["0 3 * * *"]


def test_a_function_that_comes_back_uses_its_template_again(scheduler: Scheduler) -> None:
    start(scheduler, report=[NIGHT])
    (first,) = all_of(scheduler)
    start(scheduler)
    start(scheduler, report=[NIGHT])
    assert [one.template_id for one in all_of(scheduler)] == [first.template_id]
