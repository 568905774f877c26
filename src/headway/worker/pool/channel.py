"""A socket between the server and a handler process: whole lines, from any thread."""

import contextlib
import select
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator

CHUNK = 1 << 16


class Channel:
    """One end of the socket. Sending never waits for the other side."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._unsent: deque[bytes] = deque()
        self._sending = threading.Lock()
        self._holds = 0

    def fileno(self) -> int:
        """The file descriptor, to wait for lines with."""
        return self._end.fileno()

    def send(self, line: bytes) -> None:
        """Send a line; it goes with others if they are sent together."""
        self._unsent.append(line)
        if not self._holds:
            self.flush()

    def add(self, line: bytes) -> None:
        """Have a line sent with the next ones."""
        self._unsent.append(line)

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Send the lines of this block at its end, in one piece."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            self.flush()

    def flush(self) -> None:
        """Send what is unsent. A thread that finds another one sending leaves its lines to it."""
        while self._unsent and self._sending.acquire(blocking=False):
            rest = self._send_some()
            if rest:
                threading.Thread(
                    target=self._push, args=(rest,), name="headway-push", daemon=True
                ).start()
                return
            self._sending.release()

    def _send_some(self) -> bytes:
        """Send as much as the socket takes at once; return the rest."""
        data = b"".join(self._taken())
        try:
            return data[self._end.send(data, socket.MSG_DONTWAIT) :]
        except BlockingIOError:
            return data
        except OSError:  # the other side is gone, which reading shows too
            return b""

    def _taken(self) -> Iterator[bytes]:
        while self._unsent:
            yield self._unsent.popleft()

    def _push(self, rest: bytes) -> None:
        """The other side reads slowly: wait for it in a thread of its own."""
        with contextlib.suppress(OSError):
            self._end.sendall(rest)
        self._sending.release()
        self.flush()

    def lines(self, until: int | None = None) -> Iterator[list[bytes]]:
        """Lines as they come, some at a time, to the end; a file descriptor may tell of it too."""
        has_more = _always if until is None else self._before(until)
        unread = b""
        while has_more() and (chunk := self._next()):
            *lines, unread = (unread + chunk).split(b"\n")
            if lines:
                yield lines

    def _before(self, until: int) -> Callable[[], bool]:
        """Waits; false when nothing is left to read and the other descriptor tells of the end."""
        poll = select.poll()
        poll.register(self._end, select.POLLIN)
        poll.register(until, select.POLLIN)
        number = self._end.fileno()
        return lambda: any(ready == number for ready, _ in poll.poll())

    def _next(self) -> bytes:
        try:
            return self._end.recv(CHUNK)
        except OSError:
            return b""

    def close(self) -> None:
        """Hang up; a thread that reads finds the end."""
        with contextlib.suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)
        self._end.close()


def _always() -> bool:
    return True
