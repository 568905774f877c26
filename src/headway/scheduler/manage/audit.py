"""Notes for the audit log, written in the transaction of what they are about."""

from collections.abc import Iterable

from headway.domain.audit import AuditEntry
from headway.domain.tokens import Principal
from headway.scheduler.scheduler import Scheduler
from headway.storage import audit
from headway.storage.transaction import Transaction


def note(
    scheduler: Scheduler, tx: Transaction, by: Principal, action: str, target: str | None
) -> None:
    """One change."""
    note_all(scheduler, tx, [(by, action, target)])


def note_all(
    scheduler: Scheduler, tx: Transaction, changes: Iterable[tuple[Principal, str, str | None]]
) -> None:
    """Several changes at once."""
    audit.insert(
        tx,
        [
            AuditEntry(
                entry_id=scheduler.new_id(tx.now),
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
