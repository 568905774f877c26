"""Who is asking, and through which door."""

import asyncio
import time
from urllib.parse import urlsplit

from headway.domain import errors
from headway.domain.tokens import Principal, digest
from headway.http.exchange import Exchange
from headway.scheduler import tokens
from headway.scheduler.scheduler import Scheduler

LOOPBACK = ("127.0.0.1", "localhost", "::1")
REMEMBER_S = 2.0
"""How long a token is remembered: one that was revoked elsewhere is good for that much longer."""


class Doorkeeper:
    """Checks the Host header and the token of every request."""

    def __init__(self, scheduler: Scheduler, allowed_hosts: tuple[str, ...]) -> None:
        self._scheduler = scheduler
        self._hosts = {host.lower() for host in (*LOOPBACK, *allowed_hosts)}
        self._any_host = "*" in self._hosts
        self._known: dict[str, tuple[float, Principal | None]] = {}

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
        found = await self._find(token.strip())
        if found is None:
            raise errors.Unauthorized("this token is unknown, was revoked, or has expired")
        return found

    def forget(self) -> None:
        """A token was revoked: from here on it is good for nothing."""
        self._known.clear()

    async def _find(self, token: str) -> Principal | None:
        key = digest(token)
        now = time.monotonic()
        known = self._known.get(key)
        if known is not None and now - known[0] < REMEMBER_S:
            return known[1]
        found = await asyncio.to_thread(
            lambda: self._scheduler.store.read(lambda tx: tokens.principal_of(tx, token))
        )
        if len(self._known) > 1000:
            self._known.clear()
        self._known[key] = (now, found)
        return found
