"""Wake-ups between processes: `LISTEN` and `NOTIFY` on a connection of its own.

Whoever commits a `NOTIFY` keeps everybody else who does so waiting until the commit is on disk. So
those who write send theirs from here, after their commit, and many at once while there are many.
"""

import logging
import os
import select
import threading
import time
from collections.abc import Callable

import psycopg
from psycopg.pq import ExecStatus

from headway.storage.postgres.connection import (
    CHANNEL,
    LONGEST_PAUSE_S,
    SHORTEST_PAUSE_S,
    RawConnection,
    connect,
    said,
)
from headway.storage.transaction import DELIVERIES, DUE, EVENTS, READY

EVERY_TOPIC = frozenset({READY, DUE, EVENTS, DELIVERIES})
SEND_EVERY_S = 0.01

_NOTIFY = b"SELECT pg_notify($1, $2)"
# What is told is on disk already, and whoever misses it looks by himself before long.
_SETTINGS = b"SET synchronous_commit = off"

log = logging.getLogger("headway.storage")


class Messenger:
    """A thread that tells and hears, and connects again whatever went wrong."""

    def __init__(self, url: str, own_name: str, tell: Callable[[set[str]], None]) -> None:
        self._url = url
        self._own_name = own_name
        self._tell = tell
        self._stopped = threading.Event()
        self._deaf_since: float | None = None
        self._unsent: set[str] = set()
        self._send_from = 0.0
        self._door = threading.Lock()
        self._raw = self._connect()
        self._poke_reader, self._poke_writer = os.pipe()
        self._thread = threading.Thread(target=self._loop, name="headway-wakeups", daemon=True)
        self._thread.start()

    def send(self, topics: set[str]) -> None:
        """Wake those in other processes who wait for these topics, in a moment."""
        with self._door:
            if self._stopped.is_set():
                return
            is_first = not self._unsent
            self._unsent |= topics
            if is_first and topics:
                os.write(self._poke_writer, b"x")

    def stop(self) -> None:
        """Send what is left, stop listening and wait until the thread has ended."""
        with self._door:
            if self._stopped.is_set():
                return
            self._stopped.set()
            os.write(self._poke_writer, b"x")
        self._thread.join()
        os.close(self._poke_reader)
        os.close(self._poke_writer)

    @property
    def deaf_s(self) -> float:
        """For how long nothing has been heard; 0 as long as somebody listens."""
        since = self._deaf_since
        return 0.0 if since is None else time.monotonic() - since

    def _connect(self) -> RawConnection:
        raw = connect(self._url)
        try:
            raw.execute(_SETTINGS)
            raw.execute(f"LISTEN {CHANNEL}".encode())
        except BaseException:
            raw.close()
            raise
        return raw

    def _loop(self) -> None:
        while True:
            try:
                with self._raw:
                    self._carry(self._raw)
                    return
            except Exception as error:
                self._deaf_since = time.monotonic()
                log.warning("wake-ups from other servers are late: %s", said(error))
                if not self._connect_again():
                    return

    def _connect_again(self) -> bool:
        pause = SHORTEST_PAUSE_S
        while not self._stopped.wait(pause):
            try:
                self._raw = self._connect()
                self._deaf_since = None
                self._tell(set(EVERY_TOPIC))  # whatever was missed meanwhile
                return True
            except Exception as error:  # such as a standby, which refuses to LISTEN
                log.debug("cannot listen yet: %s", said(error))
                pause = min(2 * pause, LONGEST_PAUSE_S)
        return False

    def _carry(self, raw: RawConnection) -> None:
        """Tell and hear until the end."""
        poll = select.poll()
        poll.register(raw.fileno(), select.POLLIN)
        poll.register(self._poke_reader, select.POLLIN)
        while True:
            self._hear(raw)
            is_last = self._stopped.is_set()
            wait_s = self._send_from - time.monotonic()
            if self._unsent and (wait_s <= 0 or is_last):
                self._send(raw)
            elif is_last:
                return
            elif any(fd == self._poke_reader for fd, _ in poll.poll(self._poll_ms(wait_s))):
                os.read(self._poke_reader, 100)

    def _poll_ms(self, wait_s: float) -> float | None:
        return wait_s * 1000 if self._unsent else None

    def _send(self, raw: RawConnection) -> None:
        with self._door:
            topics, self._unsent = self._unsent, set()
        message = " ".join([self._own_name, *sorted(topics)])
        try:
            answer = raw.pgconn.exec_params(_NOTIFY, [CHANNEL.encode(), message.encode()])
            if answer.status != ExecStatus.TUPLES_OK:
                raise psycopg.errors.error_from_result(answer)
        except BaseException:
            with self._door:
                self._unsent |= topics
            raise
        self._send_from = time.monotonic() + SEND_EVERY_S

    def _hear(self, raw: RawConnection) -> None:
        raw.pgconn.consume_input()
        while (note := raw.pgconn.notifies()) is not None:
            # Anybody may send anything on the channel.
            sender, _, topics = note.extra.decode(errors="replace").partition(" ")
            if sender != self._own_name:
                self._tell(set(topics.split()))
