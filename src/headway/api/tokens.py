"""Operations on tokens."""

from datetime import timedelta
from typing import Any

import msgspec

from headway.api import paging
from headway.api.operation import Call, Nothing, Page, Paging, operation
from headway.domain.requests.job_requests import check_seconds
from headway.domain.tokens import Role, Token
from headway.scheduler.manage import tokens
from headway.storage import tokens as kept


class TokenRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The token's name and role, and after how many seconds it expires, if it does."""

    name: str
    role: Role
    expires_in_s: float | None = None


@operation("POST", "/api/tokens", Role.ADMIN, body=TokenRequest, answer=Token, status=201)
def create_token(call: Call[TokenRequest, Nothing]) -> Any:
    """Create a token; only this answer shows it."""
    asked = call.body
    check_seconds("expires_in_s", asked.expires_in_s, zero=False)
    lasts = None if asked.expires_in_s is None else timedelta(seconds=asked.expires_in_s)
    return call.change(lambda tx: tokens.create(call.scheduler, tx, asked.name, asked.role, lasts))


@operation("GET", "/api/tokens", Role.ADMIN, query=Paging, answer=Page[Token])
def list_tokens(call: Call[Nothing, Paging]) -> Page[Token]:
    """List tokens, newest first, including revoked ones."""
    limit = paging.check_limit(call.query.limit)
    before = paging.read_cursor(call.query.cursor)
    found = call.scheduler.store.read(lambda tx: kept.page(tx, before=before, count=limit + 1))
    return paging.page(found, limit, lambda token: token.token_id)


@operation("DELETE", "/api/tokens/{id}", Role.ADMIN, answer=Token)
def revoke_token(call: Call[Nothing, Nothing]) -> Any:
    """Revoke a token; it stops working."""
    return call.change(lambda tx: tokens.revoke(tx, call.path["id"]))
