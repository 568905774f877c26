"""Requests of a client in the same process: they go straight to the bound functions."""

import os
import pwd
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

from headway.domain.manage.tokens import Principal, Role
from headway.files import log_files
from headway.operations import dispatch
from headway.operations.bound import Answered, Bound
from headway.protocol import bodies
from headway.protocol.operation import Request
from headway.scheduler.explain import log_places
from headway.scheduler.scheduler import Scheduler
from headway.storage import runs

Answer = TypeVar("Answer")

POLL_S = 0.2
CHUNK = 64 * 1024


class LocalTransport:
    """Straight to the scheduler in this process; a user who can open the files is an admin."""

    is_local = True

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self._principal = local_principal()

    def send(self, request: Request[Answer]) -> Answer:
        """Ask, and wait for the answer."""
        answer = self._perform(dispatch.find(request.operation), request)
        shown: Answer = _value(answer.result() if isinstance(answer, Future) else answer)
        return shown

    async def send_async(self, request: Request[Answer]) -> Answer:
        """Ask, without blocking the event loop."""
        import asyncio  # a slow import that only async callers need, and they have it

        from headway.storage.engine.awaiting import awaiting

        bound = dispatch.find(request.operation)
        if request.operation.blocking:
            return await asyncio.to_thread(self.send, request)
        answer = self._perform(bound, request)
        shown: Answer = _value(await awaiting(answer) if isinstance(answer, Future) else answer)
        return shown

    def _perform(self, bound: Bound, request: Request[Any]) -> Any:
        """What HTTP would refuse when it decodes a request is refused here too."""
        operation = request.operation
        body = bodies.checked(request.body, operation.body)
        query = bodies.checked(request.query, operation.query, strict=False)
        return dispatch.perform(self.scheduler, self._principal, bound, request.path, body, query)

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
        """Close the database."""
        self.scheduler.store.close()

    async def close_async(self) -> None:
        """Close the database, without blocking the event loop."""
        import asyncio

        await asyncio.to_thread(self.close)


def local_principal() -> Principal:
    """This process's user."""
    try:
        user = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        user = str(os.geteuid())
    return Principal(name=f"{user} (local)", role=Role.ADMIN)


def _value(answer: Any) -> Any:
    return answer.value if isinstance(answer, Answered) else answer
