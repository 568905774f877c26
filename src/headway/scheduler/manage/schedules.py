"""Schedules: made, changed, removed, and looked at ahead of time."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import UNSET

from headway.domain import errors
from headway.domain.manage import cron
from headway.domain.manage.cron import Fire, Timetable
from headway.domain.manage.schedules import Schedule
from headway.domain.manage.templates import Template, TemplateStatus
from headway.domain.manage.tokens import Role
from headway.domain.requests import job_requests
from headway.domain.requests.schedule_requests import SchedulePatch, ScheduleRequest
from headway.domain.values import durations, priorities
from headway.scheduler import command_permission
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import params
from headway.storage.engine.transaction import DUE, Transaction
from headway.storage.manage import schedules, templates

MOST_CATCHUP = 10_000
MOST_PREVIEWED = 100
SHORTEST_PERIOD_S = 1.0

TIMES = ("cron", "every", "at")


def create(
    scheduler: Scheduler, tx: Transaction, request: ScheduleRequest, role: Role = Role.ADMIN
) -> Schedule:
    """A new schedule, which fires from now on with the rights of this role."""
    given = msgspec.structs.asdict(request)
    template = _template(tx, given.pop("template"))
    schedule = Schedule(
        schedule_id=scheduler.new_id(tx.now),
        template_id=template.template_id,
        written_by=role,
        created_at=tx.now,
        **_read(given, request.timezone),
    )
    _check(tx, schedule)
    _check_params(scheduler, schedule, template)
    command_permission.check_fire(tx, role, schedule)
    schedule = with_next(schedule, tx.now)
    schedules.insert(tx, schedule)
    tx.wake(DUE)
    return schedule


def get(tx: Transaction, name: str) -> Schedule:
    """A schedule by id or name."""
    schedule = schedules.find(tx, name)
    if schedule is None:
        raise errors.NotFound("schedule", name)
    return schedule


def change(
    scheduler: Scheduler,
    tx: Transaction,
    name: str,
    patch: SchedulePatch,
    role: Role = Role.ADMIN,
) -> Schedule:
    """Change a schedule, which from then on fires with the rights of this role."""
    old = get(tx, name)
    command_permission.check_schedule(tx, role, "change", old)
    everything = msgspec.structs.asdict(patch)
    given = {field: value for field, value in everything.items() if value is not UNSET}
    if not given:
        raise errors.InvalidRequest("", "there is nothing to change")
    template = _template(tx, given.pop("template")) if "template" in given else None
    if template is not None:
        given["template_id"] = template.template_id
    if sum(given.get(time) is not None for time in TIMES) == 1:
        given = {**dict.fromkeys(TIMES), **given}
    read = _read(given, given.get("timezone", old.timezone))
    new = msgspec.structs.replace(old, **read, written_by=role)
    _check(tx, new)
    if template is not None or "params" in given:
        _check_params(scheduler, new, template or _template(tx, new.template_id))
    command_permission.check_fire(tx, role, new)
    if any(getattr(old, time) != getattr(new, time) for time in (*TIMES, "timezone", "enabled")):
        new = with_next(new, tx.now)
    schedules.update(tx, new)
    tx.wake(DUE)
    return new


def enable(scheduler: Scheduler, tx: Transaction, name: str) -> Schedule:
    """The schedule fires again, from now on."""
    return change(scheduler, tx, name, SchedulePatch(enabled=True))


def disable(scheduler: Scheduler, tx: Transaction, name: str) -> Schedule:
    """The schedule does not fire until it is enabled."""
    return change(scheduler, tx, name, SchedulePatch(enabled=False))


def remove(tx: Transaction, name: str, role: Role = Role.ADMIN) -> Schedule:
    """The schedule is gone; its jobs stay."""
    schedule = get(tx, name)
    command_permission.check_schedule(tx, role, "delete", schedule)
    schedules.remove(tx, schedule.schedule_id)
    return schedule


def preview(tx: Transaction, name: str, n: int) -> list[Fire]:
    """The next fires, whether the schedule is enabled or not."""
    if not 1 <= n <= MOST_PREVIEWED:
        raise errors.InvalidRequest("n", f"{n} is not between 1 and {MOST_PREVIEWED}")
    schedule = get(tx, name)
    return cron.preview(timetable(schedule), tx.now, n, schedule.timezone)


def timetable(schedule: Schedule) -> Timetable:
    """When the schedule fires."""
    if schedule.cron is not None:
        return cron.parse(schedule.cron, schedule.timezone)
    if schedule.every is not None:
        return cron.every(schedule.every, schedule.created_at)
    assert schedule.at is not None
    return cron.at(schedule.at)


def _template(tx: Transaction, name: str) -> Template:
    template = templates.find(tx, name)
    if template is None:
        raise errors.UnknownTemplate(name)
    if template.status is TemplateStatus.ARCHIVED:
        raise errors.TemplateArchived(template.name)
    return template


def _read(given: Mapping[str, Any], timezone: str) -> dict[str, Any]:
    """Spans, priorities and local times may be written in short."""
    read = dict(given)
    if read.get("every") is not None:
        read["every"] = _span(read["every"])
    if read.get("priority") is not None:
        read["priority"] = priorities.read(read["priority"])
    if read.get("at") is not None:
        read["at"] = _moment(read["at"], timezone)
    return read


def _span(text: str | float) -> float:
    try:
        return durations.parse(text)
    except errors.InvalidDuration as error:
        raise error.at("every") from None


def _moment(moment: datetime, timezone: str) -> datetime:
    """A time without an offset is one of the schedule's timezone."""
    where = cron.zone(timezone)
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=where)).astimezone(UTC)
    except OverflowError:
        raise errors.InvalidRequest("at", "time out of range") from None


def _check(tx: Transaction, schedule: Schedule) -> None:
    if sum(getattr(schedule, time) is not None for time in TIMES) != 1:
        raise errors.InvalidRequest("cron", "give exactly one of cron, every and at")
    cron.zone(schedule.timezone)
    if schedule.every is not None and schedule.every < SHORTEST_PERIOD_S:
        raise errors.InvalidRequest("every", f"{schedule.every:g} s is less than a second")
    if not 1 <= schedule.catchup_limit <= MOST_CATCHUP:
        problem = f"{schedule.catchup_limit} is not between 1 and {MOST_CATCHUP}"
        raise errors.InvalidRequest("catchup_limit", problem)
    if schedule.name is not None:
        job_requests.check_name("name", schedule.name)
        other = schedules.find(tx, schedule.name)
        if other is not None and other.schedule_id != schedule.schedule_id:
            raise errors.NameTaken("schedule", schedule.name)


def _check_params(scheduler: Scheduler, schedule: Schedule, template: Template) -> None:
    """What every fire would be refused for is refused now."""
    given = params.merged(scheduler, template.params, schedule.params)
    params.encode(scheduler, template.job_type, given)


def with_next(schedule: Schedule, now: datetime) -> Schedule:
    """The schedule with its next fire; one that never comes is refused."""
    upcoming = timetable(schedule).next_after(now)
    if upcoming is None and schedule.enabled:
        raise errors.NeverFires("this schedule would never fire: its time has passed").at("at")
    return msgspec.structs.replace(schedule, next_trigger_at=upcoming if schedule.enabled else None)
