"""What a child process prints: through pipes into the bounded log files of its run."""

import contextlib
import os
import select
import subprocess
from pathlib import Path

from headway.files import log_files
from headway.files.log_parts import LogFile, OutputBound

CHUNK = 64 * 1024
POLL_MS = 50
"""How often to look whether a process has exited where the system cannot tell."""


class ChildOutput:
    """Two pipes, and the log files behind them, which are made when something is printed."""

    def __init__(self, folder: Path, bound: OutputBound) -> None:
        self._folder = folder
        self._bound = bound
        self._logs: dict[int, LogFile] = {}
        self._given: list[int] = []
        try:
            self.stdout = self._pipe("stdout")
            self.stderr = self._pipe("stderr")
        except OSError:
            self.close()
            raise

    def _pipe(self, stream: str) -> int:
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        self._logs[reading] = LogFile(log_files.path(self._folder, stream), self._bound)
        self._given.append(writing)
        return writing

    def let_go(self) -> None:
        """The child has its ends of the pipes: keep no copy, or they would never end."""
        while self._given:
            os.close(self._given.pop())

    def keep_until_exit(self, process: "subprocess.Popen[bytes]") -> None:
        """Write down what is printed until the process has exited; it is not reaped."""
        with contextlib.ExitStack() as stack:
            poll = select.poll()
            for reading in self._logs:
                poll.register(reading, select.POLLIN)
            exit_signal = exit_signal_of(process.pid)
            if exit_signal is not None:
                stack.callback(os.close, exit_signal)
                poll.register(exit_signal, select.POLLIN)
            while True:
                ready = [one for one, _ in poll.poll(None if exit_signal is not None else POLL_MS)]
                for one in ready:
                    if one in self._logs and not self._keep(one):
                        poll.unregister(one)
                if exit_signal in ready or (exit_signal is None and has_exited(process)):
                    return

    def keep_rest(self) -> None:
        """Write down what is left in the pipes, without waiting for more."""
        for reading in self._logs:
            with contextlib.suppress(BlockingIOError):
                while self._keep(reading):
                    pass

    def close(self) -> None:
        """Leave nothing open: a process that got away cannot print any longer."""
        self.let_go()
        while self._logs:
            reading, file = self._logs.popitem()
            os.close(reading)
            file.close()

    def _keep(self, reading: int) -> bool:
        """One piece; False at the end of the pipe."""
        data = os.read(reading, CHUNK)
        if data:
            self._logs[reading].write(data)
        return bool(data)


def exit_signal_of(pid: int) -> int | None:
    """A handle that is ready when the process has exited, where the system has such a thing."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def has_exited(process: "subprocess.Popen[bytes]") -> bool:
    """Whether the process has exited; it is not reaped where the system allows that."""
    if hasattr(os, "waitid"):
        options = os.WEXITED | os.WNOWAIT | os.WNOHANG
        return os.waitid(os.P_PID, process.pid, options) is not None
    return process.poll() is not None
