"""How calls travel: here in the same process, in `over_http` to a server."""

import os
import pwd
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import Future
from typing import Any, Protocol

import msgspec

from headway.api import table
from headway.api.operation import Answered, Operation
from headway.client.calls import Call
from headway.domain import errors
from headway.domain.tokens import Principal, Role
from headway.scheduler.explain import log_places
from headway.scheduler.scheduler import Scheduler
from headway.storage import log_files, runs

POLL_S = 0.2
CHUNK = 64 * 1024


class Transport(Protocol):
    """Carries calls."""

    def send(self, call: Call[Any]) -> Any:
        """Ask, and wait for the answer."""

    async def send_async(self, call: Call[Any]) -> Any:
        """Ask, without blocking the event loop."""

    def log(self, run_id: str, stream: str, *, follow: bool, tail: int | None) -> Iterator[bytes]:
        """A run's output, piece by piece."""

    def log_async(
        self, run_id: str, stream: str, *, follow: bool, tail: int | None
    ) -> AsyncIterator[bytes]:
        """A run's output, without blocking the event loop."""

    def close(self) -> None:
        """Let go of connections."""

    async def close_async(self) -> None:
        """Let go of connections, without blocking the event loop."""


class LocalTransport:
    """Straight to the scheduler in this process; whoever can open the files is an admin."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self._principal = local_principal()

    def send(self, call: Call[Any]) -> Any:
        """Ask, and wait for the answer."""
        answer = self._perform(call, *_find(call))
        return _value(answer.result() if isinstance(answer, Future) else answer)

    async def send_async(self, call: Call[Any]) -> Any:
        """Ask, without blocking the event loop."""
        import asyncio  # a slow import that only async callers need, and they have it

        from headway.storage.awaiting import awaiting

        operation, path = _find(call)
        if operation.blocking:
            return await asyncio.to_thread(self.send, call)
        answer = self._perform(call, operation, path)
        return _value(await awaiting(answer) if isinstance(answer, Future) else answer)

    def _perform(self, call: Call[Any], operation: Operation, path: Mapping[str, str]) -> Any:
        body = operation.body() if call.body is None else _as_sent(call.body, operation.body)
        query = table.read_query(
            operation, {key: as_text(value) for key, value in call.query.items()}
        )
        return table.perform(self.scheduler, self._principal, operation, path, body, query)

    def log(self, run_id: str, stream: str, *, follow: bool, tail: int | None) -> Iterator[bytes]:
        """A run's output, piece by piece."""
        for part in self._log(run_id, stream, follow, tail):
            if part:
                yield part
            else:
                time.sleep(POLL_S)

    async def log_async(
        self, run_id: str, stream: str, *, follow: bool, tail: int | None
    ) -> AsyncIterator[bytes]:
        """A run's output, without blocking the event loop."""
        import asyncio

        parts = self._log(run_id, stream, follow, tail)
        while (part := await asyncio.to_thread(next, parts, None)) is not None:
            if part:
                yield part
            else:
                await asyncio.sleep(POLL_S)

    def _log(self, run_id: str, stream: str, follow: bool, tail: int | None) -> Iterator[bytes]:
        """A run's output; an empty piece when there is no more of it for now."""
        self.scheduler.store.read(lambda tx: log_places.check_here(self.scheduler, tx, run_id))
        path = log_files.path(self.scheduler.data / log_files.folder(run_id), stream)
        offset = 0
        if tail is not None:
            offset = log_files.size(path)
            if last := log_files.read_tail(path, tail):
                yield last
        while True:
            ended = self.scheduler.store.read(lambda tx: runs.view(tx, run_id)).status is not None
            while (piece := log_files.read_from(path, offset, CHUNK)).data:
                offset = piece.end
                yield piece.data
            if ended or not follow:
                return
            yield b""

    def close(self) -> None:
        """Let go of the database."""
        self.scheduler.store.close()

    async def close_async(self) -> None:
        """Let go of the database, without blocking the event loop."""
        import asyncio

        await asyncio.to_thread(self.close)


def local_principal() -> Principal:
    """This process's user."""
    try:
        user = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        user = str(os.geteuid())
    return Principal(name=f"{user} (local)", role=Role.ADMIN)


def _find(call: Call[Any]) -> tuple[Operation, dict[str, str]]:
    if call.needs_server:
        raise errors.NeedsServer()
    return table.find(call.method, call.path)


def _as_sent(body: Any, kind: Any) -> Any:
    """A body as it would come out of HTTP: what was only written down has its type there."""
    try:
        return msgspec.convert(msgspec.to_builtins(body), kind)
    except msgspec.ValidationError as error:
        raise errors.from_validation(error) from None


def as_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _value(answer: Any) -> Any:
    return answer.value if isinstance(answer, Answered) else answer
