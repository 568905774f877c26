"""The one rule for commands, which every verb asks.

Below `admin`, nothing makes, starts again, approves, triggers, changes or reroutes a command. The
one exception is to submit a template that an admin wrote last, just as it stands: only when the job
runs, its priority and its keys are the caller's. A schedule submits with the role of its last
writer. Stopping is not restricted: a cancel only ever takes a command away.
"""

from collections.abc import Iterable, Sequence

from headway.domain import errors
from headway.domain.jobs import COMMAND, Lane
from headway.domain.manage.schedules import Schedule
from headway.domain.manage.templates import Template
from headway.domain.manage.tokens import Role, includes
from headway.domain.requests.job_requests import JobRequest, said
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit.batch_errors import Turns
from headway.scheduler.submit.known_templates import Templates, named
from headway.storage import lanes
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import templates
from headway.storage.records import JobRecord

FREE = frozenset(
    (
        *("template", "name", "priority", "scheduled_for", "delay_s", "after"),
        *("idempotency_key", "unique_key", "parent_id"),
    )
)
"""What a submit may say of an admin's command without overriding anything in it."""

_SUBMITTED = (
    "command jobs need the admin role, or a template made by an admin and submitted as it stands"
)


def check_allowed(scheduler: Scheduler, *lanes: Lane) -> None:
    """Refuse to make or start again a command where commands are turned off."""
    if not scheduler.rules.allow_commands and any(lane.job_type == COMMAND for lane in lanes):
        raise errors.CommandsOff


def check_submits(tx: Transaction, role: Role, wanted: Sequence[JobRequest]) -> None:
    """Refuse requests that would make a command other than an admin's template, unchanged."""
    if includes(role, Role.ADMIN):
        return
    (found,) = tx.ask(named(wanted))
    known = Templates(found)
    with Turns(wanted) as turns:
        for request in turns.each(enumerate(wanted)):
            _check_submit(request, known.look_up(request.template))


def _check_submit(request: JobRequest, template: Template | None) -> None:
    if (template or request).job_type != COMMAND:
        return
    overrides = [name for name in said(request) if name not in FREE]
    if request.params:
        overrides.insert(0, "params")
    if template is None or not template.by_admin or overrides:
        raise errors.Forbidden(
            _SUBMITTED + (f"; here with {', '.join(overrides)}" if template else "")
        )


def check_template(role: Role, *job_types: object) -> None:
    """Refuse to write a template that is a command, or that becomes one."""
    if COMMAND in job_types and not includes(role, Role.ADMIN):
        raise _forbidden("write a template of a command")


def check_restart(
    scheduler: Scheduler, tx: Transaction, role: Role, action: str, records: Sequence[JobRecord]
) -> None:
    """Refuse to start jobs again that this role may not, or that are turned off."""
    check_jobs(tx, role, action, records)
    if not scheduler.rules.allow_commands:
        check_allowed(scheduler, *lanes.read(tx, {one.lane_id for one in records}).values())


def check_jobs(tx: Transaction, role: Role, action: str, records: Iterable[JobRecord]) -> None:
    """Refuse to start again, approve, change or move jobs among which is a command."""
    if includes(role, Role.ADMIN):
        return
    by_lane = {record.lane_id: record for record in records}
    for lane_id, lane in lanes.read(tx, list(by_lane)).items():
        if lane.job_type == COMMAND:
            raise _forbidden(f"{action} job {by_lane[lane_id].number}, a command")


def check_fire(tx: Transaction, role: Role, schedule: Schedule) -> None:
    """Refuse a fire that this role could not submit, or the role that the schedule is from."""
    request = JobRequest(
        template=schedule.template_id, params=schedule.params, priority=schedule.priority
    )
    for one in {role, schedule.written_by}:
        check_submits(tx, one, [request])


def check_schedule(tx: Transaction, role: Role, action: str, schedule: Schedule) -> None:
    """Refuse to trigger, change or delete an admin's schedule of a command."""
    if includes(role, Role.ADMIN) or not includes(schedule.written_by, Role.ADMIN):
        return
    template = templates.find(tx, schedule.template_id)
    if template is not None and template.job_type == COMMAND:
        name = schedule.name or schedule.schedule_id
        raise _forbidden(f"{action} schedule {name}, which runs a command")


def _forbidden(action: str) -> errors.Forbidden:
    return errors.Forbidden(f"to {action} needs the role admin")
