"""Schedules in code: when a server starts, those of its app match what the app says."""

import itertools
from collections.abc import Mapping, Sequence

import msgspec

from headway.domain.manage import code_schedules
from headway.domain.manage.code_schedules import Changes, Timing
from headway.domain.manage.schedules import Schedule
from headway.domain.manage.templates import Template
from headway.domain.requests.template_requests import TemplateRequest
from headway.scheduler.manage import schedules, templates
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.transaction import DUE, Transaction
from headway.storage.manage import schedules as kept
from headway.storage.manage import templates as kept_templates


def match(
    scheduler: Scheduler, tx: Transaction, app: str, wanted: Mapping[str, Sequence[Timing]]
) -> Changes:
    """Make, change and retire the schedules of this app; those of others and of people stay."""
    by_type: dict[str, list[Schedule]] = {}
    for schedule in kept.of_app(tx, app):
        template = kept_templates.find(tx, schedule.template_id)
        by_type.setdefault(template.job_type if template else "", []).append(schedule)
    found = code_schedules.changes(by_type, wanted)
    for job_type, timing in found.new:
        _make(scheduler, tx, app, job_type, timing)
    for one in found.changed:
        timed = msgspec.structs.replace(one.schedule, **msgspec.structs.asdict(one.timing))
        kept.update(tx, schedules.with_next(timed, tx.now))
    for schedule in found.retired:
        kept.remove(tx, schedule.schedule_id)
    tx.wake(DUE)
    return found


def _make(scheduler: Scheduler, tx: Transaction, app: str, job_type: str, timing: Timing) -> None:
    template = _template(scheduler, tx, app, job_type)
    schedule = Schedule(
        schedule_id=scheduler.new_id(tx.now),
        name=_free_name(tx, f"{app} {job_type}"),
        template_id=template.template_id,
        app=app,
        created_at=tx.now,
        **msgspec.structs.asdict(timing),
    )
    kept.insert(tx, schedules.with_next(schedule, tx.now))


def _free_name(tx: Transaction, wanted: str) -> str:
    """A name to find it by in lists; a second schedule of a function has a number behind it."""
    names = itertools.chain([wanted], (f"{wanted} {number}" for number in itertools.count(2)))
    return next(name for name in names if kept.find(tx, name) is None)


def _template(scheduler: Scheduler, tx: Transaction, app: str, job_type: str) -> Template:
    """The template of a function's schedules: all it says is the job type."""
    name = f"{app} {job_type}"
    found = kept_templates.find(tx, name)
    if found is not None:
        return found
    request = TemplateRequest(
        name=name,
        job_type=job_type,
        description=f"the schedules of {job_type} in the code of {app}",
    )
    return templates.create(scheduler, tx, request, by_admin=True)
