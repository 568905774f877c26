"""Threads that serve a line of runs: as few of them as get it done.

Waking a thread for every run would cost more than a short run itself. One thread serves the line
for as long as the line moves; when it has not moved for a moment, four times as many serve it.
"""

import contextlib
import itertools
import threading
from collections import deque
from collections.abc import Iterator
from typing import Protocol

from headway.worker.executors.timers import Timers

PATIENCE_S = 0.005
"""As long as Python lets one thread keep the others waiting: less would say nothing of the runs."""

NO_THREAD_S = 1.0


class Run(Protocol):
    """Something to execute."""

    def execute(self) -> bool:
        """Run to the end; False when the thread was written off meanwhile."""


class SlotThreads:
    """Up to `size` threads at work at once."""

    def __init__(self, size: int, timers: Timers) -> None:
        self._size = size
        self._timers = timers
        self._line: deque[Run] = deque()
        self._lock = threading.Lock()
        self._parked: list[threading.Semaphore] = []
        self._active = 0
        self._taken = 0
        self._watching = False
        self._closed = False
        self._names = itertools.count(1)

    @property
    def waiting(self) -> int:
        """How many runs wait for a thread."""
        return len(self._line)

    def put(self, run: Run) -> None:
        """Add a run to the line."""
        self._line.append(run)
        with self._lock:
            if self._active == 0:
                self._wake(1)
            elif not self._watching and self._active < self._size:
                self._watch()

    def write_off(self) -> None:
        """A thread is held up in a run: another may serve in its place."""
        with self._lock:
            self._active -= 1
            if self._line:
                self._wake(1)

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """A run waits for an answer in this block: another thread may serve the line meanwhile."""
        self.write_off()
        try:
            yield
        finally:
            with self._lock:
                self._active += 1

    def close(self) -> None:
        """Let idle threads end; what still runs is not waited for."""
        with self._lock:
            self._closed = True
            for signal in self._parked:
                signal.release()

    def _watch(self) -> None:
        self._watching = True
        seen = self._taken
        self._timers.after(PATIENCE_S, lambda: self._look(seen))

    def _look(self, seen: int) -> None:
        """The line has had its moment: if it did not move, more threads are needed."""
        with self._lock:
            if self._line and self._taken == seen:
                self._wake(
                    min(len(self._line), self._size - self._active, max(1, 3 * self._active))
                )
            if self._line and self._active < self._size:
                self._watch()
            else:
                self._watching = False

    def _wake(self, count: int) -> None:
        for _ in range(count):
            self._active += 1
            if self._parked:
                self._parked.pop().release()
            elif not self._start_thread():
                self._active -= 1
                if self._active == 0:  # nothing serves the line: look again when there may be room
                    self._timers.after(NO_THREAD_S, self._retry)
                return

    def _start_thread(self) -> bool:
        """Whether another thread could be started: the system may allow no more."""
        name = f"headway-slot-{next(self._names)}"
        try:
            threading.Thread(target=self._serve, name=name, daemon=True).start()
        except RuntimeError:
            return False
        return True

    def _retry(self) -> None:
        with self._lock:
            if self._active == 0 and self._line:
                self._wake(1)

    def _serve(self) -> None:
        signal = threading.Semaphore(0)
        while not self._closed:
            try:
                run = self._line.popleft()
            except IndexError:
                if self._park(signal):
                    signal.acquire()
                continue
            self._taken += 1
            if not run.execute():
                return

    def _park(self, signal: threading.Semaphore) -> bool:
        """Step back, unless something joined the line in this moment."""
        with self._lock:
            if self._line or self._closed:
                return False
            self._active -= 1
            self._parked.append(signal)
            return True
