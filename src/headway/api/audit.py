"""The operation that shows the audit log."""

import msgspec

from headway.api import paging
from headway.api.operation import Call, Nothing, Page, operation
from headway.domain.audit import AuditEntry
from headway.domain.tokens import Role
from headway.storage import audit


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Filters and paging of the audit log."""

    limit: int = 50
    cursor: str | None = None
    actor: str | None = None
    action: str | None = None


@operation("GET", "/api/audit", Role.ADMIN, query=AuditQuery, answer=Page[AuditEntry])
def list_audit(call: Call[Nothing, AuditQuery]) -> Page[AuditEntry]:
    """List changes by people and tokens, and refused logins, newest first."""
    query = call.query
    limit = paging.check_limit(query.limit)
    before = paging.read_cursor(query.cursor)
    found = call.scheduler.store.read(
        lambda tx: audit.page(
            tx, before=before, actor=query.actor, action=query.action, count=limit + 1
        )
    )
    return paging.page(found, limit, lambda entry: entry.entry_id)
