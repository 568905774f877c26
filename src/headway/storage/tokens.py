"""Tokens as they are kept: only their digests."""

from headway.domain import moments
from headway.domain.tokens import Role, Token
from headway.storage.transaction import Row, Transaction


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


def page(tx: Transaction, *, before: str | None, count: int) -> list[Token]:
    """Tokens, newest first."""
    return [_token(row) for row in tx.rows("tokens", before=before, count=count)]


def revoke(tx: Transaction, token_id: str) -> None:
    """A token is good for nothing any more."""
    tx.do("revoke_token", token_id=token_id, revoked_at=tx.now_ms)


def _token(row: Row) -> Token:
    return Token(
        token_id=row["token_id"],
        name=row["name"],
        role=Role(row["role"]),
        created_at=moments.from_millis(row["created_at"]),
        expires_at=moments.maybe_from_millis(row["expires_at"]),
        revoked_at=moments.maybe_from_millis(row["revoked_at"]),
    )
