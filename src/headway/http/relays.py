"""Output that is in the data directory of another server is fetched from there."""

import asyncio
import ipaddress
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from urllib.parse import urlencode, urlsplit

import httpx

from headway.client.over_http import problem
from headway.http.exchange import Exchange
from headway.scheduler.explain.log_places import Elsewhere, Server
from headway.worker import process_groups

ASKED = "headway-data-id"
"""The header of a request from another server: the data directory in which it looks for output."""

CONNECT_WITHIN_S = 3.0
ANSWER_WITHIN_S = 30.0


class Relay:
    """The answer of another server, handed on piece by piece."""

    def __init__(self, closed: asyncio.Event) -> None:
        self._closed = closed
        self._stack = AsyncExitStack()
        self._response: httpx.Response | None = None

    async def open(self, exchange: Exchange, found: Elsewhere, stream: str) -> None:
        """Ask the servers that can read it; the caller's own token is good there, too."""
        why = "no server runs there"
        for server in found.servers:
            base = reachable(server)
            if base is None:
                why = "it listens on its own machine only; ask there"
                continue
            target = f"{base}/api/job-runs/{found.run_id}/logs/{stream}"
            try:
                self._response = await self._ask(exchange, target, found.data_id)
                return
            except httpx.TransportError as error:
                why = f"it does not answer: {error or type(error).__name__}"
        raise found.unreachable(why)

    async def _ask(self, exchange: Exchange, target: str, data_id: str) -> httpx.Response:
        query = exchange.query()
        headers = {
            "authorization": exchange.header("authorization") or "",
            "host": "localhost",  # its check of names is for browsers
            "accept-encoding": "identity",
            ASKED: data_id,
        }
        timeout = httpx.Timeout(ANSWER_WITHIN_S, connect=CONNECT_WITHIN_S, read=_patience(query))
        client = await self._stack.enter_async_context(
            httpx.AsyncClient(timeout=timeout, trust_env=False)
        )
        address = f"{target}?{urlencode(query)}" if query else target
        response = await self._stack.enter_async_context(
            client.stream("GET", address, headers=headers)
        )
        if response.status_code != 200:
            raise problem(response.status_code, await response.aread())
        return response

    async def parts(self) -> AsyncIterator[bytes]:
        """What the other server sends, until it ends or this one stops."""
        assert self._response is not None
        pieces = self._response.aiter_raw()
        closing = asyncio.ensure_future(self._closed.wait())
        try:
            while True:
                coming = asyncio.ensure_future(anext(pieces, None))
                await asyncio.wait({coming, closing}, return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    coming.cancel()
                    return
                if (piece := coming.result()) is None:
                    return
                yield piece
        finally:
            closing.cancel()
            await self.close()

    async def close(self) -> None:
        """Close the connection."""
        await self._stack.aclose()


def _patience(query: Mapping[str, str]) -> float | None:
    """A log that is followed may be silent for long."""
    return ANSWER_WITHIN_S if query.get("follow", "false") == "false" else None


def reachable(server: Server) -> str | None:
    """The address of another server as seen from here; None if it listens on its machine only."""
    parts = urlsplit(server.url)
    host = parts.hostname or ""
    same = server.host == os.uname().nodename
    same = same and server.process_started.partition("/")[0] == process_groups.boot_id()
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        return server.url
    if address.is_loopback:
        return server.url if same else None
    if address.is_unspecified:
        return f"http://{'127.0.0.1' if same else server.host}:{parts.port}"
    return server.url
