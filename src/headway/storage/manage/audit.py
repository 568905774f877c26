"""The audit log as it is kept."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from headway.domain.manage.audit import AuditEntry
from headway.domain.manage.tokens import Principal
from headway.domain.values import moments
from headway.storage.engine.question import Row
from headway.storage.engine.transaction import Transaction


def note_all(
    tx: Transaction,
    new_id: Callable[[datetime], str],
    changes: Iterable[tuple[Principal, str, str | None]],
) -> None:
    """Write entries for changes by actor, action and target."""
    insert(
        tx,
        [
            AuditEntry(
                entry_id=new_id(tx.now),
                at=tx.now,
                actor=by.name,
                role=by.role,
                token_id=by.token_id,
                action=action,
                target=target,
            )
            for by, action, target in changes
        ],
    )


def insert(tx: Transaction, entries: Sequence[AuditEntry]) -> None:
    """Write entries down."""
    tx.many(
        "insert_audit",
        [
            {
                "entry_id": entry.entry_id,
                "at": moments.to_millis(entry.at),
                "actor": entry.actor,
                "role": entry.role,
                "token_id": entry.token_id,
                "action": entry.action,
                "target": entry.target,
            }
            for entry in entries
        ],
    )


def page(
    tx: Transaction, *, before: str | None, actor: str | None, action: str | None, count: int
) -> list[AuditEntry]:
    """Entries, newest first."""
    rows = tx.rows("audit_entries", before=before, actor=actor, action=action, count=count)
    return [_entry(row) for row in rows]


def _entry(row: Row) -> AuditEntry:
    return AuditEntry(
        entry_id=row["entry_id"],
        at=moments.from_millis(row["at"]),
        actor=row["actor"],
        role=row["role"],
        token_id=row["token_id"],
        action=row["action"],
        target=row["target"],
    )
