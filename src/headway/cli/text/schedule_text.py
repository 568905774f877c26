"""The state of a schedule: on, off, or on with a template that makes no more jobs."""

from headway import protocol
from headway.cli.session import Session
from headway.cli.text import words
from headway.cli.text.screen import Styled
from headway.domain.manage.schedules import Schedule
from headway.protocol.templates import TemplateQuery


def archived_templates(session: Session) -> set[str]:
    """The ids of the templates that make no more jobs."""
    query = TemplateQuery(status="ARCHIVED", limit=200)
    return {
        one.template_id
        for one in session.client.pages(protocol.templates.list_templates, query=query)
    }


def without_effect(session: Session) -> list[str]:
    """The schedules that are on and make no jobs, by name."""
    archived = archived_templates(session)
    if not archived:
        return []
    found = session.client.pages(protocol.schedules.list_schedules)
    return [one.name or one.schedule_id for one in found if _is_idle(one, archived)]


def state(one: Schedule, archived: set[str]) -> Styled:
    """In one word, in its colour."""
    if not one.enabled:
        return Styled("off", "yellow")
    return Styled("archived", "yellow") if _is_idle(one, archived) else Styled("on", "green")


def next_fire(one: Schedule, archived: set[str]) -> str:
    """When it makes its next job, if it does."""
    if _is_idle(one, archived):
        return "never: its template is archived"
    return words.when(one.next_trigger_at) or ""


def _is_idle(one: Schedule, archived: set[str]) -> bool:
    return one.enabled and one.template_id in archived
