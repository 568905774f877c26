"""Calls about tokens, and about what was done with them."""

from headway.api.audit import AuditQuery
from headway.api.operation import Page, Paging
from headway.api.tokens import TokenRequest
from headway.client.calls.call import Call, step, words
from headway.domain.audit import AuditEntry
from headway.domain.tokens import Role, Token


def create_token(name: str, role: Role, expires_in_s: float | None = None) -> Call[Token]:
    """Create a token; only this answer shows it."""
    body = TokenRequest(name=name, role=role, expires_in_s=expires_in_s)
    return Call("POST", "/api/tokens", Token, body, safe_to_repeat=False)


def list_tokens(paging: Paging | None = None) -> Call[Page[Token]]:
    """List tokens, newest first."""
    return Call("GET", "/api/tokens", Page[Token], query=words(paging))


def revoke_token(token_id: str) -> Call[Token]:
    """Revoke a token."""
    return Call("DELETE", f"/api/tokens/{step(token_id)}", Token, safe_to_repeat=False)


def list_audit(actor: str | None = None, action: str | None = None) -> Call[Page[AuditEntry]]:
    """List changes by people and tokens, newest first."""
    query = words(AuditQuery(actor=actor, action=action))
    return Call("GET", "/api/audit", Page[AuditEntry], query=query)
