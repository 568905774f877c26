"""Plain HTTP requests that are repeated until a server responds."""

import http.client
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ANSWER_WITHIN_S = 10.0
PAUSE_S = 0.05


class NoAnswer(Exception):
    """The connection was refused, cut or timed out: what became of the request is not known."""


class Stopped(Exception):
    """The process was asked to end while it waited for an answer."""


class Server:
    """One server. Connections are kept, and made anew after an error."""

    def __init__(self, url: str, token: Path) -> None:
        self._address = urlsplit(url)
        self._token = token
        self._connection: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The status and the body of the answer."""
        try:
            self._send(method, path, body)
            assert self._connection is not None
            answer = self._connection.getresponse()
            content = answer.read()
            return answer.status, json.loads(content) if content else None
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise NoAnswer(str(error)) from error

    def ask_and_leave(self, method: str, path: str, body: Any) -> None:
        """Send a request and hang up without reading the answer."""
        try:
            self._send(method, path, body)
        except (OSError, http.client.HTTPException) as error:
            raise NoAnswer(str(error)) from error
        finally:
            self.close()

    def _send(self, method: str, path: str, body: Any) -> None:
        if self._connection is None:
            host, port = self._address.hostname, self._address.port
            self._connection = http.client.HTTPConnection(host or "", port, timeout=ANSWER_WITHIN_S)
        headers = {
            "authorization": f"Bearer {self._token.read_text().strip()}",
            "content-type": "application/json",
        }
        content = None if body is None else json.dumps(body).encode()
        self._connection.request(method, path, content, headers)

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Servers:
    """Several servers of one store; the next one is asked when one does not answer."""

    def __init__(
        self, urls: Sequence[str], token: Path, goes_on: Callable[[], bool] = lambda: True
    ) -> None:
        self._servers = [Server(url, token) for url in urls]
        self._goes_on = goes_on

    @property
    def current(self) -> Server:
        """The server that is asked first."""
        return self._servers[0]

    def change(self) -> None:
        """Ask another one from now on."""
        self._servers.append(self._servers.pop(0))

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Repeat the request until a server answers it with something other than its own trouble.

        Only for requests that may be repeated.
        """
        while self._goes_on():
            try:
                status, content = self.current.ask(method, path, body)
                if status < 500:
                    return status, content
            except NoAnswer:
                pass
            self.change()
            time.sleep(PAUSE_S)
        raise Stopped

    def get(self, path: str) -> Any:
        """What is at a path."""
        status, content = self.ask("GET", path)
        if status != 200:
            raise LookupError(f"GET {path}: {status} {content}")
        return content

    def pages(self, path: str) -> Iterator[Any]:
        """Every item of a list."""
        joint = "&" if "?" in path else "?"
        following = f"{path}{joint}limit=200"
        while True:
            page = self.get(following)
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            following = f"{path}{joint}limit=200&cursor={page['next_cursor']}"
