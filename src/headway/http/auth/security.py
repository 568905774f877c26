"""Authentication: the Host header, tokens, and logins to the dashboard."""

import asyncio
import logging
import time
from urllib.parse import urlsplit

from headway.domain import errors
from headway.domain.manage.tokens import Principal, digest
from headway.http.auth.refused_logins import RefusedLogins
from headway.http.auth.token_uses import TokenUses
from headway.http.exchange import Exchange
from headway.scheduler.manage import tokens
from headway.scheduler.scheduler import Scheduler

LOOPBACK = ("127.0.0.1", "localhost", "::1")
REMEMBER_S = 2.0
"""How long a token is remembered if the wake-up of a server that revokes it is lost."""

KNOWS_WITHIN_S = 2.0
LOG_EVERY_S = 10.0

log = logging.getLogger("headway.http")


class Authenticator:
    """Checks the Host header and the token of every request."""

    def __init__(self, scheduler: Scheduler, allowed_hosts: tuple[str, ...]) -> None:
        self._scheduler = scheduler
        self._hosts = {host.lower() for host in (*LOOPBACK, *allowed_hosts)}
        self._any_host = "*" in self._hosts
        self._known: dict[str, tuple[float, Principal | None]] = {}
        self.refused_logins = RefusedLogins(scheduler)
        self._uses = TokenUses(scheduler)
        self._changes = 0
        self._log_again_at = float("-inf")

    def check_host(self, exchange: Exchange) -> None:
        """A page on another site must not reach us through a name that it made point here."""
        if self._any_host:
            return
        host = exchange.header("host") or ""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            name = ""
        if name.lower() not in self._hosts:
            raise errors.Forbidden(f"host {host!r} is not allowed; add it to allowed_hosts")

    async def principal(self, exchange: Exchange) -> Principal:
        """Whose token it is."""
        scheme, _, token = (exchange.header("authorization") or "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise errors.Unauthorized("send a token: Authorization: Bearer <token>")
        try:
            found = await self._find(token.strip())
        except errors.Unavailable as error:
            self._log_reason(error)
            raise errors.TokensUnreadable() from None
        if found is None:
            self.refused_logins.note(exchange.address)
            raise errors.TokenRefused()
        self._uses.note(found)
        return found

    async def knows(self, exchange: Exchange) -> bool:
        """Whether the request carries a valid token, as far as can be checked soon."""
        try:
            async with asyncio.timeout(KNOWS_WITHIN_S):
                return await self.principal(exchange) is not None
        except (errors.HeadwayError, TimeoutError):
            return False

    def forget(self) -> None:
        """A token was revoked: what is remembered is read again."""
        self._known.clear()
        self._changes += 1

    def _log_reason(self, error: errors.Unavailable) -> None:
        """An unauthenticated caller gets no database error, which may name its host."""
        now = time.monotonic()
        if now >= self._log_again_at:
            self._log_again_at = now + LOG_EVERY_S
            log.warning("tokens cannot be checked: %s", error.detail)

    async def _find(self, token: str) -> Principal | None:
        key = digest(token)
        known = self._known.get(key)
        if known is None or time.monotonic() - known[0] >= REMEMBER_S:
            known = await self._read(key, token)
        found = known[1]
        expires_at = None if found is None else found.expires_at
        if expires_at is not None and expires_at <= self._scheduler.clock.now():
            return None
        return found

    async def _read(self, key: str, token: str) -> tuple[float, Principal | None]:
        """What the database says; again if a token was revoked meanwhile."""
        while True:
            now, changes = time.monotonic(), self._changes
            found = await asyncio.to_thread(
                self._scheduler.store.read, lambda tx: tokens.principal_of(tx, token)
            )
            if changes == self._changes:
                break
        if len(self._known) > 1000:
            self._known.clear()
        self._known[key] = (now, found)
        return now, found
