"""Operations on schedules."""

from headway.domain.jobs import Job
from headway.domain.manage.cron import Fire
from headway.domain.manage.schedules import Schedule
from headway.domain.requests.schedule_requests import SchedulePatch, ScheduleRequest
from headway.domain.values import versions
from headway.operations import paging
from headway.operations.bound import Call, serves
from headway.protocol import schedules as protocol
from headway.protocol.operation import Nothing, Page
from headway.protocol.schedules import PreviewQuery, ScheduleQuery
from headway.scheduler.explain import status
from headway.scheduler.manage import schedules
from headway.scheduler.upkeep import trigger
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import schedules as kept


@serves(protocol.create_schedule)
def create_schedule(call: Call[ScheduleRequest, Nothing], tx: Transaction) -> Schedule:
    """Create a schedule from a template and one of `cron`, `every` and `at`."""
    return schedules.create(call.scheduler, tx, call.body, call.principal.role)


@serves(protocol.list_schedules)
def list_schedules(call: Call[Nothing, ScheduleQuery], tx: Transaction) -> Page[Schedule]:
    """List schedules, newest first."""
    query = call.query
    limit = paging.check_limit(query.limit)
    before = paging.read_cursor(query.cursor)
    found = kept.page(tx, template_id=query.template_id, before=before, count=limit)
    return paging.page_of(found, lambda schedule: schedule.schedule_id)


@serves(protocol.get_schedule)
def get_schedule(call: Call[Nothing, Nothing], tx: Transaction) -> Schedule:
    """Get one schedule, by id or name."""
    return schedules.get(tx, call.path["id"])


@serves(protocol.change_schedule)
def change_schedule(call: Call[SchedulePatch, Nothing], tx: Transaction) -> Schedule:
    """Change, enable or disable a schedule; its jobs stay as they are."""
    name = call.path["id"]
    versions.check(call.if_match, "schedule", name, schedules.get(tx, name))
    return schedules.change(call.scheduler, tx, name, call.body, call.principal.role)


@serves(protocol.remove_schedule)
def remove_schedule(call: Call[Nothing, Nothing], tx: Transaction) -> Schedule:
    """Delete a schedule; its jobs stay."""
    name = call.path["id"]
    versions.check(call.if_match, "schedule", name, schedules.get(tx, name))
    return schedules.remove(tx, name, call.principal.role)


@serves(protocol.trigger_schedule)
def trigger_schedule(call: Call[Nothing, Nothing], tx: Transaction) -> Job:
    """Create a job from the schedule now."""
    number = trigger.trigger_now(call.scheduler, tx, call.path["id"], call.principal.role)
    return status.view(call.scheduler, tx, number)


@serves(protocol.preview_schedule)
def preview_schedule(call: Call[Nothing, PreviewQuery], tx: Transaction) -> Page[Fire]:
    """List the next fires, with local times and weekdays."""
    return Page(items=schedules.preview(tx, call.path["id"], call.query.n))
