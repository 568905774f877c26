"""HTTP by the standard library: it loads in a fraction of the time that httpx takes."""

import contextlib
import http.client
import queue
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

CONNECT_WITHIN_S = 5.0
ANSWER_WITHIN_S = 30.0

FAILED = (OSError, http.client.HTTPException)
"""What is raised when a server cannot be asked, or its answer cannot be read."""


class Answer(NamedTuple):
    """What the server said."""

    status: int
    content: bytes


class Wire:
    """Connections to one server; those that are idle are kept for the next caller."""

    def __init__(self, url: str, headers: dict[str, str], ca_file: Path | None) -> None:
        self._at = urlsplit(url)
        self._headers = headers
        self._context: ssl.SSLContext | None = None
        if self._at.scheme == "https":
            self._context = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
        self._idle: queue.SimpleQueue[http.client.HTTPConnection] = queue.SimpleQueue()

    def ask(
        self,
        method: str,
        target: str,
        body: bytes | None,
        *,
        repeat: bool,
        within: float | None = ANSWER_WITHIN_S,
    ) -> Answer:
        """One request and its answer. What must not be repeated gets a connection of its own."""
        if not repeat:
            with contextlib.closing(self._connect()) as connection:
                connection.sock.settimeout(within)
                return self._ask(connection, method, target, body)
        kept = self._kept()
        if kept is not None:
            with contextlib.suppress(ConnectionError):  # the server closed it meanwhile
                return self._ask_and_keep(kept, method, target, body)
        return self._ask_and_keep(self._connect(), method, target, body)

    @contextlib.contextmanager
    def open(self, target: str) -> Iterator[http.client.HTTPResponse]:
        """An answer that is read as it comes, however long that takes."""
        connection = self._connect()
        try:
            connection.sock.settimeout(None)
            connection.request("GET", self._at.path + target, headers=self._headers)
            yield connection.getresponse()
        finally:
            connection.close()

    def close(self) -> None:
        """Close connections."""
        while (connection := self._kept()) is not None:
            connection.close()

    def _ask_and_keep(
        self, connection: http.client.HTTPConnection, method: str, target: str, body: bytes | None
    ) -> Answer:
        try:
            answer = self._ask(connection, method, target, body)
        except BaseException:
            connection.close()
            raise
        self._idle.put(connection)
        return answer

    def _ask(
        self, connection: http.client.HTTPConnection, method: str, target: str, body: bytes | None
    ) -> Answer:
        connection.request(method, self._at.path + target, body, self._headers)
        response = connection.getresponse()
        has_length = response.length is not None or response.chunked
        content = response.read()
        if not content and not has_length:  # cut off in its headers, which the library overlooks
            raise http.client.IncompleteRead(content)
        return Answer(response.status, content)

    def _kept(self) -> http.client.HTTPConnection | None:
        with contextlib.suppress(queue.Empty):
            return self._idle.get_nowait()
        return None

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._at.hostname or "", self._at.port
        connection = (
            http.client.HTTPSConnection(host, port, timeout=CONNECT_WITHIN_S, context=self._context)
            if self._context
            else http.client.HTTPConnection(host, port, timeout=CONNECT_WITHIN_S)
        )
        connection.connect()
        connection.sock.settimeout(ANSWER_WITHIN_S)
        return connection
