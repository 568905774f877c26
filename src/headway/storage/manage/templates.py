"""Templates as they are kept."""

from collections.abc import Collection, Sequence
from functools import partial

import msgspec

from headway.domain.manage.templates import Template, TemplateStatus
from headway.storage import records
from headway.storage.engine import codec, question, slices
from headway.storage.engine.question import Question, Row
from headway.storage.engine.slices import Sized, Slice
from headway.storage.engine.transaction import Transaction


def named(names: Collection[str]) -> Question[dict[str, Template]]:
    """Those of these templates that there are, by id and by name; an id goes first."""
    if not names:
        return question.known({})
    return question.of_rows(_by_name, "templates_by_id_or_name", names=records.listed(names))


def _by_name(rows: Sequence[Row]) -> dict[str, Template]:
    found = [msgspec.json.decode(row["body"], type=Template) for row in rows]
    return {one.name: one for one in found} | {one.template_id: one for one in found}


def find(tx: Transaction, name: str) -> Template | None:
    """A template by id or name."""
    (found,) = tx.ask(named([name]))
    return found.get(name)


def page(
    tx: Transaction, *, status: TemplateStatus | None, before: str | None, count: int
) -> Slice[Template]:
    """Templates, newest first."""
    rows = tx.rows("templates", status=status, before=before, count=count + 1)
    sized = [Sized(row["template_id"], row["size"]) for row in rows]
    return slices.read(sized, count, partial(_load, tx))


def _load(tx: Transaction, ids: list[str]) -> list[Template]:
    found = tx.rows("template_bodies", template_ids=records.listed(ids))
    return [msgspec.json.decode(row["body"], type=Template) for row in found]


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
