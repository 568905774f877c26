"""Calls about schedules."""

from headway.api.operation import Page
from headway.api.schedules import ScheduleQuery
from headway.client.calls.call import Call, step, words
from headway.domain.cron import Fire
from headway.domain.jobs import Job
from headway.domain.requests.schedule_requests import SchedulePatch, ScheduleRequest
from headway.domain.schedules import Schedule


def create_schedule(request: ScheduleRequest) -> Call[Schedule]:
    """Create a schedule."""
    return Call("POST", "/api/schedules", Schedule, request, safe_to_repeat=False)


def list_schedules(query: ScheduleQuery | None = None) -> Call[Page[Schedule]]:
    """List schedules, newest first."""
    return Call("GET", "/api/schedules", Page[Schedule], query=words(query))


def get_schedule(schedule: str) -> Call[Schedule]:
    """Get one schedule, by id or name."""
    return Call("GET", f"/api/schedules/{step(schedule)}", Schedule)


def change_schedule(schedule: str, patch: SchedulePatch) -> Call[Schedule]:
    """Change, enable or disable a schedule."""
    return Call("PATCH", f"/api/schedules/{step(schedule)}", Schedule, patch)


def remove_schedule(schedule: str) -> Call[Schedule]:
    """Delete a schedule; its jobs stay."""
    return Call("DELETE", f"/api/schedules/{step(schedule)}", Schedule, safe_to_repeat=False)


def trigger_schedule(schedule: str) -> Call[Job]:
    """Create a job from a schedule now."""
    return Call("POST", f"/api/schedules/{step(schedule)}/trigger", Job, safe_to_repeat=False)


def preview_schedule(schedule: str, count: int = 10) -> Call[Page[Fire]]:
    """List the next fires of a schedule."""
    return Call("GET", f"/api/schedules/{step(schedule)}/next", Page[Fire], query={"n": count})
