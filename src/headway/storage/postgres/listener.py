"""Wake-ups between processes: `LISTEN` on a connection of its own."""

import logging
import os
import select
import threading
from collections.abc import Callable

import psycopg

from headway.storage.postgres.connection import (
    CHANNEL,
    LONGEST_PAUSE_S,
    LOST,
    SHORTEST_PAUSE_S,
    RawConnection,
    connect,
    said,
)
from headway.storage.transaction import DELIVERIES, DUE, EVENTS, READY

EVERY_TOPIC = frozenset({READY, DUE, EVENTS, DELIVERIES})

log = logging.getLogger("headway.storage")


class Listener:
    """A thread that passes on what others send, and connects again whenever that is lost."""

    def __init__(self, url: str, own_name: str, tell: Callable[[set[str]], None]) -> None:
        self._url = url
        self._own_name = own_name
        self._tell = tell
        self._stopped = threading.Event()
        self._raw = self._connect()
        self._stop_reader, self._stop_writer = os.pipe()
        self._thread = threading.Thread(target=self._loop, name="headway-wakeups", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop listening and wait until the thread has ended."""
        if not self._stopped.is_set():
            self._stopped.set()
            os.write(self._stop_writer, b"x")
            self._thread.join()
            os.close(self._stop_reader)
            os.close(self._stop_writer)

    def _connect(self) -> RawConnection:
        raw = connect(self._url)
        raw.execute(f"LISTEN {CHANNEL}".encode())
        return raw

    def _loop(self) -> None:
        while not self._stopped.is_set():
            try:
                with self._raw:
                    self._pass_on(self._raw)
            except (*LOST, psycopg.InternalError) as error:
                log.warning("wake-ups from other servers are late: %s", said(error))
                self._connect_again()

    def _connect_again(self) -> None:
        pause = SHORTEST_PAUSE_S
        while not self._stopped.wait(pause):
            try:
                self._raw = self._connect()
                self._tell(set(EVERY_TOPIC))  # whatever was missed meanwhile
                return
            except LOST:
                pause = min(2 * pause, LONGEST_PAUSE_S)

    def _pass_on(self, raw: RawConnection) -> None:
        poll = select.poll()
        poll.register(raw.fileno(), select.POLLIN)
        poll.register(self._stop_reader, select.POLLIN)
        while True:
            poll.poll()
            if self._stopped.is_set():
                return
            raw.pgconn.consume_input()
            while (note := raw.pgconn.notifies()) is not None:
                sender, *topics = note.extra.decode().split()
                if sender != self._own_name:
                    self._tell(set(topics))
