"""A small process beside the worker that ends child processes when the worker no longer can.

The worker tells it over a pipe which groups it runs and until when. When a deadline passes (the
worker is frozen) or the pipe ends (the worker was killed), the guard ends the groups. It is
started as a plain script, without site-packages, so that it is cheap and cannot fail with them.
"""

import os
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING or __package__:
    from headway.worker import process_groups
else:
    sys.path.append(str(Path(__file__).parent))
    import process_groups

GRACE_S = 2.0
DEAF_TO = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Watch(NamedTuple):
    """A group: when its leader began, until when it may live, and how gently it is ended then."""

    began: str
    deadline: float | None
    grace: float


Watched = dict[int, Watch]


class Guard:
    """The worker's side: one per worker process, started with the first child."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._watched: Watched = {}
        _guards.add(self)

    @property
    def pid(self) -> int | None:
        """The guard's own process, once it was started."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Have the guard running before there is anything to watch."""
        with self._lock:
            if self._process is None:
                self._spawn()

    def watch(self, pgid: int, deadline: float | None = None, grace: float = GRACE_S) -> None:
        """Watch a group from now on; without a deadline only the worker's death counts."""
        began = process_groups.start_time(pgid)
        if began is not None:
            with self._lock:
                self._set(pgid, Watch(began, deadline, grace))

    def renew(self, pgid: int, deadline: float | None) -> None:
        """Move a group's deadline (on the monotonic clock)."""
        with self._lock:
            if pgid in self._watched:
                self._set(pgid, self._watched[pgid]._replace(deadline=deadline))

    def forget(self, pgid: int) -> None:
        """The group has ended."""
        with self._lock:
            if self._watched.pop(pgid, None) is not None:
                self._tell(f"forget {pgid}\n")

    def close(self) -> None:
        """End the guard, and with it every group it still watches."""
        with self._lock:
            process, self._process = self._process, None
            self._watched.clear()
            if process is not None:
                os.close(self._pipe)
                process.wait()

    def drop_pipe(self) -> None:
        """For a fork of the worker: the pipe's end means the worker's death, so keep no copy."""
        if self._process is not None:
            os.close(self._pipe)
        self._lock = threading.Lock()
        self._process = None
        self._watched = {}

    def _set(self, pgid: int, watch: Watch) -> None:
        self._watched[pgid] = watch
        self._tell(_watch_line(pgid, watch))

    def _tell(self, line: str) -> None:
        if self._process is not None:
            try:
                os.write(self._pipe, line.encode())
                return
            except BrokenPipeError:
                os.close(self._pipe)
                self._process.wait()
        # There is none yet, or it was killed: a new one has to know everything.
        self._spawn()
        for pgid, watch in self._watched.items():
            os.write(self._pipe, _watch_line(pgid, watch).encode())

    def _spawn(self) -> None:
        reading, writing = os.pipe()
        # A child starts with the signals of the thread that made it: these never reach the guard.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, DEAF_TO)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
            self._pipe = writing
        except BaseException:
            os.close(writing)
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.close(reading)


_guards: "weakref.WeakSet[Guard]" = weakref.WeakSet()


def _drop_pipes() -> None:
    for guard in _guards:
        guard.drop_pipe()


os.register_at_fork(after_in_child=_drop_pipes)


def _watch_line(pgid: int, watch: Watch) -> str:
    # The start time comes last, as it may hold blanks.
    deadline = "never" if watch.deadline is None else watch.deadline
    return f"watch {pgid} {deadline} {watch.grace} {watch.began}\n"


def main() -> None:
    """The guard's side: read what to watch, and end what is late."""
    watched: Watched = {}
    unread = b""
    pipe = sys.stdin.fileno()
    while True:
        ready, _, _ = select.select([pipe], [], [], _seconds_to_next(watched))
        if ready:
            chunk = os.read(pipe, 65536)
            if not chunk:
                break
            *lines, unread = (unread + chunk).split(b"\n")
            for line in lines:
                _obey(line.decode(), watched)
        _end(_late(watched), watched)
    _end(list(watched), watched)


def _obey(line: str, watched: Watched) -> None:
    verb, pgid, *rest = line.split(" ", 4)
    if verb == "watch":
        deadline, grace, began = rest
        until = None if deadline == "never" else float(deadline)
        watched[int(pgid)] = Watch(began, until, float(grace))
    else:
        watched.pop(int(pgid), None)


def _seconds_to_next(watched: Watched) -> float | None:
    deadlines = [one.deadline for one in watched.values() if one.deadline is not None]
    return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None


def _late(watched: Watched) -> list[int]:
    now = time.monotonic()
    return [
        pgid for pgid, one in watched.items() if one.deadline is not None and one.deadline <= now
    ]


def _end(pgids: list[int], watched: Watched) -> None:
    """End each group in a thread of its own; the process stays until the last one is done."""
    for pgid in pgids:
        began, _, grace = watched.pop(pgid)
        threading.Thread(target=process_groups.end_group, args=(pgid, began, grace)).start()


if __name__ == "__main__":
    main()
