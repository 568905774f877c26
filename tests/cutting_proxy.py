"""A proxy that cuts connections where it is told to, as a bad network would."""

import socket
import threading
from dataclasses import dataclass, field
from typing import BinaryIO, Literal

Place = Literal["before the request", "before the answer", "in the answer"]
PLACES: tuple[Place, ...] = ("before the request", "before the answer", "in the answer")


@dataclass
class Cut:
    """One cut of a call whose path ends like this; `done` is set once it has happened."""

    path: str
    place: Place
    done: threading.Event = field(default_factory=threading.Event)


class CuttingProxy:
    """Passes requests on to a server, one connection for each, and cuts what it was told to."""

    def __init__(self, url: str) -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        self._server = (host, int(port))
        self._listening = socket.create_server((host, 0))
        self._cuts: list[Cut] = []
        self._lock = threading.Lock()
        self.url = f"http://{host}:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, path: str, place: Place) -> Cut:
        """Cut the next call like this, once; a call that waits for its answer is one of them."""
        made = Cut(path, place)
        with self._lock:
            self._cuts.append(made)
        return made

    def close(self) -> None:
        """Accept nothing more."""
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, client.makefile("rb") as incoming:
            try:
                while self._pass_on(client, incoming):
                    pass
            except OSError:
                return  # one of the two hung up

    def _pass_on(self, client: socket.socket, incoming: BinaryIO) -> bool:
        """One request and its answer; False when the connection is to end."""
        request = _message(incoming)
        if not request:
            return False
        path = request.split(b" ", 2)[1].decode()
        if self._falls(path, "before the request"):
            return False
        with socket.create_connection(self._server) as server, server.makefile("rb") as outgoing:
            server.sendall(request)
            answer = _message(outgoing)
        if self._falls(path, "before the answer"):
            return False
        if self._falls(path, "in the answer"):
            client.sendall(answer[: len(answer) // 2])
            return False
        client.sendall(answer)
        return True

    def _falls(self, path: str, place: Place) -> bool:
        with self._lock:
            for one in self._cuts:
                if path.endswith(one.path) and one.place == place:
                    self._cuts.remove(one)
                    one.done.set()
                    return True
        return False


def _message(stream: BinaryIO) -> bytes:
    """A whole request or answer; empty at the end of the connection."""
    head, length = b"", 0
    while line := stream.readline():
        head += line
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
        if line == b"\r\n":
            return head + stream.read(length)
    return b""
