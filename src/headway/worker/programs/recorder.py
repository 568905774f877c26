"""Steps of many runs go to the scheduler together: what comes during one commit shares the next.

A call that finds the scheduler away is made again for as long as its lease holds.
"""

import logging
import random
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from functools import partial
from typing import TypeVar

from headway.clock import SystemClock
from headway.domain import errors
from headway.domain.steps import Step
from headway.protocol.work_values import StepAnswer, StepReport
from headway.worker.backoff import Backoff
from headway.worker.programs.journal import StepKeeper, promise

MOST_AT_ONCE = 1000
ASKS_AT_ONCE = 4

Answer = TypeVar("Answer")
Waiting = tuple[StepReport, "Future[StepAnswer]"]

log = logging.getLogger("headway.worker")


class StepRecorder:
    """The journal of the runs of one worker. Its threads start with the first step."""

    def __init__(
        self,
        keeper: StepKeeper,
        is_held: Callable[[str], bool] = lambda _: True,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        self._keeper = keeper
        self._is_held = is_held
        self.now = now or SystemClock().now
        self._chance = random.Random()
        self._waiting: deque[Waiting] = deque()
        self._poke = threading.Event()
        self._closing = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._asks: ThreadPoolExecutor | None = None

    def record(self, report: StepReport) -> "Future[StepAnswer]":
        """Record a step, with those of other runs that come at the same moment."""
        future: Future[StepAnswer] = promise()
        if self._closing.is_set():
            future.set_exception(errors.Stopping())
            return future
        self._waiting.append((report, future))
        if self._thread is None:
            self._start()
        self._poke.set()
        return future

    def read(self, lease_id: str) -> "Future[Sequence[Step]]":
        """A journal that was too large to come with the claim."""
        return self._ask(lease_id, partial(self._keeper.journal, lease_id))

    def take_signal(self, lease_id: str, name: str, index: int) -> "Future[Step | None]":
        """Take a signal that has come, if there is one."""
        return self._ask(lease_id, partial(self._keeper.take_signal, lease_id, name, index))

    def close(self, timeout_s: float = 5.0) -> None:
        """Record what waits, then stop; what cannot be recorded now is refused."""
        self._closing.set()
        self._poke.set()
        if self._thread is not None:
            self._thread.join(timeout_s)
        if self._asks is not None:
            self._asks.shutdown(wait=False)

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="headway-steps")
                self._thread.daemon = True
                self._thread.start()

    def _loop(self) -> None:
        while not self._closing.is_set() or self._waiting:
            self._poke.wait()
            if not self._closing.is_set():
                self._poke.clear()
            while self._waiting:
                count = min(len(self._waiting), MOST_AT_ONCE)
                self._record([self._waiting.popleft() for _ in range(count)])

    def _record(self, batch: list[Waiting]) -> None:
        """Record a batch; one step that is refused does not keep the others back."""
        try:
            answers = self._patiently(
                lambda: self._keeper.record_steps([report for report, _ in batch]),
                lambda: any(self._is_held(report.lease_id) for report, _ in batch),
            )
            answered = list(zip(batch, answers, strict=True))
        except Exception as error:
            if len(batch) == 1:
                batch[0][1].set_exception(error)
                return
            for one in batch:
                self._record([one])
            return
        for (_, future), answer in answered:
            future.set_result(answer)

    def _ask(self, lease_id: str, question: Callable[[], Answer]) -> "Future[Answer]":
        with self._starting:
            if self._asks is None:
                self._asks = ThreadPoolExecutor(ASKS_AT_ONCE, "headway-journals")
            return self._asks.submit(self._patiently, question, lambda: self._is_held(lease_id))

    def _patiently(self, call: Callable[[], Answer], is_wanted: Callable[[], bool]) -> Answer:
        """Call until there is an answer, or until it is of no use any more."""
        backoff = Backoff(self._chance)
        while True:
            try:
                return call()
            except errors.Unavailable as error:
                if self._closing.wait(backoff.next_s()) or not is_wanted():
                    raise
                log.warning("steps wait for the scheduler: %s", error)
