"""Connections to webhook endpoints: a name is resolved, its addresses are checked, and one of those
that passed is called. There is no second look-up in which the name could mean something else.
"""

import asyncio
import socket
from collections.abc import Iterable
from typing import Any

import httpcore
import httpx

from headway.domain.manage.webhooks import refusal_of_address


class TargetRefusedError(Exception):
    """No address of the endpoint may be called."""


class CheckedTransport(httpx.AsyncHTTPTransport):
    """Sends requests over connections to checked addresses; proxies are not used."""

    def __init__(self, *, public_only: bool, most_connections: int) -> None:
        super().__init__()
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=httpx.create_ssl_context(),
            max_connections=most_connections,
            keepalive_expiry=5.0,
            network_backend=_CheckedBackend(public_only=public_only),
        )


class _CheckedBackend(httpcore.AsyncNetworkBackend):
    def __init__(self, *, public_only: bool) -> None:
        self._public_only = public_only
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address that passes and takes connections."""
        last: Exception | None = None
        for address in await self._allowed(host, port):
            try:
                return await self._inner.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except httpcore.ConnectError as error:
                last = error
        raise last or httpcore.ConnectError(f"{host} has no address")

    async def _allowed(self, host: str, port: int) -> list[str]:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
        refusals = {
            one: refusal_of_address(one, public_only=self._public_only) for one in addresses
        }
        allowed = [one for one in addresses if refusals[one] is None]
        if not allowed:
            raise TargetRefusedError(next(filter(None, refusals.values()), "it has no address"))
        return allowed
