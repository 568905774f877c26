"""Wake-ups between processes: `LISTEN` on a connection of its own."""

import logging
import os
import select
import threading
import time
from collections.abc import Callable

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

log = logging.getLogger("headway.storage")


class Listener:
    """A thread that passes on what others send, and connects again whatever went wrong."""

    def __init__(self, url: str, own_name: str, tell: Callable[[set[str]], None]) -> None:
        self._url = url
        self._own_name = own_name
        self._tell = tell
        self._stopped = threading.Event()
        self._deaf_since: float | None = None
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

    @property
    def deaf_s(self) -> float:
        """For how long nothing has been heard; 0 as long as somebody listens."""
        since = self._deaf_since
        return 0.0 if since is None else time.monotonic() - since

    def _connect(self) -> RawConnection:
        raw = connect(self._url)
        try:
            raw.execute(f"LISTEN {CHANNEL}".encode())
        except BaseException:
            raw.close()
            raise
        return raw

    def _loop(self) -> None:
        while not self._stopped.is_set():
            try:
                with self._raw:
                    self._pass_on(self._raw)
            except Exception as error:
                self._deaf_since = time.monotonic()
                log.warning("wake-ups from other servers are late: %s", said(error))
                self._connect_again()

    def _connect_again(self) -> None:
        pause = SHORTEST_PAUSE_S
        while not self._stopped.wait(pause):
            try:
                self._raw = self._connect()
                self._deaf_since = None
                self._tell(set(EVERY_TOPIC))  # whatever was missed meanwhile
                return
            except Exception as error:  # such as a standby, which refuses to LISTEN
                log.debug("cannot listen yet: %s", said(error))
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
                # Anybody may send anything on the channel.
                sender, _, topics = note.extra.decode(errors="replace").partition(" ")
                if sender != self._own_name:
                    self._tell(set(topics.split()))
