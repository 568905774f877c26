"""Notes for the audit log, written in the transaction of what they are about."""

from headway.domain.manage.tokens import Principal
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import audit


def note(
    scheduler: Scheduler, tx: Transaction, by: Principal, action: str, target: str | None
) -> None:
    """One change."""
    audit.note_all(tx, scheduler.new_id, [(by, action, target)])
