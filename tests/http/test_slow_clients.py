"""Clients that are slow or many: each part of an exchange has its time, and there is a cap."""

import asyncio
import contextlib
import errno
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvicorn
from tests.servers import wait_for

from headway import log_lines
from headway.http import connections
from headway.http.server import _Uvicorn, listen

MOST = 16
ASK = b"GET /quick HTTP/1.1\r\nhost: here\r\n\r\n"


class App:
    """Answers at once, when it is told to, at great length, or once it has the body."""

    def __init__(self) -> None:
        self.may_answer = threading.Event()
        self.busy = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        body = b"answered"
        if scope["path"] == "/held":
            self.busy += 1
            await asyncio.to_thread(self.may_answer.wait)
        elif scope["path"] == "/long":
            body = b"x" * 50_000_000
        elif scope["path"] == "/body":
            while (message := await receive()).get("more_body"):
                pass
            if message["type"] == "http.disconnect":
                return
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _live(self, receive: Any, send: Any) -> None:
        for word in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{word}.complete"})


class Small:
    """A server of the test's own process, with room for few."""

    def __init__(self, listening: Any) -> None:
        self.app = App()
        self.port = listening.getsockname()[1]
        self._server: _Uvicorn | None = None
        self._listening = listening
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        wait_for(lambda: self._server and self._server.started, "the server")

    def _run(self) -> None:
        config = uvicorn.Config(self.app, log_config=None, timeout_graceful_shutdown=1)
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(self._serve(config))

    async def _serve(self, config: uvicorn.Config) -> None:
        self._server = _Uvicorn(config, self._listening, MOST)
        await self._server.serve()

    def connect(self) -> socket.socket:
        made = socket.create_connection(("127.0.0.1", self.port))
        made.settimeout(20)
        return made

    def close(self) -> None:
        assert self._server is not None
        self.app.may_answer.set()
        self._server.should_exit = True
        self._thread.join()


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times that a test can wait for."""
    monkeypatch.setattr(connections, "HEADERS_WITHIN_S", 0.3)
    monkeypatch.setattr(connections, "BODY_WITHIN_S", 0.3)
    monkeypatch.setattr(connections, "READ_WITHIN_S", 0.3)
    monkeypatch.setattr(connections, "LOOK_EVERY_S", 0.05)


@pytest.fixture
def start() -> Iterator[Callable[..., Small]]:
    made: list[Small] = []

    def serve(wrap: Callable[[socket.socket], Any] = lambda one: one) -> Small:
        made.append(Small(wrap(listen("127.0.0.1", 0))))
        return made[-1]

    yield serve
    for one in made:
        one.close()


def everything(client: socket.socket) -> bytes:
    """All that comes until the server closes."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while part := client.recv(1 << 20):
            found += part
    return found


def drip(client: socket.socket, text: bytes) -> bytes:
    """Send a bit again and again until the server has enough of it; what it said."""
    with contextlib.suppress(OSError):
        while True:
            client.sendall(text)
            client.settimeout(0.05)
            with contextlib.suppress(TimeoutError):
                if said := client.recv(1000):
                    return said
                break
    return b""


def test_what_is_no_request_is_refused_as_any_other_error_and_logged_once(
    start: Callable[..., Small], caplog: pytest.LogCaptureFixture
) -> None:
    server = start()
    for nonsense in (b"\x16\x03\x01\x00\r\n\r\n", b"GET / HTTP/1.1\r\nx y\r\n\r\n") * 10:
        client = server.connect()
        client.sendall(nonsense)
        said = everything(client)
        assert said.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert b"application/problem+json" in said
        assert b'"code":"malformed"' in said
    assert len([one for one in caplog.records if "Invalid HTTP" in one.message]) <= 1


def test_headers_that_are_too_long_are_not_kept(start: Callable[..., Small]) -> None:
    client = start().connect()
    said = b""
    with contextlib.suppress(ConnectionError):
        client.sendall(b"GET /quick HTTP/1.1\r\nhost: here\r\nx: " + b"y" * 10_000_000)
    with contextlib.suppress(ConnectionError):
        said = client.recv(1000)
    assert said.startswith(b"HTTP/1.1 431 ") or not said  # it may be lost with what was not read
    client = start().connect()
    client.sendall(ASK.replace(b"\r\n\r\n", b"\r\nx: " + b"y" * 50_000 + b"\r\n\r\n") + ASK)
    found = b""
    while found.count(b"answered") < 2:
        found += client.recv(1000)


def test_the_same_warning_is_said_once_in_a_while_and_errors_always() -> None:
    now = [0.0]
    seldom = log_lines.Seldom(lambda: now[0])

    def said(level: int, text: str) -> bool:
        return seldom.filter(logging.LogRecord("x", level, "", 0, text, None, None))

    assert [said(logging.WARNING, text) for text in ("a", "a", "b")] == [True, False, True]
    assert [said(logging.ERROR, "c") for _ in range(2)] == [True, True]
    now[0] = 100.0
    assert said(logging.WARNING, "a")


@pytest.mark.usefixtures("hurry")
def test_headers_that_do_not_come_to_an_end_are_not_waited_for(start: Callable[..., Small]) -> None:
    client = start().connect()
    client.sendall(b"GET /quick HTTP/1.1\r\n")
    said = drip(client, b"x: y\r\n")
    assert said.startswith(b"HTTP/1.1 408 ")
    assert b'"code":"request_timeout"' in said


@pytest.mark.usefixtures("hurry")
def test_a_connection_without_a_request_is_closed(start: Callable[..., Small]) -> None:
    assert everything(start().connect()).startswith(b"HTTP/1.1 408 ")


@pytest.mark.usefixtures("hurry")
def test_a_body_that_comes_byte_by_byte_is_not_waited_for(start: Callable[..., Small]) -> None:
    client = start().connect()
    client.sendall(b"POST /body HTTP/1.1\r\nhost: here\r\ncontent-length: 100000\r\n\r\n")
    assert drip(client, b"x").startswith(b"HTTP/1.1 408 ")


@pytest.mark.usefixtures("hurry")
def test_a_body_that_the_operation_does_not_read_is_not_waited_for(
    start: Callable[..., Small],
) -> None:
    client = start().connect()
    client.sendall(b"POST /quick HTTP/1.1\r\nhost: here\r\ncontent-length: 100000\r\n\r\n")
    said = b""
    while not said.endswith(b"answered"):
        said += client.recv(1000)
    assert drip(client, b"x") == b""


@pytest.mark.usefixtures("hurry")
def test_a_large_body_may_take_its_time_if_it_keeps_coming(
    start: Callable[..., Small], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "SLOWEST_BODY", 1)
    client = start().connect()
    client.sendall(b"POST /body HTTP/1.1\r\nhost: here\r\ncontent-length: 20\r\n\r\n")
    client.settimeout(0.05)
    for _ in range(19):
        client.sendall(b"x")
        with pytest.raises(TimeoutError):
            client.recv(1)
    client.sendall(b"x")
    client.settimeout(20)
    assert client.recv(1000).startswith(b"HTTP/1.1 200 ")


@pytest.mark.usefixtures("hurry")
def test_an_answer_that_is_not_read_is_not_kept_for_ever(start: Callable[..., Small]) -> None:
    server = start()
    client = server.connect()
    client.sendall(ASK.replace(b"quick", b"long"))
    peer = ("127.0.0.1", client.getsockname()[1])
    wait_for(lambda: peer not in _peers(server), "the end of the connection")


def _peers(server: Small) -> set[Any]:
    assert server._server is not None
    open_now = list(server._server.server_state.connections)
    return {one.client for one in open_now if isinstance(one, connections.Connection)}


def test_a_client_who_reads_slowly_gets_all_of_a_long_answer(
    start: Callable[..., Small], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEADERS_WITHIN_S", 0.1)
    monkeypatch.setattr(connections, "LOOK_EVERY_S", 0.02)
    client = start().connect()
    client.sendall(ASK.replace(b"quick", b"long"))
    found = 0
    while found < 50_000_000 and (part := client.recv(200_000)):
        found += len(part)
    assert found >= 50_000_000


def test_when_the_house_is_full_the_longest_idle_makes_way(start: Callable[..., Small]) -> None:
    server = start()
    idle = [server.connect() for _ in range(MOST)]
    wait_for(lambda: len(_peers(server)) == MOST, "all to be connected")
    late = server.connect()
    late.sendall(ASK)
    assert late.recv(1000).startswith(b"HTTP/1.1 200 ")
    assert len(_peers(server)) <= MOST
    assert everything(idle[0]) == b""


def test_when_all_are_busy_others_wait_for_the_first_that_is_not(
    start: Callable[..., Small], caplog: pytest.LogCaptureFixture
) -> None:
    server = start()
    busy = [server.connect() for _ in range(MOST)]
    for one in busy:
        one.sendall(ASK.replace(b"quick", b"held"))
    wait_for(lambda: server.app.busy == MOST, "all to be busy")
    late = [server.connect() for _ in range(3)]
    for one in late:
        one.sendall(ASK)
    wait_for(lambda: "16 connections are open" in caplog.text, "the word of it")
    server.app.may_answer.set()
    for one in [*busy, *late]:
        assert one.recv(1000).startswith(b"HTTP/1.1 200 ")
    assert caplog.text.count("connections are open") == 1


class Lacking:
    """A listening socket whose process has no file descriptor left, for a while."""

    def __init__(self, real: socket.socket) -> None:
        self._real = real
        self.left = 3

    def accept(self) -> Any:
        if self.left:
            self.left -= 1
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return self._real.accept()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def test_without_file_descriptors_connections_wait_and_one_line_says_so(
    start: Callable[..., Small], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "PAUSE_S", 0.05)
    client = start(Lacking).connect()
    client.sendall(ASK)
    assert client.recv(1000).startswith(b"HTTP/1.1 200 ")
    said = [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert [one.getMessage() for one in said] == ["connections have to wait: Too many open files"]


def test_one_address_has_at_most_half_of_the_connections(
    start: Callable[..., Small], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_is_loopback", lambda _: False)
    server = start()
    held = [server.connect() for _ in range(MOST // 2)]
    wait_for(lambda: len(_peers(server)) == MOST // 2, "all to be connected")
    assert everything(server.connect()) == b""
    held[0].sendall(ASK)
    assert held[0].recv(1000).startswith(b"HTTP/1.1 200 ")


def test_the_cap_leaves_file_descriptors_for_everything_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (1024, 4096))
    assert connections.most_allowed(1000) == 480
    assert connections.most_allowed(100) == 100
    monkeypatch.setattr("resource.getrlimit", lambda _: (64, 64))
    assert connections.most_allowed(1000) == 16
