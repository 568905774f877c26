"""Operations on tokens."""

from datetime import timedelta

from headway.domain.answers import Me
from headway.domain.manage.tokens import Token
from headway.domain.requests.job_requests import check_seconds
from headway.operations import paging
from headway.operations.bound import Call, serves
from headway.protocol import tokens as protocol
from headway.protocol.operation import Nothing, Page, Paging
from headway.protocol.tokens import TokenRequest
from headway.scheduler.manage import tokens
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import tokens as kept


@serves(protocol.get_me)
def get_me(call: Call[Nothing, Nothing], tx: Transaction) -> Me:
    """Show whose token this is, what it may do, and the server's clock."""
    by = call.principal
    return Me(
        name=by.name,
        role=by.role,
        expires_at=by.expires_at,
        now=tx.now,
    )


@serves(protocol.create_token)
def create_token(call: Call[TokenRequest, Nothing], tx: Transaction) -> Token:
    """Create a token; only this answer shows it."""
    asked = call.body
    check_seconds("expires_in_s", asked.expires_in_s, zero=False)
    lasts = None if asked.expires_in_s is None else timedelta(seconds=asked.expires_in_s)
    return tokens.create(call.scheduler, tx, asked.name, asked.role, lasts)


@serves(protocol.list_tokens)
def list_tokens(call: Call[Nothing, Paging], tx: Transaction) -> Page[Token]:
    """List tokens, newest first, including revoked ones."""
    limit = paging.check_limit(call.query.limit)
    before = paging.read_cursor(call.query.cursor)
    found = kept.page(tx, before=before, count=limit + 1)
    return paging.page(found, limit, lambda token: token.token_id)


@serves(protocol.revoke_token)
def revoke_token(call: Call[Nothing, Nothing], tx: Transaction) -> Token:
    """Revoke a token; it stops working."""
    return tokens.revoke(tx, call.path["id"])
