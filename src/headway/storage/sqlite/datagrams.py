"""Wake-ups between processes on one machine: a datagram socket beside the database file.

Every process that has the file open puts a socket into the folder `wake`; a commit sends its topics
to all the others. A socket without a reader is removed by the sender that notices.
"""

import contextlib
import os
import socket
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from headway.files import private_files

LONGEST_SOCKET_PATH = 100


class Datagrams:
    """This process's socket and those of the other processes."""

    def __init__(self, database: Path) -> None:
        folder = database.with_name(database.name + ".wake")
        private_files.make_folder(folder)
        self._folder = _short(folder)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        name = tempfile.mktemp(prefix=f"{os.getpid()}-", dir=self._folder)
        self._socket.bind(name)
        os.chmod(name, private_files.FILE_MODE)
        self._own = os.path.basename(name)
        self._thread: threading.Thread | None = None

    def send(self, topics: set[str]) -> None:
        """Tell every other process; a full or dead socket is not waited for."""
        message = " ".join(sorted(topics)).encode()
        with contextlib.suppress(OSError):  # what is committed stays committed, heard or not
            for entry in os.scandir(self._folder):
                if entry.name != self._own:
                    self._send_to(entry.path, message)

    def receive(self, tell: Callable[[set[str]], None]) -> Callable[[], None]:
        """Pass on what others send, from a thread of its own; return a function that stops it."""
        incoming = self._socket.dup()
        incoming.setblocking(True)

        def loop() -> None:
            while message := incoming.recv(1024):
                tell(set(message.decode(errors="replace").split()))

        self._thread = threading.Thread(target=loop, name="headway-wakeups", daemon=True)
        self._thread.start()

        def stop() -> None:
            # A message would not arrive when the folder is gone or the line is full.
            with contextlib.suppress(OSError):  # stopped before
                incoming.shutdown(socket.SHUT_RD)
            if self._thread is not None:
                self._thread.join()
            incoming.close()

        return stop

    def close(self) -> None:
        """Remove this process's socket."""
        self._socket.close()
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(self._folder, self._own))

    def _send_to(self, path: str, message: bytes) -> None:
        try:
            self._socket.sendto(message, path)
        except ConnectionRefusedError:
            with contextlib.suppress(OSError):
                os.unlink(path)
        except OSError:
            pass  # the reader is slow or just gone: it looks again by itself


def _short(folder: Path) -> str:
    """A path short enough for a socket: through /proc where the folder's own is too long."""
    if len(str(folder)) < LONGEST_SOCKET_PATH - 30:
        return str(folder)
    return f"/proc/self/fd/{os.open(folder, os.O_RDONLY | os.O_DIRECTORY)}"
