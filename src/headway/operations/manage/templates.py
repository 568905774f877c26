"""Operations on templates."""

from headway.domain.manage.templates import Template, TemplateStatus
from headway.domain.manage.tokens import Role
from headway.domain.requests.template_requests import TemplatePatch, TemplateRequest
from headway.domain.values import versions
from headway.operations import filters, paging
from headway.operations.bound import Call, serves
from headway.protocol import templates as protocol
from headway.protocol.operation import Nothing, Page
from headway.protocol.templates import TemplateQuery
from headway.scheduler import command_permission
from headway.scheduler.manage import templates
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import templates as kept


@serves(protocol.create_template)
def create_template(call: Call[TemplateRequest, Nothing], tx: Transaction) -> Template:
    """Create a template; its name must be unused."""
    command_permission.check_template(call.principal.role, call.body.job_type)
    by_admin = call.principal.may(Role.ADMIN)
    return templates.create(call.scheduler, tx, call.body, by_admin=by_admin)


@serves(protocol.list_templates)
def list_templates(call: Call[Nothing, TemplateQuery], tx: Transaction) -> Page[Template]:
    """List templates, newest first, including archived ones."""
    limit = paging.check_limit(call.query.limit)
    status = filters.read_word("status", call.query.status, TemplateStatus)
    before = paging.read_cursor(call.query.cursor)
    found = kept.page(tx, status=status, before=before, count=limit)
    return paging.page_of(found, lambda template: template.template_id)


@serves(protocol.get_template)
def get_template(call: Call[Nothing, Nothing], tx: Transaction) -> Template:
    """Get one template, by id or name."""
    return templates.get(tx, call.path["id"])


@serves(protocol.change_template)
def change_template(call: Call[TemplatePatch, Nothing], tx: Transaction) -> Template:
    """Change a template; existing jobs stay as they are."""
    template = templates.get(tx, call.path["id"])
    versions.check(call.if_match, "template", template.name, template)
    role = call.principal.role
    command_permission.check_template(role, template.job_type, call.body.job_type)
    by_admin = call.principal.may(Role.ADMIN)
    return templates.change(call.scheduler, tx, call.path["id"], call.body, by_admin=by_admin)


@serves(protocol.archive_template)
def archive_template(call: Call[Nothing, Nothing], tx: Transaction) -> Template:
    """Archive a template: it stays readable but creates no more jobs."""
    template = templates.get(tx, call.path["id"])
    versions.check(call.if_match, "template", template.name, template)
    command_permission.check_template(call.principal.role, template.job_type)
    return templates.archive(tx, call.path["id"])
