"""Templates as they are kept."""

import msgspec

from headway.domain.templates import Template
from headway.storage import codec
from headway.storage.transaction import Transaction


def find(tx: Transaction, name: str) -> Template | None:
    """A template by id or name."""
    row = tx.row("template_by_id_or_name", name=name)
    return msgspec.json.decode(row["body"], type=Template) if row else None


def insert(tx: Transaction, template: Template) -> None:
    """A new template."""
    tx.do("insert_template", **_columns(template))


def update(tx: Transaction, template: Template) -> None:
    """A changed template."""
    tx.do("update_template", **_columns(template))


def _columns(template: Template) -> dict[str, str]:
    return {
        "template_id": template.template_id,
        "name": template.name,
        "status": template.status,
        "body": codec.dump(template),
    }
