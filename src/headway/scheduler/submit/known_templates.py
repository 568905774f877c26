"""The templates that a submit names."""

from headway.domain import errors
from headway.domain.templates import Template, TemplateStatus
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import templates


class Templates:
    """The templates of a submit, looked up once each."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._known: dict[str, Template | None] = {}

    def look_up(self, name: str | None) -> Template | None:
        """The template, if one is named and there is such a one."""
        if name is None:
            return None
        if name not in self._known:
            self._known[name] = templates.find(self._tx, name)
        return self._known[name]

    def find(self, name: str | None) -> Template | None:
        """The template, if one is named; it must be in use."""
        template = self.look_up(name)
        if name is not None and template is None:
            raise errors.UnknownTemplate(name)
        if template is not None and template.status is TemplateStatus.ARCHIVED:
            raise errors.TemplateArchived(template.name)
        return template
