"""The janitor: removes by itself, a little at a time, what ended long ago.

It does what `headway gc` does, in one server at a time: the one that begins holds the work for a
while, and holds on with each step. Between two steps it rests for longer than the step took.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

from headway.domain import errors
from headway.domain.answers import Cleaned
from headway.domain.values import durations
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import retention, stray_logs
from headway.scheduler.upkeep.retention import Collected
from headway.storage.engine.transaction import Transaction
from headway.storage.upkeep import passes
from headway.storage.upkeep.passes import Pass

FIRST_AFTER_S = 60.0
"""A server that has just started has better things to do."""

EVERY_S = 3600.0
"""The longest time between two passes."""

LEAST_EVERY_S = 10.0
HELD_S = 120.0
"""The work of a server that died is free again after this time."""

BATCH = 100
"""So many jobs are looked at, and at most removed, in one step."""

LEAST_REST_S = 0.05
REST = 4.0
"""A rest is so many times as long as the step before it."""

SOON = 0.9
"""A pass that ended so much of the time between two passes ago was the last one."""

TRUSTED_S = 3600.0
"""A clock that was set by more than this is looked at once more before it is believed."""

AFTER_TROUBLE_S = 60.0

log = logging.getLogger("headway.janitor")


class Passes:
    """The passes of one server, step by step; `passed` tells the time that no one can set."""

    def __init__(self, scheduler: Scheduler, kept_s: float, passed: Callable[[], float]) -> None:
        self._scheduler = scheduler
        self._kept_s = kept_s
        self._every_s = min(EVERY_S, max(LEAST_EVERY_S, kept_s / 10))
        self._me = scheduler.server or scheduler.new_id(scheduler.clock.now())
        self._passed = passed
        self._next = passed() + FIRST_AFTER_S
        self._offset = self._offset_now()
        self._held_at = 0.0
        self._steps: Iterator[Collected] | None = None

    def run(self) -> float:
        """Do one step, if it is time for one; return how many seconds to rest."""
        began = self._passed()
        if self._steps is None:
            if began < self._next:
                return self._next - began
            self._next = began + self._every_s
            if self._was_set():
                return self._every_s
            self._steps = self._pass()
        try:
            step = next(self._steps, None)
        except BaseException:
            self._steps = None
            raise
        if step is None:
            self._steps = None
            return self._every_s
        self._scheduler.seen.removed.add(step.jobs, step.runs, step.records)
        return max(LEAST_REST_S, REST * (self._passed() - began))

    def _was_set(self) -> bool:
        """Whether the clock was set since the last pass: there is time to set it right again."""
        before, self._offset = self._offset, self._offset_now()
        if abs(self._offset - before) <= TRUSTED_S:
            return False
        log.warning("the clock was set: what ended long ago by it is removed later")
        return True

    def _offset_now(self) -> float:
        return self._scheduler.clock.now().timestamp() - self._passed()

    def _pass(self) -> Iterator[Collected]:
        """All that is old; beside another server, only folders here that belong to nothing."""
        if not self._scheduler.store.write(self._take):
            for count in stray_logs.steps(self._scheduler, self._kept_s):
                yield Collected(records=count)
            return
        whole = Collected()
        for removed in retention.steps(self._scheduler, self._kept_s, BATCH):
            whole = retention.both(whole, removed)
            yield removed
            if not self._still_holds():
                return
        self._scheduler.store.write(partial(self._end, whole))
        if whole != Collected():
            log.info(
                "removed %d jobs, %d runs and %d other records older than %s",
                *(whole.jobs, whole.runs, whole.records, durations.show(self._kept_s)),
            )

    def _take(self, tx: Transaction) -> bool:
        """Begin, unless another server is at it or was a short time ago."""
        known = passes.read(tx)
        is_held = known.holder is not None and known.holder != self._me
        if is_held and tx.now_ms < known.held_until <= tx.now_ms + HELD_S * 1000:
            return False
        since_s = (tx.now - known.last.at).total_seconds() if known.last else self._every_s
        if 0 <= since_s < self._every_s * SOON:
            return False
        self._hold(tx, known.last)
        return True

    def _hold(self, tx: Transaction, last: Cleaned | None) -> None:
        until = tx.now_ms + int(HELD_S * 1000)
        passes.write(tx, Pass(holder=self._me, held_until=until, last=last))
        self._held_at = self._passed()

    def _still_holds(self) -> bool:
        """Hold on in time; a server that was frozen for long may find another at it."""
        if self._passed() - self._held_at < HELD_S / 2:
            return True
        return self._scheduler.store.write(self._hold_on)

    def _hold_on(self, tx: Transaction) -> bool:
        known = passes.read(tx)
        if known.holder != self._me:
            return False
        self._hold(tx, known.last)
        return True

    def _end(self, whole: Collected, tx: Transaction) -> None:
        """Say what came of it."""
        last = Cleaned(
            at=tx.now,
            kept_s=self._kept_s,
            jobs=whole.jobs,
            runs=whole.runs,
            records=whole.records,
        )
        passes.write(tx, Pass(last=last))


class Janitor:
    """A thread that rests most of the time; none if everything is kept for ever."""

    def __init__(self, scheduler: Scheduler) -> None:
        kept_s = scheduler.rules.retention_s
        self._passes = None if kept_s is None else Passes(scheduler, kept_s, time.monotonic)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="headway-janitor", daemon=True)

    def start(self) -> None:
        """Begin to rest."""
        if self._passes is not None:
            self._thread.start()

    def stop(self) -> None:
        """Stop after the present step."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _loop(self) -> None:
        assert self._passes is not None
        rest_s = 0.0
        while not self._stopped.wait(rest_s):
            try:
                rest_s = self._passes.run()
            except errors.Unavailable as error:
                log.warning("old jobs are removed later: %s", error)
                rest_s = AFTER_TROUBLE_S
            except Exception:
                log.exception("old jobs could not be removed; it will be tried again")
                rest_s = AFTER_TROUBLE_S
