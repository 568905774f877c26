"""Things to do later, all on one thread."""

import heapq
import itertools
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable

_log = logging.getLogger(__name__)


class Timer:
    """One thing to do later, unless it is cancelled."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[], None]) -> None:
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        """Make sure it does not start any more."""
        self.action = None


class Timers:
    """Timers and the thread that runs them; actions must be short.

    Most time-outs are cancelled long before they are due, so a new one only joins a line, without
    a lock. The thread looks at the line when one is due sooner than it would wake, or when the
    line is long, and then throws away what was cancelled meanwhile.
    """

    LONG_LINE = 1000

    def __init__(self) -> None:
        self._line: deque[tuple[float, int, Timer]] = deque()
        self._heap: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        self._wakes_at = -math.inf
        self._thread: threading.Thread | None = None

    def after(self, seconds: float, action: Callable[[], None]) -> Timer:
        """Call `action` once, that much later."""
        timer = Timer(action)
        due = time.monotonic() + seconds
        self._line.append((due, next(self._order), timer))
        if self._thread is None:
            self._start()
        if due < self._wakes_at or len(self._line) >= self.LONG_LINE:
            with self._changed:
                self._changed.notify()
        return timer

    def waiting(self) -> int:
        """How many are kept, with those that were cancelled and not yet dropped."""
        return len(self._line) + len(self._heap)

    def _start(self) -> None:
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="timers", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            self._sleep()
            while self._heap and self._heap[0][0] <= time.monotonic():
                self._do(heapq.heappop(self._heap)[2].action)

    def _sleep(self) -> None:
        with self._changed:
            self._take_in()
            self._wakes_at = self._heap[0][0] if self._heap else math.inf
            # One that joined before `_wakes_at` was set did not know that it had to notify.
            if not self._line:
                left = self._wakes_at - time.monotonic()
                self._changed.wait(min(max(left, 0.0), threading.TIMEOUT_MAX))
            self._wakes_at = -math.inf

    def _take_in(self) -> None:
        while self._line:
            entry = self._line.popleft()
            if entry[2].action is not None:
                heapq.heappush(self._heap, entry)

    def _do(self, action: Callable[[], None] | None) -> None:
        try:
            if action is not None:
                action()
        except Exception:
            _log.exception("a timer failed")
