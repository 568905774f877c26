"""Operations on tokens, and on what was done with them."""

import msgspec

from headway.domain.answers import Me
from headway.domain.manage.audit import AuditEntry
from headway.domain.manage.tokens import Role, Token
from headway.protocol.operation import Page, Paging, operation


class TokenRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The token's name and role, and after how many seconds it expires, if it does."""

    name: str
    role: Role
    expires_in_s: float | None = None


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Filters and paging of the audit log."""

    limit: int = 50
    cursor: str | None = None
    actor: str | None = None
    action: str | None = None


get_me = operation("GET", "/api/me", Role.READ, answer=Me)
create_token = operation(
    "POST", "/api/tokens", Role.ADMIN, body=TokenRequest, answer=Token, status=201
)
list_tokens = operation("GET", "/api/tokens", Role.ADMIN, query=Paging, answer=Page[Token])
revoke_token = operation("DELETE", "/api/tokens/{id}", Role.ADMIN, answer=Token)
list_audit = operation("GET", "/api/audit", Role.ADMIN, query=AuditQuery, answer=Page[AuditEntry])
