"""Connections: how many are open, and how long each may take.

A client that sends its request byte by byte, or does not read the answer, holds a connection and a
file descriptor. So each part of an exchange has its time, and when there is no room for another
connection, those that have waited longest without a request make way.
"""

import asyncio
import errno
import ipaddress
import logging
import resource
import socket
from collections import Counter
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from headway.domain import errors
from headway.http import problems

HEADERS_WITHIN_S = 10.0
"""From the connection, or from the end of the last answer, to the end of the next headers."""

BODY_WITHIN_S = 30.0
SLOWEST_BODY = 16 * 1024
"""A body may take longer as long as so many bytes a second come in each such time."""

LARGEST_HEAD = 64 * 1024
"""How many bytes a request may have before its body."""

READ_WITHIN_S = 60.0
"""How long a client may leave an answer unread."""

LOOK_EVERY_S = 1.0
PAUSE_S = 1.0
SAY_EVERY_S = 60.0
ACCEPT_AT_ONCE = 64
FILES_KEPT = 64
"""File descriptors that are not for connections, besides half of the rest."""

FEWEST = 16
LACKING = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

log = logging.getLogger("headway.http")


def most_allowed(wanted: int) -> int:
    """So many connections, or as many as leave jobs and the database enough file descriptors."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return wanted
    return min(wanted, max(FEWEST, (files - FILES_KEPT) // 2))


class Connection(HttpToolsProtocol):
    """One connection, which knows since when it waits for what."""

    def __init__(self, connections: "Connections", **options: Any) -> None:
        super().__init__(**options)
        self._all = connections
        self._received = 0
        self._head: int | None = 0
        self._unread: tuple[int, float] | None = None
        self.address = ""
        self.is_made = False
        self.since = self.loop.time()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count it."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self.is_made = True
        self._all.joined(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it no more."""
        super().connection_lost(exc)
        self._all.left(self)

    def data_received(self, data: bytes) -> None:
        """Take in what came, unless the headers have become too many."""
        if self._head is not None:
            self._head += len(data)
        super().data_received(data)
        if self._head is not None and self._head > LARGEST_HEAD and not self.transport.is_closing():
            self._refuse(problems.HeadersTooLarge(LARGEST_HEAD))

    def on_headers_complete(self) -> None:
        """A request begins; its body has its own time."""
        self._head = None
        super().on_headers_complete()
        self.since, self._received = self.loop.time(), 0

    def on_message_complete(self) -> None:
        """All of a request has come; the headers of another may follow."""
        self._head = 0
        super().on_message_complete()

    def on_body(self, body: bytes) -> None:
        """More of the body has come."""
        super().on_body(body)
        self._received += len(body)

    def on_response_complete(self) -> None:
        """The next request has its time from here on."""
        super().on_response_complete()
        self.since = self.loop.time()
        self._all.resume()

    @property
    def may_make_way(self) -> bool:
        """Whether nothing is being done for its client: its request has not come, or not all."""
        if (
            not self.is_made
            or self.transport.is_closing()
            or self.transport.get_write_buffer_size()
        ):
            return False
        return self._is_idle or (self.cycle.more_body and not self.flow.read_paused)

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def check(self, now: float) -> None:
        """Close the connection if its client is too slow."""
        if unread := self.transport.get_write_buffer_size():
            self._check_reading(unread, now)
            return
        self._unread = None
        if self._is_idle:
            if now > self.since + HEADERS_WITHIN_S:
                self._give_up(f"no request was complete within {HEADERS_WITHIN_S:g} s")
        elif self.cycle.more_body:
            self._check_body(now)

    def _check_reading(self, unread: int, now: float) -> None:
        """The time for other things begins when the answer was read."""
        self.since = now
        if self._unread is None or unread < self._unread[0]:
            self._unread = unread, now
        elif now > self._unread[1] + READ_WITHIN_S:
            self.transport.abort()

    def _check_body(self, now: float) -> None:
        if self.flow.read_paused:  # it is us who do not read
            self.since = now
        elif now > self.since + BODY_WITHIN_S:
            if self._received < BODY_WITHIN_S * SLOWEST_BODY:
                self._give_up(
                    f"the body is not complete, and only {self._received} bytes of it came"
                    f" in {now - self.since:.0f} s"
                )
            self.since, self._received = now, 0

    def _give_up(self, why: str) -> None:
        """Close, and say why if nothing was said yet."""
        if self.cycle is None or not self.cycle.response_started:
            self.transport.write(problems.last_words(problems.RequestTimeout(why)))
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Say that what came is no request, as every other error is said."""
        self._refuse(errors.Malformed("this is no HTTP/1.1 request"))

    def _refuse(self, error: errors.HeadwayError) -> None:
        self.transport.write(problems.last_words(error))
        self.transport.close()


class Connections:
    """Takes connections in from a listening socket, up to a number, and watches over them.

    Stands where uvicorn expects an asyncio server. That one logs a traceback for each connection
    that it cannot accept, thousands in a second.
    """

    def __init__(
        self, listening: socket.socket, most: int, make: Callable[["Connections"], Connection]
    ) -> None:
        self._listening = listening
        self._most = most
        self._make = make
        self._loop = asyncio.get_running_loop()
        self._open: dict[Connection, None] = {}  # in the order in which they came
        self._of_address: Counter[str] = Counter()
        self._arriving: set[asyncio.Task[Any]] = set()
        self._is_paused = True
        self._is_closed = False
        self._say_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to accept."""
        self._listening.setblocking(False)
        self.resume()

    def close(self) -> None:
        """Accept no more; those that are open go on."""
        self._is_closed = True
        self._pause(None)

    async def wait_closed(self) -> None:
        """There is nothing to wait for: uvicorn itself waits for its connections."""

    def joined(self, connection: Connection) -> None:
        """One that was accepted is connected."""
        self._of_address[connection.address] += 1
        if self._timer is None:
            self._timer = self._loop.call_later(LOOK_EVERY_S, self._look)
        if self._has_too_many(connection.address):
            connection.transport.close()

    def left(self, connection: Connection) -> None:
        """One less is open: there is room for another."""
        self._open.pop(connection, None)
        self._of_address[connection.address] -= 1
        if not self._of_address[connection.address]:
            del self._of_address[connection.address]
        self.resume()

    def resume(self) -> None:
        """Something has changed: perhaps another connection can be taken in."""
        if self._is_paused and not self._is_closed:
            self._is_paused = False
            self._loop.add_reader(self._listening, self._accept)

    def _look(self) -> None:
        now = self._loop.time()
        for connection in [one for one in self._open if one.is_made]:
            connection.check(now)
        self._timer = self._loop.call_later(LOOK_EVERY_S, self._look) if self._open else None

    def _accept(self) -> None:
        if self._is_full:
            self._say("%d connections are open, the most that are kept: slow ones end", self._most)
            if not self._make_way():
                self._pause(None)
            return  # those that make way are gone when this is called again
        for _ in range(ACCEPT_AT_ONCE):
            if self._is_full:
                return
            try:
                accepted, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in LACKING:
                    raise
                self._say("connections have to wait: %s", error.strerror)
                self._make_way()
                self._pause(PAUSE_S)
                return
            self._take_in(accepted)

    @property
    def _is_full(self) -> bool:
        return len(self._open) >= self._most

    def _take_in(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        connection = self._make(self)
        self._open[connection] = None
        arriving = self._loop.create_task(
            self._loop.connect_accepted_socket(lambda: connection, accepted)
        )
        self._arriving.add(arriving)
        arriving.add_done_callback(lambda task: self._arrived(task, connection))

    def _arrived(self, task: "asyncio.Task[Any]", connection: Connection) -> None:
        self._arriving.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._say("a connection could not be taken in: %s", error)
        if not connection.is_made:
            self._open.pop(connection, None)
        self.resume()

    def _make_way(self) -> bool:
        """Close some of those whose requests have not come for longest; whether there are any."""
        slowest = sorted(
            (one for one in self._open if one.may_make_way), key=lambda one: one.since
        )[: max(1, self._most // 20)]
        for one in slowest:
            one.transport.abort()
        return bool(slowest)

    def _has_too_many(self, address: str) -> bool:
        """Whether one address has more than half; on this machine all clients share one."""
        return self._of_address[address] > self._most // 2 and not _is_loopback(address)

    def _pause(self, seconds: float | None) -> None:
        """Stop accepting for so long, or until something changes."""
        if not self._is_paused:
            self._is_paused = True
            self._loop.remove_reader(self._listening)
        if seconds is not None:
            self._loop.call_later(seconds, self.resume)

    def _say(self, text: str, *values: object) -> None:
        """Once in a while: this comes in thousands."""
        now = self._loop.time()
        if now >= self._say_at:
            self._say_at = now + SAY_EVERY_S
            log.warning(text, *values)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return True
