"""`server.json`: where the data directory's server is, for the command line and the SDK to find."""

import contextlib
import os
from pathlib import Path

import msgspec

from headway.files import private_files
from headway.worker import process_groups

NAME = "server.json"


class Running(msgspec.Struct, frozen=True):
    """A server that is there, or was."""

    pid: int
    start_time: str
    url: str
    elsewhere: bool = False
    """Whether its database is not in the data directory."""


class ServerFile:
    """Belongs to the first server; later ones leave it alone."""

    def __init__(self, data: Path) -> None:
        self._path = data / NAME

    def running(self) -> Running | None:
        """The server, if its process still lives."""
        found = self._read()
        return found if found is not None and _lives(found) else None

    def killed(self) -> Running | None:
        """The server that could not remove the file when its process ended."""
        found = self._read()
        return None if found is None or _lives(found) else found

    def _read(self) -> Running | None:
        try:
            if not private_files.is_own(self._path):  # it may have come with a folder
                return None
            return msgspec.json.decode(self._path.read_bytes(), type=Running)
        except (OSError, msgspec.DecodeError):
            return None

    def claim(self, url: str, *, elsewhere: bool) -> Running | None:
        """Write it for this process; return the server that has it already, if one does."""
        other = self.running()
        if other is not None and other.pid != os.getpid():
            return other
        pid = os.getpid()
        me = Running(pid, process_groups.start_time(pid) or "", url, elsewhere=elsewhere)
        temporary = self._path.with_suffix(f".{os.getpid()}")
        with open(temporary, "wb", opener=private_files.opener) as file:
            file.write(msgspec.json.encode(me))
        temporary.replace(self._path)
        return None

    def release(self) -> None:
        """Remove it, if it is ours."""
        found = self.running()
        if found is not None and found.pid == os.getpid():
            with contextlib.suppress(OSError):
                self._path.unlink()


def _lives(server: Running) -> bool:
    return process_groups.is_running(server.pid, server.start_time)
