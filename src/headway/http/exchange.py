"""One request and its answer, on plain ASGI."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

from headway.domain import errors

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

JSON = b"application/json"
TEXT = b"text/plain; charset=utf-8"
ONCE = {b"host", b"authorization", b"idempotency-key", b"if-match", b"last-event-id"}
"""Headers that decide something: said twice, they could mean either."""


NO_STORE = (b"cache-control", b"no-store")
"""Responses hold params, tokens and webhook secrets: no proxy or browser keeps them."""
END_WITHIN_S = 1.0
"""How long the end of a stream waits for a client that does not read."""

PIECE = 64 * 1024
"""Larger answers are sent in pieces of this size: what was read of them needs no memory."""


class ClientGone(Exception):
    """The client hung up before it was answered."""


class Exchange:
    """What came in, and the means to answer."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["raw_path"].decode("latin-1")  # as written: `%2F` is no `/`
        self.address: str = (scope.get("client") or ("an unknown address",))[0]
        self._said: list[tuple[bytes, bytes]] = scope["headers"]
        self.headers: dict[bytes, bytes] = dict(self._said)
        self._query: bytes = scope["query_string"]
        self.receive = receive
        self._send = send
        self.answered = False

    def refuse_twins(self) -> None:
        """Refuse a header that is given twice and may be given once."""
        if len(self.headers) == len(self._said):
            return
        names = [name for name, _ in self._said]
        for name in ONCE.intersection(names):
            if names.count(name) > 1:
                raise errors.Malformed(f"the header {name.decode()} is given twice")

    def header(self, name: str) -> str | None:
        """A header, if it was sent."""
        value = self.headers.get(name.encode())
        return None if value is None else value.decode("latin-1")

    def query(self) -> dict[str, str]:
        """The query parameters; one that is given twice is refused."""
        if not self._query:
            return {}
        try:
            pairs = parse_qsl(self._query.decode("ascii"), keep_blank_values=True, errors="strict")
        except (UnicodeError, ValueError):
            raise errors.InvalidRequest("query", "the query string cannot be read") from None
        found = dict(pairs)
        if len(found) < len(pairs):
            raise errors.InvalidRequest("query", "a parameter is given twice")
        return found

    def announced_size(self, otherwise: int) -> int:
        """How many bytes the body has, if the client said it beforehand."""
        announced = self.header("content-length")
        return int(announced) if announced is not None and announced.isdecimal() else otherwise

    async def body(self, limit: int, take: Callable[[int], None] | None = None) -> bytes:
        """The whole body, up to a limit; `take` is told the size of each part and may refuse it."""
        announced = self.announced_size(limit)
        if announced > limit:
            raise errors.TooLarge("the body", announced, limit)
        parts: list[bytes] = []
        size = 0
        while True:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            part = message.get("body", b"")
            size += len(part)
            if size > limit:
                raise errors.TooLarge("the body", size, limit)
            if take is not None:
                take(len(part))
            parts.append(part)
            if not message.get("more_body"):
                return b"".join(parts)

    async def answer(
        self,
        status: int,
        body: bytes = b"",
        content_type: bytes = JSON,
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        """Respond at once; the response is not cached unless the headers say so."""
        length = (b"content-length", str(len(body)).encode())
        kept = () if any(name == b"cache-control" for name, _ in headers) else (NO_STORE,)
        await self._start(status, content_type, (*headers, *kept, length))
        for start in range(0, len(body) - PIECE, PIECE):
            await self._send_part(body[start : start + PIECE])
            await asyncio.sleep(0)  # compressing takes a while: others have their turn
        rest = max(0, len(body) - 1) // PIECE * PIECE
        await self._send({"type": "http.response.body", "body": body[rest:]})

    async def stream(
        self,
        content_type: bytes,
        parts: AsyncIterator[bytes],
        ended: "asyncio.Future[None]",
        last: bytes = b"",
    ) -> None:
        """Answer piece by piece; once `ended` is done, with one last piece and no more."""
        await self._start(
            200,
            content_type,
            (
                NO_STORE,
                (b"x-accel-buffering", b"no"),
                (b"content-encoding", b"identity"),  # compressing would hold pieces back
            ),
        )
        sending = asyncio.ensure_future(self._send_parts(parts))
        leaving = asyncio.ensure_future(self._until_gone())
        try:
            await asyncio.wait({sending, leaving, ended}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            raise ClientGone from None  # the server stops, and this client does not read
        finally:
            for task in (sending, leaving):
                task.cancel()
        if ended.done() and not sending.done() and not leaving.done():
            await self._end_stream(sending, last)
            return
        if not sending.done() or sending.cancelled():
            raise ClientGone
        sending.result()

    async def _end_stream(self, sending: "asyncio.Task[None]", last: bytes) -> None:
        """Abort a stream; a client that does not read is not waited for."""
        await asyncio.wait({sending})
        try:
            async with asyncio.timeout(END_WITHIN_S):
                await self._send({"type": "http.response.body", "body": last})
        except TimeoutError:
            raise ClientGone from None

    async def _send_parts(self, parts: AsyncIterator[bytes]) -> None:
        async for part in parts:
            await self._send_part(part)
        await self._send({"type": "http.response.body", "body": b""})

    async def _send_part(self, part: bytes) -> None:
        """Send a piece, once the client has read enough of those before."""
        await self._send({"type": "http.response.body", "body": part, "more_body": True})

    async def _until_gone(self) -> None:
        """Nothing fails when one sends to a client that has left: it has to be noticed here."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    async def _start(
        self, status: int, content_type: bytes, headers: tuple[tuple[bytes, bytes], ...]
    ) -> None:
        self.answered = True
        await self._send(
            {
                "type": "http.response.start",
                "status": status,
                "headers": [
                    (b"content-type", content_type),
                    (b"x-content-type-options", b"nosniff"),
                    *headers,
                ],
            }
        )
