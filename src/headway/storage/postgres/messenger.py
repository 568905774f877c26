"""Wake-ups between processes: `LISTEN` and `NOTIFY` on a connection of its own.

A commit with a `NOTIFY` blocks all others with one until it is on disk. So
those who write send theirs from here, after their commit, and many at once while there are many.
"""

import atexit
import logging
import os
import select
import threading
import time
from collections.abc import Callable

import psycopg
from psycopg.pq import ConnStatus, ExecStatus

from headway.storage.engine.transaction import DELIVERIES, DUE, EVENTS, READY, TOKENS
from headway.storage.postgres.connection import (
    CHANNEL,
    LONGEST_PAUSE_S,
    SHORTEST_PAUSE_S,
    RawConnection,
    connect,
    said,
)

EVERY_TOPIC = frozenset({READY, DUE, EVENTS, DELIVERIES, TOKENS})
SEND_EVERY_S = 0.01
LONGEST_STOP_S = 5.0

_NOTIFY = b"SELECT pg_notify($1, $2)"
# What is sent is on disk already, and a listener that misses it polls before long. A NOTIFY waits
# for every concurrent commit that carries a NOTIFY, of any session, in any database.
_SETTINGS = b"SET synchronous_commit = off; SET lock_timeout = '2s'; SET statement_timeout = '2s'"

log = logging.getLogger("headway.storage")


class Messenger:
    """A thread that notifies and listens, and reconnects after any error."""

    def __init__(self, url: str, own_name: str, tell: Callable[[set[str]], None]) -> None:
        self._url = url
        self._own_name = own_name
        self._tell = tell
        self._stopped = threading.Event()
        self._deaf_since: float | None = None
        self._unsent: set[str] = set()
        self._send_from = 0.0
        self._pause_s = SEND_EVERY_S
        self._door = threading.Lock()
        self._raw = self._connect()
        self._poke_reader, self._poke_writer = os.pipe()
        self._thread = threading.Thread(target=self._loop, name="headway-wakeups", daemon=True)
        self._thread.start()
        atexit.register(self.stop)  # a program that submits and ends need not close anything

    def send(self, topics: set[str]) -> None:
        """Wake listeners of these topics in other processes, shortly."""
        with self._door:
            if self._stopped.is_set():
                return
            is_first = not self._unsent
            self._unsent |= topics
            if is_first and topics:
                os.write(self._poke_writer, b"x")

    def stop(self) -> None:
        """Send what is left, and stop listening; a server that hangs is not waited for."""
        with self._door:
            if self._stopped.is_set():
                return
            self._stopped.set()
            os.write(self._poke_writer, b"x")
        atexit.unregister(self.stop)
        self._thread.join(LONGEST_STOP_S)
        if not self._thread.is_alive():
            os.close(self._poke_reader)
            os.close(self._poke_writer)

    @property
    def deaf_s(self) -> float:
        """For how long nothing has been heard; 0 as long as a session listens."""
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
        """Notify and listen until closed."""
        poll = select.poll()
        poll.register(raw.fileno(), select.POLLIN)
        poll.register(self._poke_reader, select.POLLIN)
        while True:
            self._hear(raw)
            is_last = self._stopped.is_set()
            wait_s = self._send_from - time.monotonic()
            if self._unsent and (wait_s <= 0 or is_last):
                self._send(raw)
            elif not is_last:
                self._sleep(poll, wait_s if self._unsent else None)
            if is_last:
                return

    def _sleep(self, poll: select.poll, wait_s: float | None) -> None:
        ready = poll.poll(None if wait_s is None else wait_s * 1000)
        if any(fd == self._poke_reader for fd, _ in ready):
            os.read(self._poke_reader, 100)

    def _send(self, raw: RawConnection) -> None:
        with self._door:
            topics, self._unsent = self._unsent, set()
        message = " ".join([self._own_name, *sorted(topics)])
        try:
            answer = raw.pgconn.exec_params(_NOTIFY, [CHANNEL.encode(), message.encode()])
            if answer.status != ExecStatus.TUPLES_OK:
                raise psycopg.errors.error_from_result(answer)
            self._pause_s = SEND_EVERY_S
        except psycopg.Error as error:
            with self._door:
                self._unsent |= topics
            if raw.pgconn.status != ConnStatus.OK:
                raise
            self._try_later(error)
        self._send_from = time.monotonic() + self._pause_s

    def _try_later(self, error: psycopg.Error) -> None:
        """Later and later; what others send is heard meanwhile."""
        if self._pause_s == SEND_EVERY_S:
            log.warning("other servers cannot be woken: %s", error.diag.message_primary)
        self._pause_s = min(max(2 * self._pause_s, SHORTEST_PAUSE_S), LONGEST_STOP_S)

    def _hear(self, raw: RawConnection) -> None:
        raw.pgconn.consume_input()
        while (note := raw.pgconn.notifies()) is not None:
            # Any session may send anything on the channel.
            sender, _, topics = note.extra.decode(errors="replace").partition(" ")
            if sender != self._own_name:
                self._tell(set(topics.split()))
