"""Operations on tokens."""

from typing import Any

import msgspec

from headway.api import paging
from headway.api.operation import Call, Nothing, Page, Paging, operation
from headway.domain.tokens import Role, Token
from headway.scheduler import tokens
from headway.storage import tokens as kept


class TokenRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose token it is, and what it allows."""

    name: str
    role: Role


@operation("POST", "/api/tokens", Role.ADMIN, body=TokenRequest, answer=Token, status=201)
def create_token(call: Call[TokenRequest, Nothing]) -> Any:
    """Make a token; the answer shows it, this once."""
    return call.scheduler.store.write_later(
        lambda tx: tokens.create(call.scheduler, tx, call.body.name, call.body.role)
    )


@operation("GET", "/api/tokens", Role.ADMIN, query=Paging, answer=Page[Token])
def list_tokens(call: Call[Nothing, Paging]) -> Page[Token]:
    """Tokens, newest first, revoked ones too."""
    limit = paging.check_limit(call.query.limit)
    before = paging.read_cursor(call.query.cursor)
    found = call.scheduler.store.read(lambda tx: kept.page(tx, before=before, count=limit + 1))
    return paging.page(found, limit, lambda token: token.token_id)


@operation("DELETE", "/api/tokens/{id}", Role.ADMIN, answer=Token)
def revoke_token(call: Call[Nothing, Nothing]) -> Any:
    """Revoke a token: from now on it is good for nothing."""
    return call.scheduler.store.write_later(lambda tx: tokens.revoke(tx, call.path["id"]))
