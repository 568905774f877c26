"""Operations on schedules."""

import msgspec

from headway.domain.jobs import Job
from headway.domain.manage.cron import Fire
from headway.domain.manage.schedules import Schedule
from headway.domain.manage.tokens import Role
from headway.domain.requests.schedule_requests import SchedulePatch, ScheduleRequest
from headway.protocol.operation import Page, operation


class ScheduleQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Filter and paging of the list of schedules."""

    limit: int = 50
    cursor: str | None = None
    template_id: str | None = None


class PreviewQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many fires to look ahead."""

    n: int = 10


create_schedule = operation(
    "POST", "/api/schedules", Role.SUBMIT, body=ScheduleRequest, answer=Schedule, status=201
)
list_schedules = operation(
    "GET", "/api/schedules", Role.READ, query=ScheduleQuery, answer=Page[Schedule]
)
get_schedule = operation("GET", "/api/schedules/{id}", Role.READ, answer=Schedule)
change_schedule = operation(
    "PATCH", "/api/schedules/{id}", Role.SUBMIT, body=SchedulePatch, answer=Schedule
)
remove_schedule = operation("DELETE", "/api/schedules/{id}", Role.SUBMIT, answer=Schedule)
trigger_schedule = operation(
    "POST", "/api/schedules/{id}/trigger", Role.SUBMIT, answer=Job, status=201
)
preview_schedule = operation(
    "GET", "/api/schedules/{id}/next", Role.READ, query=PreviewQuery, answer=Page[Fire]
)
