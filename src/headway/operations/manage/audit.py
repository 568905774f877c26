"""The operation that shows the audit log."""

from headway.domain.manage.audit import AuditEntry
from headway.operations import paging
from headway.operations.bound import Call, serves
from headway.protocol import tokens as protocol
from headway.protocol.operation import Nothing, Page
from headway.protocol.tokens import AuditQuery
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import audit


@serves(protocol.list_audit)
def list_audit(call: Call[Nothing, AuditQuery], tx: Transaction) -> Page[AuditEntry]:
    """List changes by people and tokens, and refused logins, newest first."""
    query = call.query
    limit = paging.check_limit(query.limit)
    before = paging.read_cursor(query.cursor)
    found = audit.page(tx, before=before, actor=query.actor, action=query.action, count=limit + 1)
    return paging.page(found, limit, lambda entry: entry.entry_id)
