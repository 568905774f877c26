"""Tokens as they are kept: only their digests."""

from collections.abc import Collection

from headway.domain.manage.tokens import Role, Token
from headway.domain.values import moments
from headway.storage import records
from headway.storage.engine.question import Row
from headway.storage.engine.transaction import TOKENS, Transaction


def insert(tx: Transaction, token: Token, digest: str) -> None:
    """A new token."""
    tx.do(
        "insert_token",
        token_id=token.token_id,
        name=token.name,
        role=token.role,
        digest=digest,
        created_at=moments.to_millis(token.created_at),
        expires_at=token.expires_at and moments.to_millis(token.expires_at),
    )


def find(tx: Transaction, token_id: str) -> Token | None:
    """One token by its id."""
    row = tx.row("token_by_id", token_id=token_id)
    return _token(row) if row else None


def by_digest(tx: Transaction, digest: str) -> Token | None:
    """The token with this digest, unless it was revoked or its time is up."""
    row = tx.row("token_by_digest", digest=digest, now=tx.now_ms)
    return _token(row) if row else None


def by_digest_in_any_state(tx: Transaction, digest: str) -> Token | None:
    """The token with this digest, even if it is revoked or expired."""
    row = tx.row("token_by_digest_in_any_state", digest=digest)
    return _token(row) if row else None


def in_force(tx: Transaction, token_ids: Collection[str]) -> set[str]:
    """Those of some tokens that are neither revoked nor expired."""
    rows = tx.rows("tokens_in_force", token_ids=records.listed(token_ids), now=tx.now_ms)
    return {row["token_id"] for row in rows}


def page(tx: Transaction, *, before: str | None, count: int) -> list[Token]:
    """Tokens, newest first."""
    return [_token(row) for row in tx.rows("tokens", before=before, count=count)]


def revoke(tx: Transaction, token_id: str) -> None:
    """A token is no longer in force, and the requests that it has open end."""
    tx.do("revoke_token", token_id=token_id, revoked_at=tx.now_ms)
    tx.wake(TOKENS)


def note_use(tx: Transaction, token_id: str) -> None:
    """A token was used just now."""
    tx.put("note_token_use", token_id=token_id, used_at=tx.now_ms)


def _token(row: Row) -> Token:
    return Token(
        token_id=row["token_id"],
        name=row["name"],
        role=Role(row["role"]),
        created_at=moments.from_millis(row["created_at"]),
        expires_at=moments.maybe_from_millis(row["expires_at"]),
        revoked_at=moments.maybe_from_millis(row["revoked_at"]),
        last_used_at=moments.maybe_from_millis(row["last_used_at"]),
    )
