"""Tokens and roles: who may do what."""

import hashlib
import re
from datetime import datetime
from enum import StrEnum

import msgspec


class Role(StrEnum):
    """`admin` includes `submit`, which includes `read`; `work` includes no other."""

    READ = "read"
    SUBMIT = "submit"
    WORK = "work"
    ADMIN = "admin"


_INCLUDES = {
    Role.READ: {Role.READ},
    Role.SUBMIT: {Role.READ, Role.SUBMIT},
    Role.WORK: {Role.WORK},
    Role.ADMIN: {Role.READ, Role.SUBMIT, Role.WORK, Role.ADMIN},
}


def includes(role: Role, needed: Role) -> bool:
    """Whether one role includes another."""
    return needed in _INCLUDES[role]


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A token as it is listed; the token itself is shown once, when it is made."""

    token_id: str
    name: str
    role: Role
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    """Give or take a minute."""
    token: str | None = None

    def is_good(self, now: datetime) -> bool:
        """Whether it is in force: neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """The holder of a token, or the local user."""

    name: str
    role: Role
    token_id: str | None = None
    expires_at: datetime | None = None

    def may(self, role: Role) -> bool:
        """Whether the principal's role includes this one."""
        return includes(self.role, role)


PREFIX = "hw_"
RANDOM_BYTES = 32
_FORM = re.compile(r"hw_[A-Za-z0-9_-]{32,}")


def has_our_form(token: str) -> bool:
    """Whether it may be a token that Headway made: long enough that it cannot be guessed."""
    return _FORM.fullmatch(token) is not None


def digest(token: str) -> str:
    """What is stored instead of the token. Tokens are long and random: a plain hash is enough."""
    return hashlib.sha256(token.encode()).hexdigest()
