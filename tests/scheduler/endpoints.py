"""Webhook endpoints on this machine: one that answers as told, one that never does."""

import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from headway.domain.manage.webhooks import Delivery
from headway.scheduler.scheduler import Scheduler
from headway.storage.manage import webhooks

WAIT_S = 30


class Message(NamedTuple):
    """What an endpoint was sent."""

    path: str
    headers: dict[str, str]
    body: bytes


class Endpoint:
    """Keeps what it is sent and answers with the statuses given, the last one for ever."""

    def __init__(self, statuses: tuple[int, ...]) -> None:
        self._statuses = list(statuses)
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                self.send_response(endpoint.next_status())
                self.send_header("location", "/elsewhere")
                self.send_header("content-length", "0")
                self.end_headers()
                endpoint.keep(Message(self.path, headers, body))

            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def next_status(self) -> int:
        """The status to answer with now."""
        return self._statuses.pop(0) if len(self._statuses) > 1 else self._statuses[0]

    def keep(self, message: Message) -> None:
        """Remember a message."""
        self._messages.put(message)

    def receive(self) -> Message:
        """The next message, when it is there."""
        return self._messages.get(timeout=WAIT_S)

    @property
    def is_empty(self) -> bool:
        """Whether every message has been looked at."""
        return self._messages.empty()


@contextmanager
def endpoint(*statuses: int) -> Iterator[Endpoint]:
    """An endpoint that answers."""
    made = Endpoint(statuses or (200,))
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.server.shutdown()
        made.server.server_close()
        thread.join()


@contextmanager
def silent_endpoint() -> Iterator[str]:
    """The URL of an endpoint that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=50) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def deliveries(scheduler: Scheduler) -> list[Delivery]:
    """Every message, newest first."""
    return scheduler.store.read(
        lambda tx: webhooks.deliveries(tx, status=None, job_id=None, before=None, count=1000)
    )
