"""Operations on schedules."""

from typing import Any

import msgspec

from headway.api import paging
from headway.api.operation import Call, Nothing, Page, operation
from headway.domain.cron import Fire
from headway.domain.jobs import Job
from headway.domain.requests.schedule_requests import SchedulePatch, ScheduleRequest
from headway.domain.schedules import Schedule
from headway.domain.tokens import Role
from headway.domain.values import versions
from headway.scheduler.explain import status
from headway.scheduler.manage import schedules
from headway.scheduler.upkeep import trigger
from headway.storage import schedules as kept
from headway.storage.transaction import Transaction


class ScheduleQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Filter and paging of the list of schedules."""

    limit: int = 50
    cursor: str | None = None
    template_id: str | None = None


class PreviewQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many fires to look ahead."""

    n: int = 10


@operation("POST", "/api/schedules", Role.SUBMIT, body=ScheduleRequest, answer=Schedule, status=201)
def create_schedule(call: Call[ScheduleRequest, Nothing]) -> Any:
    """Create a schedule from a template and one of `cron`, `every` and `at`."""

    def work(tx: Transaction) -> Schedule:
        return schedules.create(call.scheduler, tx, call.body, call.principal.role)

    return call.change(work)


@operation("GET", "/api/schedules", Role.READ, query=ScheduleQuery, answer=Page[Schedule])
def list_schedules(call: Call[Nothing, ScheduleQuery]) -> Page[Schedule]:
    """List schedules, newest first."""
    query = call.query
    limit = paging.check_limit(query.limit)
    before = paging.read_cursor(query.cursor)
    found = call.scheduler.store.read(
        lambda tx: kept.page(tx, template_id=query.template_id, before=before, count=limit)
    )
    return paging.page_of(found, lambda schedule: schedule.schedule_id)


@operation("GET", "/api/schedules/{id}", Role.READ, answer=Schedule)
def get_schedule(call: Call[Nothing, Nothing]) -> Schedule:
    """Get one schedule, by id or name."""
    return call.scheduler.store.read(lambda tx: schedules.get(tx, call.path["id"]))


@operation("PATCH", "/api/schedules/{id}", Role.SUBMIT, body=SchedulePatch, answer=Schedule)
def change_schedule(call: Call[SchedulePatch, Nothing]) -> Any:
    """Change, enable or disable a schedule; its jobs stay as they are."""
    name = call.path["id"]

    def work(tx: Transaction) -> Schedule:
        versions.check(call.if_match, "schedule", name, schedules.get(tx, name))
        return schedules.change(call.scheduler, tx, name, call.body, call.principal.role)

    return call.change(work)


@operation("DELETE", "/api/schedules/{id}", Role.SUBMIT, answer=Schedule)
def remove_schedule(call: Call[Nothing, Nothing]) -> Any:
    """Delete a schedule; its jobs stay."""
    name = call.path["id"]

    def work(tx: Transaction) -> Schedule:
        versions.check(call.if_match, "schedule", name, schedules.get(tx, name))
        return schedules.remove(tx, name, call.principal.role)

    return call.change(work)


@operation("POST", "/api/schedules/{id}/trigger", Role.SUBMIT, answer=Job, status=201)
def trigger_schedule(call: Call[Nothing, Nothing]) -> Any:
    """Create a job from the schedule now."""

    def work(tx: Transaction) -> Job:
        role = call.principal.role
        number = trigger.trigger_now(call.scheduler, tx, call.path["id"], role)
        return status.view(call.scheduler, tx, number)

    return call.change(work)


@operation("GET", "/api/schedules/{id}/next", Role.READ, query=PreviewQuery, answer=Page[Fire])
def preview_schedule(call: Call[Nothing, PreviewQuery]) -> Page[Fire]:
    """List the next fires, with local times and weekdays."""
    found = call.scheduler.store.read(
        lambda tx: schedules.preview(tx, call.path["id"], call.query.n)
    )
    return Page(items=found)
