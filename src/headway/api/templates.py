"""Operations on templates."""

from typing import Any

import msgspec

from headway.api import filters, paging
from headway.api.operation import Call, Nothing, Page, operation
from headway.domain.requests.template_requests import TemplatePatch, TemplateRequest
from headway.domain.templates import Template, TemplateStatus
from headway.domain.tokens import Role
from headway.domain.values import versions
from headway.scheduler import command_permission
from headway.scheduler.manage import templates
from headway.storage import templates as kept
from headway.storage.transaction import Transaction


class TemplateQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Filter and paging of the list of templates."""

    limit: int = 50
    cursor: str | None = None
    status: str | None = None


@operation(
    "POST", "/api/job-templates", Role.SUBMIT, body=TemplateRequest, answer=Template, status=201
)
def create_template(call: Call[TemplateRequest, Nothing]) -> Any:
    """Create a template; its name must be unused."""
    command_permission.check_template(call.principal.role, call.body.job_type)
    by_admin = call.principal.may(Role.ADMIN)
    return call.change(
        lambda tx: templates.create(call.scheduler, tx, call.body, by_admin=by_admin)
    )


@operation("GET", "/api/job-templates", Role.READ, query=TemplateQuery, answer=Page[Template])
def list_templates(call: Call[Nothing, TemplateQuery]) -> Page[Template]:
    """List templates, newest first, including archived ones."""
    limit = paging.check_limit(call.query.limit)
    status = filters.read_word("status", call.query.status, TemplateStatus)
    before = paging.read_cursor(call.query.cursor)
    found = call.scheduler.store.read(
        lambda tx: kept.page(tx, status=status, before=before, count=limit)
    )
    return paging.page_of(found, lambda template: template.template_id)


@operation("GET", "/api/job-templates/{id}", Role.READ, answer=Template)
def get_template(call: Call[Nothing, Nothing]) -> Template:
    """Get one template, by id or name."""
    return call.scheduler.store.read(lambda tx: templates.get(tx, call.path["id"]))


@operation("PATCH", "/api/job-templates/{id}", Role.SUBMIT, body=TemplatePatch, answer=Template)
def change_template(call: Call[TemplatePatch, Nothing]) -> Any:
    """Change a template; existing jobs stay as they are."""

    def work(tx: Transaction) -> Template:
        template = templates.get(tx, call.path["id"])
        versions.check(call.if_match, "template", template.name, template)
        role = call.principal.role
        command_permission.check_template(role, template.job_type, call.body.job_type)
        by_admin = call.principal.may(Role.ADMIN)
        return templates.change(call.scheduler, tx, call.path["id"], call.body, by_admin=by_admin)

    return call.change(work)


@operation("DELETE", "/api/job-templates/{id}", Role.SUBMIT, answer=Template)
def archive_template(call: Call[Nothing, Nothing]) -> Any:
    """Archive a template: it stays readable but creates no more jobs."""

    def work(tx: Transaction) -> Template:
        template = templates.get(tx, call.path["id"])
        versions.check(call.if_match, "template", template.name, template)
        command_permission.check_template(call.principal.role, template.job_type)
        return templates.archive(tx, call.path["id"])

    return call.change(work)
