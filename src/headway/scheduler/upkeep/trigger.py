"""The schedule trigger: the jobs that schedules make when their time comes."""

from datetime import datetime, timedelta
from typing import Any

import msgspec

from headway.domain import errors, events
from headway.domain.manage import cron
from headway.domain.manage.schedules import Catchup, Overlap, Schedule
from headway.domain.manage.tokens import Role
from headway.domain.requests.job_requests import JobRequest
from headway.scheduler import command_permission
from headway.scheduler.manage.schedules import get, timetable
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import submit
from headway.scheduler.submit.plan import Origin
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import schedules

BATCH = 1000
MOST_LATE = 1000
"""A clock that jumps ahead makes a schedule late by this many fires, not by millions."""

LOOK_AGAIN_AFTER = timedelta(hours=1)
"""When a schedule is tried again whose timetable cannot be read, as its timezone is gone."""

_MILLISECOND = timedelta(milliseconds=1)


def fire_due(scheduler: Scheduler, tx: Transaction, started_at: datetime) -> int:
    """Fire what is due, each fire once; return how many schedules were checked.

    A fire from before `started_at` was missed and follows the schedule's `catchup`. One from after
    it is only late, and fires.
    """
    due = schedules.due(tx, BATCH)
    for schedule in due:
        try:
            following = timetable(schedule).next_after(tx.now)
        except errors.HeadwayError as error:  # its own trouble: the others fire
            facts = _facts(schedule, tx.now) | {"code": error.code, "error": error.detail}
            tx.note(events.SCHEDULE_FAILED, None, facts)
            later = tx.now + LOOK_AGAIN_AFTER
            schedules.update(tx, msgspec.structs.replace(schedule, next_trigger_at=later))
            continue
        fires = _fires_to_make(tx, schedule, started_at)
        fired = [one for one in fires if _fire(scheduler, tx, schedule, one)]
        moved = msgspec.structs.replace(
            schedule,
            last_triggered_at=tx.now if fired else schedule.last_triggered_at,
            next_trigger_at=following,
        )
        schedules.update(tx, moved)
    return len(due)


def look_again(tx: Transaction, set_by: timedelta, after: str) -> str | None:
    """The clock was set: no schedule waits longer than its timetable says.

    Returns after which id the next call goes on, if at all. A time that has fired stays fired.
    """
    found = schedules.ahead(tx, after, BATCH)
    for one in found:
        schedule = _made_by_now(one, set_by, tx.now)
        try:
            following = timetable(schedule).next_after(tx.now)
        except errors.HeadwayError:
            continue  # it is reported when the schedule is due
        moved = msgspec.structs.replace(schedule, next_trigger_at=following)
        if moved != one:
            schedules.update(tx, moved)
    return found[-1].schedule_id if len(found) == BATCH else None


def _made_by_now(schedule: Schedule, set_by: timedelta, now: datetime) -> Schedule:
    """The schedule as if it had been made by the new clock: `every` counts from then."""
    if schedule.created_at <= now:
        return schedule
    made = min(schedule.created_at + set_by, now)
    return msgspec.structs.replace(schedule, created_at=made)


def trigger_now(scheduler: Scheduler, tx: Transaction, name: str, role: Role = Role.ADMIN) -> int:
    """Make a job now, whatever the timetable says; return its number."""
    schedule = get(tx, name)
    command_permission.check_schedule(tx, role, "trigger", schedule)
    number = _make_job(scheduler, tx, schedule, tx.now, role)
    tx.note(events.SCHEDULE_FIRED, number, _facts(schedule, tx.now) | {"by_hand": True})
    schedules.update(tx, msgspec.structs.replace(schedule, last_triggered_at=tx.now))
    return number


def _fires_to_make(tx: Transaction, schedule: Schedule, started_at: datetime) -> list[datetime]:
    """Those of the missed fires that are made up for, and all later ones up to now."""
    assert schedule.next_trigger_at is not None
    times = timetable(schedule)
    before_due = schedule.next_trigger_at - _MILLISECOND
    before_start = max(before_due, min(started_at - _MILLISECOND, tx.now))
    wanted = {Catchup.SKIP: 0, Catchup.ONE: 1, Catchup.ALL: schedule.catchup_limit}
    missed = cron.missed(times, before_due, before_start, max(1, wanted[schedule.catchup]))
    if missed and not wanted[schedule.catchup]:
        facts = _facts(schedule, missed[-1]) | {"reason": "missed"}
        tx.note(events.SCHEDULE_SKIPPED, None, facts)
        missed = []
    return missed + cron.missed(times, before_start, tx.now, MOST_LATE)


def _fire(
    scheduler: Scheduler,
    tx: Transaction,
    schedule: Schedule,
    fire_time: datetime,
) -> bool:
    """Make the job of one fire; what prevents it becomes an event, and all goes on."""
    if not schedules.take_fire(tx, schedule.schedule_id, fire_time):
        return False
    facts = _facts(schedule, fire_time)
    overlaps = schedule.overlap is Overlap.SKIP
    if overlaps and schedules.has_active_job(tx, schedule.schedule_id):
        tx.note(events.SCHEDULE_SKIPPED, None, facts | {"reason": "overlap"})
        return False
    try:
        number = _make_job(scheduler, tx, schedule, fire_time, schedule.written_by)
    except errors.HeadwayError as error:
        facts |= {"code": error.code, "error": error.detail}
        tx.note(events.SCHEDULE_FAILED, None, facts)
        return False
    schedules.set_fire_job(tx, schedule.schedule_id, fire_time, number)
    tx.note(events.SCHEDULE_FIRED, number, facts)
    return True


def _make_job(
    scheduler: Scheduler, tx: Transaction, schedule: Schedule, fire_time: datetime, role: Role
) -> int:
    command_permission.check_fire(tx, role, schedule)
    request = JobRequest(template=schedule.template_id, priority=schedule.priority)
    origin = Origin(schedule_id=schedule.schedule_id, fire_time=fire_time, params=schedule.params)
    return submit.submit_all(scheduler, tx, [request], origin)[0].number


def _facts(schedule: Schedule, fire_time: datetime) -> dict[str, Any]:
    return {"schedule_id": schedule.schedule_id, "fire_time": fire_time}
