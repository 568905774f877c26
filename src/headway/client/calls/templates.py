"""Calls about templates."""

from headway.api.operation import Page
from headway.api.templates import TemplateQuery
from headway.client.calls.call import Call, step, words
from headway.domain.requests.template_requests import TemplatePatch, TemplateRequest
from headway.domain.templates import Template


def create_template(request: TemplateRequest) -> Call[Template]:
    """Create a template."""
    return Call("POST", "/api/job-templates", Template, request, safe_to_repeat=False)


def list_templates(query: TemplateQuery | None = None) -> Call[Page[Template]]:
    """List templates, newest first."""
    return Call("GET", "/api/job-templates", Page[Template], query=words(query))


def get_template(template: str) -> Call[Template]:
    """Get one template, by id or name."""
    return Call("GET", f"/api/job-templates/{step(template)}", Template)


def change_template(template: str, patch: TemplatePatch) -> Call[Template]:
    """Change a template."""
    return Call("PATCH", f"/api/job-templates/{step(template)}", Template, patch)


def archive_template(template: str) -> Call[Template]:
    """Archive a template: it creates no more jobs."""
    return Call("DELETE", f"/api/job-templates/{step(template)}", Template)
