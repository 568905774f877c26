"""A connection pooler that hands one session of PostgreSQL from one client to the other.

It does what PgBouncer does with `pool_mode = transaction`, as far as the tests need that.
"""

import socket
import struct
import threading
from pathlib import Path

READY = b"Z"
IDLE = b"I"


class Pooler:
    """Listens in a folder, as PostgreSQL would; each transaction gets the only session."""

    def __init__(self, folder: Path, server: Path, database: str) -> None:
        self._session = socket.socket(socket.AF_UNIX)
        self._session.connect(str(server / ".s.PGSQL.5432"))
        self._session.sendall(_startup(database))
        self._greeting = _until_ready(self._session)
        self._turn = threading.Lock()
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / ".s.PGSQL.5432"))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Accept nothing more."""
        self._listening.close()
        self._session.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            try:
                _exactly(client, struct.unpack("!I", _exactly(client, 4))[0] - 4)
                client.sendall(self._greeting)
                while self._transaction(client):
                    pass
            except OSError:
                return  # one of the two hung up

    def _transaction(self, client: socket.socket) -> bool:
        request = _request(client)
        with self._turn:
            while request:
                self._session.sendall(request)
                answer = _until_ready(self._session)
                client.sendall(answer)
                if answer.endswith(IDLE):
                    return True
                request = _request(client)
        return False


def _startup(database: str) -> bytes:
    words = f"user\0postgres\0database\0{database}\0\0".encode()
    return struct.pack("!II", len(words) + 8, 196608) + words


def _request(client: socket.socket) -> bytes:
    """What a client sends before it waits; empty if it leaves."""
    found = b""
    while True:
        message = _message(client)
        if message[:1] == b"X":
            return b""
        found += message
        if message[:1] in (b"Q", b"S"):
            return found


def _until_ready(server: socket.socket) -> bytes:
    found = b""
    while True:
        message = _message(server)
        found += message
        if message[:1] == READY:
            return found


def _message(side: socket.socket) -> bytes:
    head = _exactly(side, 5)
    return head + _exactly(side, struct.unpack("!I", head[1:])[0] - 4)


def _exactly(side: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        piece = side.recv(size - len(found))
        if not piece:
            raise OSError("hung up")
        found += piece
    return found
