"""Requests over HTTP."""

import random
import ssl
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast
from urllib.parse import urlencode, urlsplit

import msgspec

from headway.client import wire
from headway.domain import errors
from headway.domain.requests.job_requests import JobRequest
from headway.domain.values import plain_json
from headway.protocol.jobs import Batch
from headway.protocol.operation import Request

if TYPE_CHECKING:
    import asyncio

    import httpx

Answer = TypeVar("Answer")
JobRequestT = TypeVar("JobRequestT", bound=JobRequest)

TRIES = 4
FIRST_WAIT_S = 0.2
CHUNK = 64 * 1024


class HttpTransport:
    """Over HTTP. What may be repeated is, when the server is away for a moment."""

    is_local = False

    def __init__(self, url: str, token: str | None, ca_file: Path | None = None) -> None:
        self.url = server_url(url)
        self._headers = {"content-type": "application/json"}
        if token:
            self._headers["authorization"] = f"Bearer {token}"
        self._ca_file = ca_file
        self._wire = wire.Wire(self.url, self._headers, ca_file)
        self._async: tuple[asyncio.AbstractEventLoop, httpx.AsyncClient] | None = None
        self._chance = random.Random()

    def send(self, request: Request[Answer]) -> Answer:
        """Ask, and wait for the answer."""
        message = _message(request)
        for wait_s in self._waits(message):
            try:
                status, content = self._wire.ask(
                    message.method,
                    message.target,
                    message.body,
                    repeat=message.safe_to_repeat,
                    within=message.within,
                )
                return _read(request, status, content)
            except wire.FAILED as error:
                if wait_s is None:
                    raise unreachable(self.url, error) from error
                time.sleep(wait_s)
        raise AssertionError("the last try answers or raises")

    async def send_async(self, request: Request[Answer]) -> Answer:
        """Ask, without blocking the event loop."""
        import asyncio  # slow imports that only async callers need

        import httpx

        client, message = self._async_client(), _message(request)
        target = self.url + message.target
        seconds = httpx.Timeout(message.within, connect=wire.CONNECT_WITHIN_S)
        for wait_s in self._waits(message):
            try:
                answer = await client.request(
                    message.method, target, content=message.body, timeout=seconds
                )
                return _read(request, answer.status_code, answer.content)
            except httpx.TransportError as error:
                if wait_s is None:
                    raise unreachable(self.url, error) from error
                await asyncio.sleep(wait_s)
        raise AssertionError("the last try answers or raises")

    def _async_client(self) -> "httpx.AsyncClient":
        """One for each event loop: connections do not outlive theirs."""
        import asyncio

        import httpx

        loop = asyncio.get_running_loop()
        if self._async is None or self._async[0] is not loop:
            trust = ssl.create_default_context(cafile=str(self._ca_file)) if self._ca_file else True
            client = httpx.AsyncClient(headers=self._headers, verify=trust, trust_env=False)
            self._async = (loop, client)
        return self._async[1]

    def _waits(self, message: "_Message") -> list[float | None]:
        if not message.safe_to_repeat:
            return [None]
        waits: list[float | None] = [
            FIRST_WAIT_S * 2**one * self._chance.uniform(0.5, 1.0) for one in range(TRIES - 1)
        ]
        return [*waits, None]

    def log(self, run_id: str, stream: str, *, follow: bool, tail: int | None) -> Iterator[bytes]:
        """A run's output, piece by piece."""
        try:
            with self._wire.open(_log_target(run_id, stream, follow, tail)) as response:
                if response.status >= 400:
                    raise problem(response.status, response.read())
                while part := response.read1(CHUNK):
                    yield part
        except wire.FAILED as error:
            raise unreachable(self.url, error) from error

    async def log_async(
        self, run_id: str, stream: str, *, follow: bool, tail: int | None
    ) -> AsyncIterator[bytes]:
        """A run's output, without blocking the event loop."""
        import httpx

        target = self.url + _log_target(run_id, stream, follow, tail)
        seconds = httpx.Timeout(None, connect=wire.CONNECT_WITHIN_S)
        try:
            async with self._async_client().stream("GET", target, timeout=seconds) as response:
                if response.status_code >= 400:
                    raise problem(response.status_code, await response.aread())
                async for part in response.aiter_bytes():
                    yield part
        except httpx.TransportError as error:
            raise unreachable(self.url, error) from error

    def close(self) -> None:
        """Close connections."""
        self._wire.close()

    async def close_async(self) -> None:
        """Close connections, also of those that async calls left open."""
        if self._async is not None:
            await self._async_client().aclose()
            self._async = None
        self.close()


def server_url(url: str) -> str:
    """The address of a server, which is shown in messages: it holds no secret."""
    if "@" in url:
        raise errors.InvalidRequest(
            "url", "takes no user or password; pass a token with --token or HEADWAY_TOKEN"
        )
    if urlsplit(url).scheme not in ("http", "https"):
        raise errors.InvalidRequest("url", f"{url!r} does not begin with http:// or https://")
    return url.rstrip("/")


def _log_target(run_id: str, stream: str, follow: bool, tail: int | None) -> str:
    query = {"follow": follow} if tail is None else {"follow": follow, "tail": tail}
    return f"/api/job-runs/{run_id}/logs/{stream}?{_query(query)}"


def _query(query: Mapping[str, Any]) -> str:
    return urlencode({key: _text(value) for key, value in query.items()})


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


class _Message(NamedTuple):
    """A request as it is sent."""

    method: str
    target: str
    body: bytes | None
    safe_to_repeat: bool
    within: float | None
    """How long to wait for an answer; the server itself bounds what waits for a slot."""


def _message(request: Request[Any]) -> _Message:
    operation = request.operation
    body, has_keys = _with_keys(request.body)
    target = operation.target(request.path)
    words = _query(_given(request.query))
    return _Message(
        method=operation.method,
        target=f"{target}?{words}" if words else target,
        body=_encoded(body),
        safe_to_repeat=operation.safe_to_repeat or has_keys,
        within=None if operation.takes_its_time else wire.ANSWER_WITHIN_S,
    )


def _given(query: msgspec.Struct | None) -> dict[str, Any]:
    """The query parameters that were given."""
    fields = () if query is None else query.__struct_fields__
    return {name: value for name in fields if (value := getattr(query, name)) is not None}


def _with_keys(body: Any) -> tuple[Any, bool]:
    """A submit may be repeated once each of its jobs has a key; those without get one here."""
    if isinstance(body, JobRequest):
        return _with_key(body), True
    if isinstance(body, Batch):
        return Batch(jobs=[*map(_with_key, body.jobs)]), True
    return body, False


def _with_key(request: JobRequestT) -> JobRequestT:
    if request.idempotency_key is not None:
        return request
    return msgspec.structs.replace(request, idempotency_key=f"client-{uuid.uuid4()}")


def _encoded(body: Any) -> bytes | None:
    if body is None:
        return None
    plain_json.refuse_nonsense(msgspec.to_builtins(body), "")
    return msgspec.json.encode(body)


def _read(request: Request[Answer], status: int, content: bytes) -> Answer:
    if status >= 400:
        raise problem(status, content)
    if status == 204:
        return cast(Answer, None)
    try:
        return msgspec.json.decode(content, type=request.operation.answer)
    except msgspec.DecodeError as error:
        raise errors.Unavailable(
            f"the server's answer cannot be read; does it run another version? ({error})"
        ) from None


def problem(status: int, content: bytes) -> errors.HeadwayError:
    """The error that the server described."""
    try:
        body = msgspec.json.decode(content, type=dict[str, Any])
        return errors.revive(
            str(body["code"]), str(body["detail"]), status, body.get("errors"), body.get("facts")
        )
    except (msgspec.MsgspecError, KeyError):
        return errors.Unavailable(f"the server answered {status} with an unreadable body")


def unreachable(url: str, error: Exception) -> errors.Unavailable:
    """Why a server could not be asked."""
    if _is_untrusted(error):
        return errors.UntrustedServer(
            f"the certificate of {url} could not be verified: {error}; see the setting ca_file"
        )
    return errors.Unavailable(f"{url} does not answer: {_words(error)}")


def _is_untrusted(error: BaseException | None) -> bool:
    """Whether the certificate was refused; httpx raises its own errors from that one."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _words(error: Exception) -> str:
    """`Connection refused` rather than `[Errno 111] Connection refused`."""
    said = error.strerror if isinstance(error, OSError) else str(error)
    return said or str(error) or type(error).__name__
