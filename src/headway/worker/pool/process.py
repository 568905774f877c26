"""One handler process, and the thread of the server that starts, hears and replaces it."""

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from typing import NamedTuple, Protocol

import msgspec

from headway.worker import process_groups
from headway.worker.executors.child_output import exit_signal_of, has_exited
from headway.worker.executors.children import ending_of, exit_code_of
from headway.worker.pool import messages
from headway.worker.pool.channel import Channel
from headway.worker.pool.runs import PooledRun

CHILD = "headway.worker.pool.child"
FIRST_WAIT_S = 0.1
LONGEST_WAIT_S = 15.0
STEADY_S = 10.0
"""A process that lived for so long is replaced without delay."""

EXIT_GRACE_S = 2.0
"""How long a process that hung up, or was asked to leave, may take to exit."""

LOOK_S = 0.005

log = logging.getLogger("headway.worker")


class Pool(Protocol):
    """What a handler process tells its pool."""

    setup: messages.Setup

    def prepared_types(self) -> list[str]:
        """Job types that a new process has to be prepared for before it gets runs."""

    def became_ready(self, process: "HandlerProcess") -> None:
        """Runs may go to this process."""

    def hear(self, process: "HandlerProcess", news: messages.News) -> None:
        """It said something about a run."""

    def began(self, process: "HandlerProcess", pid: int) -> None:
        """There is a new process."""

    def died(self, process: "HandlerProcess", end: "End") -> None:
        """It is gone, and with it everything that it ran."""


class End(NamedTuple):
    """How a process ended; one that could not be started had no number."""

    how: str
    pid: int | None = None
    exit_code: int | None = None


class HandlerProcess:
    """Started again for as long as the pool wants it."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.channel: Channel | None = None
        """The way to the process that is there now."""
        self._process: subprocess.Popen[bytes] | None = None
        self._reaping = threading.Lock()
        self._preparing: dict[str, Future[None]] = {}
        self._unprepared: set[str] = set()
        self._closing = threading.Event()
        self.first_start: Future[None] = Future()
        """Done when the first process is ready; its exception says why it is not."""
        self.is_ready = False
        self.is_condemned = False
        """Whether it gets no more runs and is not started again."""
        self.runs: dict[str, PooledRun] = {}
        self.must_end: set[str] = set()
        """Runs that had to stop and whose threads may go on."""
        self._thread = threading.Thread(target=self._keep, name="headway-handlers", daemon=True)

    def start(self) -> None:
        """Start the process, and the next one when it dies."""
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """The number of the process that is there now."""
        process = self._process
        return None if process is None else process.pid

    def send(self, order: messages.Order) -> None:
        """Tell the process something; one that is gone does not hear it."""
        if (channel := self.channel) is not None:
            channel.send(messages.encode(order))

    def prepare(self, job_type: str) -> "Future[None]":
        """Have the `prepare` hook of a job type called."""
        answer = self._preparing[job_type] = Future()
        self.send(messages.Prepare(job_type))
        return answer

    def kill(self) -> None:
        """End the process now."""
        with self._reaping:  # until it is reaped, its number cannot be another group's
            if self._process is not None:
                process_groups.send(self._process.pid, signal.SIGKILL)

    def condemn(self) -> None:
        """Start no other process after this one."""
        self.is_condemned = True
        self._closing.set()

    def close(self) -> None:
        """Let an idle process exit, end a busy one, and start no other."""
        self._closing.set()
        if self.runs or self.must_end or not self.is_ready:
            self.kill()
        else:
            self.send(messages.Leave())

    def join(self) -> None:
        """Wait until the process is gone."""
        self._thread.join(EXIT_GRACE_S)
        self.kill()
        self._thread.join()

    def _keep(self) -> None:
        """A process after the other: its thread outlives each of them."""
        wait_s = FIRST_WAIT_S
        while not self._closing.is_set():
            began = time.monotonic()
            end = self._live()
            if time.monotonic() - began > STEADY_S:
                wait_s = FIRST_WAIT_S
            if not self._closing.is_set():
                log.error(
                    "the process of the handlers %s (runs in it: %d); another one starts in %g s",
                    end.how,
                    len(self.runs),
                    wait_s,
                )
            self._pool.died(self, end)
            if not self.first_start.done():
                self.first_start.set_exception(RuntimeError(f"it {end.how}"))
            self._closing.wait(wait_s)
            wait_s = min(wait_s * 2, LONGEST_WAIT_S)

    def _live(self) -> End:
        """A process from its start to its end."""
        ours, the_childs = socket.socketpair()
        with the_childs:
            try:
                process = _start_python(the_childs)
            except OSError as error:
                ours.close()
                return End(f"cannot be started: {error}")
        channel = Channel(ours)
        self._process, self.channel = process, channel
        self._pool.began(self, process.pid)
        channel.send(messages.encode(self._pool.setup))
        try:
            self._listen(process, channel)
        finally:
            self.is_ready = False
            self.channel = None
            returncode = self._reap(process)
            channel.close()
        how = ending_of(returncode)
        self._fail_hooks(how)
        return End(how, process.pid, exit_code_of(returncode))

    def _listen(self, process: "subprocess.Popen[bytes]", channel: Channel) -> None:
        """Until it hangs up. A program that it forked may hold the socket: its exit counts too."""
        with contextlib.ExitStack() as stack:
            exit_signal = exit_signal_of(process.pid)
            if exit_signal is not None:
                stack.callback(os.close, exit_signal)
            for lines in channel.lines(until=exit_signal):
                for line in lines:
                    self._hear(line)

    def _reap(self, process: "subprocess.Popen[bytes]") -> int:
        """Wait for the exit of a process that hung up, and end what it started in its group."""
        give_up = time.monotonic() + EXIT_GRACE_S
        while not has_exited(process) and time.monotonic() < give_up:
            time.sleep(LOOK_S)
        self.kill()
        with self._reaping:
            self._process = None
            return process.wait()

    def _hear(self, line: bytes) -> None:
        try:
            news = messages.decode_news(line)
        except msgspec.DecodeError:
            log.exception("a process of handlers sent what is no message")
            return
        match news:
            case messages.Ready():
                self._unprepared = set(self._pool.prepared_types())
                for job_type in self._unprepared:
                    self.send(messages.Prepare(job_type))
                self._look_whether_ready()
            case messages.Refused(reason):
                if not self.first_start.done():
                    self.first_start.set_exception(RuntimeError(reason))
                log.error("the app cannot be imported any more: %s", reason)
            case messages.Prepared(job_type, error):
                self._note_hook(job_type, error)
            case _:
                self._pool.hear(self, news)

    def _note_hook(self, job_type: str, error: str | None) -> None:
        if (asked := self._preparing.pop(job_type, None)) is not None:
            if error is None:
                asked.set_result(None)
            else:
                asked.set_exception(RuntimeError(error))
        elif error is not None:
            self.kill()  # of no use without its runtime; the next one calls the hook again
        else:
            self._unprepared.discard(job_type)
            self._look_whether_ready()

    def _look_whether_ready(self) -> None:
        if not self._unprepared and not self.is_ready:
            self._pool.became_ready(self)
            if not self.first_start.done():
                self.first_start.set_result(None)

    def _fail_hooks(self, how: str) -> None:
        while self._preparing:
            _, asked = self._preparing.popitem()
            asked.set_exception(RuntimeError(f"the process of its hook {how}"))


def _start_python(end: socket.socket) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-P", "-m", CHILD, str(end.fileno())],
        stdin=subprocess.DEVNULL,
        pass_fds=(end.fileno(),),
        start_new_session=True,
    )
