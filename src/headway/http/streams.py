"""What goes on for longer: events as they happen, and logs as they grow."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from headway.domain import errors
from headway.domain import events as kinds
from headway.domain.events import Event
from headway.files import log_files
from headway.http import routes
from headway.http.exchange import TEXT, Exchange
from headway.http.open_requests import Ended
from headway.http.relays import ASKED, Relay
from headway.operations import filters
from headway.scheduler.explain import log_places
from headway.scheduler.explain.log_places import Elsewhere
from headway.scheduler.scheduler import Scheduler
from headway.storage import events, jobs, runs
from headway.storage.engine.transaction import EVENTS, Transaction
from headway.storage.events import Follower

PAGE = 500
KEEP_ALIVE_S = 15.0
LOG_POLL_S = 0.3
CHUNK = 64 * 1024
MOST_TAIL = 100_000
TICKS_MS = range(100, 60_001)
"""How far apart the ticks of a stream may be."""
_REFUSED = f": {errors.TokenRefused().detail}\n\n".encode()

Value = TypeVar("Value")


class Streams:
    """Long answers. Each reader goes at its own pace and is never waited for."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._closed = asyncio.Event()
        self._waiting: set[asyncio.Event] = set()

    def close(self) -> None:
        """The server stops: streams send what there is, and end."""
        self._closed.set()
        for changed in self._waiting:
            changed.set()

    async def events(self, exchange: Exchange, ended: Ended) -> None:
        """Server-sent events; `Last-Event-ID` continues where another stream ended."""
        if (every_ms := exchange.query().get("every_ms")) is not None:
            ticks = self._ticks(_read_interval(every_ms))
            return await exchange.stream(b"text/event-stream", ticks, ended, last=_REFUSED)
        last = exchange.header("last-event-id") or exchange.query().get("after")
        if last is not None and (not last.isascii() or not last.isdecimal() or len(last) > 18):
            raise errors.InvalidRequest("Last-Event-ID", f"{last!r} is not the number of an event")
        if last is None:
            parts = self._event_parts(await self._read(events.from_now))
        else:
            first, _ = await self._read(events.bounds)
            parts = self._event_parts(events.Follower(int(last)), first)
        return await exchange.stream(b"text/event-stream", parts, ended, last=_REFUSED)

    @contextlib.contextmanager
    def _listening(self) -> Iterator[asyncio.Event]:
        """An event that is set when there is new history, or when the server stops."""
        changed = asyncio.Event()
        loop = asyncio.get_running_loop()

        def tell() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is already closed
                loop.call_soon_threadsafe(changed.set)

        stop = self._scheduler.store.wakeups.listen(EVENTS, tell)
        self._waiting.add(changed)
        try:
            yield changed
        finally:
            self._waiting.discard(changed)
            stop()

    async def _ticks(self, every_s: float) -> AsyncIterator[bytes]:
        """That something happened, at most once in an interval: enough for what reads the state."""
        with self._listening() as changed:
            yield b": connected\n\n"
            while not self._closed.is_set():
                try:
                    await asyncio.wait_for(changed.wait(), KEEP_ALIVE_S)
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                changed.clear()
                last = await self._read(events.last_number)
                yield b"id: %d\nevent: %s\ndata: {}\n\n" % (last, kinds.TICK.encode())
                await asyncio.sleep(every_s)

    async def _event_parts(self, follower: Follower, first: int = 0) -> AsyncIterator[bytes]:
        with self._listening() as changed:
            yield b": connected\n\n"
            if first > follower.seq + 1:
                yield _lost(follower.seq, first)
                follower = events.Follower(first - 1)
            while True:
                changed.clear()
                ends = self._closed.is_set()
                for event in await self._read(lambda tx: follower.read(tx, PAGE)):
                    yield _frame(event)
                if ends:
                    return
                if follower.wait_s is not None:
                    await asyncio.sleep(follower.wait_s)
                    continue
                try:
                    await asyncio.wait_for(changed.wait(), KEEP_ALIVE_S)
                except TimeoutError:
                    yield b": still here\n\n"

    async def logs(self, exchange: Exchange, ended: Ended) -> None:
        """The output of a run, or of a job's last run: all of it, its tail, or as it grows."""
        _, kind, name, _, stream = routes.steps(exchange.path)
        find = _run_id if kind == "job-runs" else _run_id_of_job
        run_id = await self._read(lambda tx: find(tx, name))
        follow, tail = _read_query(exchange.query())
        found = await self._read(lambda tx: log_places.elsewhere(self._scheduler, tx, run_id))
        if found is not None:
            return await self._hand_on(exchange, ended, found, stream)
        path = log_files.path(self._scheduler.data / log_files.folder(run_id), stream)
        if not follow and tail is not None:
            return await exchange.answer(
                200, await asyncio.to_thread(log_files.read_tail, path, tail), TEXT
            )
        await exchange.stream(TEXT, self._log_parts(path, run_id, follow, tail), ended)
        return None

    async def _hand_on(
        self, exchange: Exchange, ended: Ended, found: Elsewhere, stream: str
    ) -> None:
        """Output that is in another data directory comes from a server there."""
        if exchange.header(ASKED) is not None:  # a server asks, and would be asked in turn
            raise found.unreachable("this server does not have it")
        relay = Relay(self._closed)
        try:
            await relay.open(exchange, found, stream)
            await exchange.stream(TEXT, relay.parts(), ended)
        finally:
            await relay.close()

    async def _log_parts(
        self, path: Path, run_id: str, follow: bool, tail: int | None
    ) -> AsyncIterator[bytes]:
        offset = 0
        if tail is not None:
            offset = log_files.size(path)
            yield await asyncio.to_thread(log_files.read_tail, path, tail)
        while True:
            ends = self._closed.is_set() or not follow
            run = await self._read(lambda tx: runs.view(tx, run_id))
            while (piece := await asyncio.to_thread(log_files.read_from, path, offset, CHUNK)).data:
                offset = piece.end
                yield piece.data
            if ends or run.status is not None:
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), LOG_POLL_S)

    async def _read(self, work: Callable[[Transaction], Value]) -> Value:
        return await asyncio.to_thread(self._scheduler.store.read, work)


def _run_id(tx: Transaction, run_id: str) -> str:
    return runs.view(tx, run_id).run_id


def _run_id_of_job(tx: Transaction, reference: str) -> str:
    """The job's last run; what ran before a rewind is history."""
    run_id = jobs.read_one(tx, reference).run_id
    if run_id is None:
        raise errors.NotFound("run of job", reference)
    return run_id


def _read_query(query: dict[str, str]) -> tuple[bool, int | None]:
    unknown = set(query) - {"follow", "tail"}
    if unknown:
        raise errors.InvalidRequest(min(unknown), "unknown parameter")
    follow, tail = filters.read_flag("follow", query.get("follow", "false")), query.get("tail")
    if tail is not None and not _is_line_count(tail):
        raise errors.InvalidRequest("tail", f"must be a number of lines up to {MOST_TAIL}")
    return follow, None if tail is None else int(tail)


def _read_interval(text: str) -> float:
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) in TICKS_MS):
        raise errors.InvalidRequest(
            "every_ms", f"must be from {TICKS_MS[0]} to {TICKS_MS[-1]} milliseconds"
        )
    return int(text) / 1000


def _is_line_count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10 and int(text) <= MOST_TAIL


def _frame(event: Event) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (
        event.seq,
        event.kind.encode(),
        msgspec.json.encode(event),
    )


def _lost(seq: int, first: int) -> bytes:
    data = msgspec.json.encode({"after": seq, "first": first})
    return b"event: %s\ndata: %s\n\n" % (kinds.LOST.encode(), data)
