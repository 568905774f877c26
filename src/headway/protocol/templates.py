"""Operations on templates."""

import msgspec

from headway.domain.manage.templates import Template
from headway.domain.manage.tokens import Role
from headway.domain.requests.template_requests import TemplatePatch, TemplateRequest
from headway.protocol.operation import Page, operation


class TemplateQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Filter and paging of the list of templates."""

    limit: int = 50
    cursor: str | None = None
    status: str | None = None


create_template = operation(
    "POST", "/api/job-templates", Role.SUBMIT, body=TemplateRequest, answer=Template, status=201
)
list_templates = operation(
    "GET", "/api/job-templates", Role.READ, query=TemplateQuery, answer=Page[Template]
)
get_template = operation("GET", "/api/job-templates/{id}", Role.READ, answer=Template)
change_template = operation(
    "PATCH", "/api/job-templates/{id}", Role.SUBMIT, body=TemplatePatch, answer=Template
)
archive_template = operation(
    "DELETE", "/api/job-templates/{id}", Role.SUBMIT, answer=Template, safe_to_repeat=True
)
