"""Templates: made, changed, archived. A change touches future jobs only."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from headway.domain import errors
from headway.domain.manage.limits import is_by_key, is_known
from headway.domain.manage.templates import Template, TemplateStatus
from headway.domain.requests import job_requests
from headway.domain.requests.template_requests import TemplatePatch, TemplateRequest
from headway.domain.values import plain_json, priorities
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import params
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import limits, templates


def create(
    scheduler: Scheduler, tx: Transaction, request: TemplateRequest, *, by_admin: bool
) -> Template:
    """A new template; its name must be free."""
    template = Template(
        template_id=scheduler.new_id(tx.now),
        by_admin=by_admin,
        created_at=tx.now,
        updated_at=tx.now,
        **_read(msgspec.structs.asdict(request)),
    )
    _check(scheduler, tx, template)
    templates.insert(tx, template)
    return template


def get(tx: Transaction, name: str) -> Template:
    """A template by id or name."""
    template = templates.find(tx, name)
    if template is None:
        raise errors.NotFound("template", name)
    return template


def change(
    scheduler: Scheduler, tx: Transaction, name: str, patch: TemplatePatch, *, by_admin: bool
) -> Template:
    """Change a template. It counts as an admin's exactly if an admin wrote it last."""
    template = get(tx, name)
    everything = msgspec.structs.asdict(patch)
    given = {field: value for field, value in everything.items() if value is not UNSET}
    if not given:
        raise errors.InvalidRequest("", "there is nothing to change")
    changed = msgspec.structs.replace(
        template, **_read(given), by_admin=by_admin, updated_at=tx.now
    )
    _check(scheduler, tx, changed)
    templates.update(tx, changed)
    return changed


def archive(tx: Transaction, name: str) -> Template:
    """From now on the template makes no jobs."""
    template = get(tx, name)
    if template.status is TemplateStatus.ACTIVE:
        template = msgspec.structs.replace(
            template, status=TemplateStatus.ARCHIVED, updated_at=tx.now
        )
        templates.update(tx, template)
    return template


def _read(given: Mapping[str, Any]) -> dict[str, Any]:
    """Priorities and locks may be written in short."""
    read = dict(given)
    if "priority" in read:
        read["priority"] = priorities.read(read["priority"])
    if "locks" in read:
        read["locks"] = job_requests.locks_of(read["locks"], None)
    return read


def _check(scheduler: Scheduler, tx: Transaction, template: Template) -> None:
    """Refuse what would make no job."""
    for field in ("name", "job_type", "queue"):
        job_requests.check_name(field, getattr(template, field))
    plain_json.refuse_nonsense(template.description, "description")
    for lock in template.locks:
        job_requests.check_name("locks", lock.key)
    job_requests.check_shared(template)
    job_requests.check_lane(template.cost_units, template.limits, template.requires)
    job_requests.check_retry_policy(template.retry_policy)
    defined = {limit.name for limit in limits.defined(tx)}
    for name in template.limits:
        # Which limit one is that takes its key from a param shows when a job is made.
        if not is_known(name, defined) and not is_by_key(name):
            raise errors.UnknownLimit(name)
    # A template may leave params out, so no handler looks at them before a job is made.
    without_handlers = dataclasses.replace(scheduler, handlers={})
    params.encode(without_handlers, template.job_type, template.params)
    # A name that is another template's id would be ambiguous.
    other = templates.find(tx, template.name)
    if other is not None and other.template_id != template.template_id:
        raise errors.NameTaken("template", template.name)
