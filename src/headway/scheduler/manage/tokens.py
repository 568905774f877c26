"""Tokens: made, listed, revoked, and looked up."""

import secrets
from datetime import timedelta

import msgspec

from headway.domain import errors
from headway.domain.manage.tokens import PREFIX, RANDOM_BYTES, Principal, Role, Token, digest
from headway.domain.requests import job_requests
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import tokens


def create(
    scheduler: Scheduler,
    tx: Transaction,
    name: str,
    role: Role,
    lasts: timedelta | None = None,
) -> Token:
    """A new token; only this answer ever holds it. It is good for ever, or as long as it lasts."""
    job_requests.check_name("name", name)
    text = PREFIX + secrets.token_urlsafe(RANDOM_BYTES)
    return adopt(scheduler, tx, name, role, text, lasts)


def adopt(
    scheduler: Scheduler,
    tx: Transaction,
    name: str,
    role: Role,
    text: str,
    lasts: timedelta | None = None,
) -> Token:
    """Accept a token that was made elsewhere, such as the one in the data directory."""
    token = Token(
        token_id=scheduler.new_id(tx.now),
        name=name,
        role=role,
        created_at=tx.now,
        expires_at=tx.now + lasts if lasts else None,
    )
    tokens.insert(tx, token, digest(text))
    return msgspec.structs.replace(token, token=text)


def revoke(tx: Transaction, token_id: str) -> Token:
    """A token is good for nothing any more; once more changes nothing."""
    tokens.revoke(tx, token_id)
    token = tokens.find(tx, token_id)
    if token is None:
        raise errors.NotFound("token", token_id)
    return token


def principal_of(tx: Transaction, token: str) -> Principal | None:
    """The holder of this token, if it is known and in force."""
    found = tokens.by_digest(tx, digest(token))
    if found is None:
        return None
    return Principal(
        name=found.name, role=found.role, token_id=found.token_id, expires_at=found.expires_at
    )
