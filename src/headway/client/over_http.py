"""Calls over HTTP."""

import asyncio
import random
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec

from headway.client.calls import Call
from headway.client.transport import as_text
from headway.domain import errors, plain_json

TRIES = 4
FIRST_WAIT_S = 0.2
CONNECT_S = 5.0


class HttpTransport:
    """Over HTTP. A call that may be repeated is, when the server is away for a moment."""

    def __init__(self, url: str, token: str | None, ca_file: Path | None = None) -> None:
        self.url = url.rstrip("/")
        headers = {"authorization": f"Bearer {token}"} if token else {}
        verify = ssl.create_default_context(cafile=str(ca_file)) if ca_file else True
        self._options: dict[str, Any] = {
            "base_url": self.url,
            "headers": headers,
            "timeout": httpx.Timeout(30.0, connect=CONNECT_S),
            "verify": verify,
        }
        self._client = httpx.Client(**self._options)
        self._async: tuple[asyncio.AbstractEventLoop, httpx.AsyncClient] | None = None
        self._chance = random.Random()

    def send(self, call: Call[Any]) -> Any:
        """Ask, and wait for the answer."""
        for wait_s in self._waits(call):
            try:
                return _read(call, self._client.request(**_request(call)))
            except httpx.TransportError as error:
                if wait_s is None:
                    raise unreachable(self.url, error) from error
                time.sleep(wait_s)
        raise AssertionError("the last try answers or raises")

    async def send_async(self, call: Call[Any]) -> Any:
        """Ask, without blocking the event loop."""
        client = self._async_client()
        for wait_s in self._waits(call):
            try:
                return _read(call, await client.request(**_request(call)))
            except httpx.TransportError as error:
                if wait_s is None:
                    raise unreachable(self.url, error) from error
                await asyncio.sleep(wait_s)
        raise AssertionError("the last try answers or raises")

    def _async_client(self) -> httpx.AsyncClient:
        """One for each event loop: connections do not outlive theirs."""
        loop = asyncio.get_running_loop()
        if self._async is None or self._async[0] is not loop:
            self._async = (loop, httpx.AsyncClient(**self._options))
        return self._async[1]

    def _waits(self, call: Call[Any]) -> list[float | None]:
        if not call.safe_to_repeat:
            return [None]
        waits: list[float | None] = [
            FIRST_WAIT_S * 2**one * self._chance.uniform(0.5, 1.0) for one in range(TRIES - 1)
        ]
        return [*waits, None]

    def log(self, run_id: str, stream: str, *, follow: bool, tail: int | None) -> Iterator[bytes]:
        """A run's output, piece by piece."""
        params = {
            "follow": str(follow).lower(),
            **({"tail": str(tail)} if tail is not None else {}),
        }
        url = f"/api/job-runs/{run_id}/logs/{stream}"
        try:
            with self._client.stream(
                "GET", url, params=params, timeout=httpx.Timeout(None, connect=CONNECT_S)
            ) as answer:
                if answer.status_code >= 400:
                    answer.read()
                    raise problem(answer)
                yield from answer.iter_bytes()
        except httpx.TransportError as error:
            raise unreachable(self.url, error) from error

    def close(self) -> None:
        """Let go of connections."""
        self._client.close()


def _request(call: Call[Any]) -> dict[str, Any]:
    request: dict[str, Any] = {"method": call.method, "url": call.path}
    if call.needs_server:
        request["timeout"] = httpx.Timeout(None, connect=CONNECT_S)
    if call.query:
        request["params"] = {key: as_text(value) for key, value in call.query.items()}
    if call.body is not None:
        plain_json.refuse_nonsense(msgspec.to_builtins(call.body), "")
        request["content"] = msgspec.json.encode(call.body)
        request["headers"] = {"content-type": "application/json"}
    return request


def _read(call: Call[Any], answer: httpx.Response) -> Any:
    if answer.status_code >= 400:
        raise problem(answer)
    if answer.status_code == 204:
        return None
    return msgspec.json.decode(answer.content, type=call.answer)


def problem(answer: httpx.Response) -> errors.HeadwayError:
    """The error that the server described."""
    try:
        body = msgspec.json.decode(answer.content, type=dict[str, Any])
        return errors.revive(
            str(body["code"]), str(body["detail"]), answer.status_code, body.get("errors")
        )
    except (msgspec.MsgspecError, KeyError):
        return errors.Unavailable(
            f"the server answered {answer.status_code} and nothing that can be read"
        )


def unreachable(url: str, error: httpx.TransportError) -> errors.Unavailable:
    """Why a server could not be asked."""
    if isinstance(error.__cause__, ssl.SSLError) or "certificate" in str(error).lower():
        return errors.UntrustedServer(
            f"the certificate of {url} could not be checked: {error}; see the setting ca_file"
        )
    return errors.Unavailable(f"{url} does not answer: {error or type(error).__name__}")
