"""The templates that a submit names."""

from collections.abc import Iterable, Mapping

from headway.domain import errors
from headway.domain.manage.templates import Template, TemplateStatus
from headway.domain.requests.job_requests import JobRequest
from headway.storage.engine.question import Question
from headway.storage.manage import templates


def named(wanted: Iterable[JobRequest]) -> Question[dict[str, Template]]:
    """The templates that these requests name, by the names that they use."""
    return templates.named({one.template for one in wanted if one.template is not None})


class Templates:
    """The templates of a submit."""

    def __init__(self, found: Mapping[str, Template]) -> None:
        self._found = found

    def look_up(self, name: str | None) -> Template | None:
        """The template, if one is named and there is such a one."""
        return None if name is None else self._found.get(name)

    def find(self, name: str | None) -> Template | None:
        """The template, if one is named; it must be in use."""
        template = self.look_up(name)
        if name is not None and template is None:
            raise errors.UnknownTemplate(name)
        if template is not None and template.status is TemplateStatus.ARCHIVED:
            raise errors.TemplateArchived(template.name)
        return template
