"""Notes for the audit log, written in the transaction of what they are about."""

from headway.domain.tokens import Principal
from headway.scheduler.scheduler import Scheduler
from headway.storage import audit
from headway.storage.transaction import Transaction


def note(
    scheduler: Scheduler, tx: Transaction, by: Principal, action: str, target: str | None
) -> None:
    """One change."""
    audit.note_all(tx, scheduler.new_id, [(by, action, target)])
