"""The timekeeper: the one loop that runs what is due.

It sleeps until the earliest moment at which anything is due, or until it is told that this moment
may have changed. Files and branches cannot tell, so they are looked at every so often, but only
while a job waits on them.
"""

import logging
import threading
from collections.abc import Callable
from datetime import datetime
from functools import partial

from headway.domain import deadlines, errors, states
from headway.domain.values import moments
from headway.scheduler.admit import lane_waits, lock_queues, postponed
from headway.scheduler.finish import consequences
from headway.scheduler.finish.ends import Ended
from headway.scheduler.lease import expire
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import clock_steps, direct, probe, trigger
from headway.storage import jobs
from headway.storage.admit import watches
from headway.storage.engine.transaction import DUE, SAFETY_POLL_S, Transaction
from headway.storage.manage import limits
from headway.storage.upkeep import due

BATCH = 1000

log = logging.getLogger("headway.timekeeper")


class Rounds:
    """Rounds of one server: each does what is due, by a clock that may be set at any moment."""

    def __init__(self, scheduler: Scheduler, watch: clock_steps.ClockWatch | None = None) -> None:
        self._scheduler = scheduler
        self._started_at = scheduler.clock.now()
        self._watch = watch or clock_steps.ClockWatch(scheduler.clock)
        self._has_looked_back = False
        self._step: clock_steps.Step | None = None
        """A step of the clock that was noticed and is not put right yet."""
        self._untold: clock_steps.Step | None = None
        """A step with which all was moved, but of which jobs and schedules are not told yet."""

    def run(self) -> float:
        """Do everything that is due; return how many seconds there are until the next thing is."""
        self._notice_a_new_time()
        return run_due(self._scheduler, self._started_at, self._watch.trusts)

    def _notice_a_new_time(self) -> None:
        """Fires between the old time and a new one were missed, as if nothing had run meanwhile."""
        self._step = self._watch.step(self._step)
        if not self._has_looked_back:
            self._step = clock_steps.step_while_away(self._scheduler) or self._step
            self._has_looked_back = True
        if self._step is not None:
            clock_steps.move(self._scheduler, self._step)
            self._untold, self._step = clock_steps.both(self._untold, self._step), None
        if self._untold is not None:
            clock_steps.tell(self._scheduler, self._untold)
            self._untold = None
            self._started_at = self._scheduler.clock.now()


class Timekeeper:
    """A thread that sleeps most of the time."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._rounds = Rounds(scheduler)
        self._poke = threading.Event()
        self._stopping = False
        self._told: str | None = None
        self._stop_listening = scheduler.store.wakeups.listen(DUE, self._poke.set)
        self._thread = threading.Thread(target=self._loop, name="headway-timekeeper", daemon=True)

    def start(self) -> None:
        """Begin to keep time."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the present round."""
        self._stopping = True
        self._stop_listening()
        self._poke.set()
        self._thread.join()

    def _loop(self) -> None:
        while not self._stopping:
            self._poke.clear()
            try:
                wait_s = self._rounds.run()
                self._told = None
            except errors.Unavailable as error:
                self._tell(error)
                wait_s = 1.0
            except Exception:
                log.exception("due work failed; it will be tried again")
                wait_s = 1.0
            if wait_s > 0:
                self._poke.wait(min(wait_s, SAFETY_POLL_S))

    def _tell(self, error: errors.Unavailable) -> None:
        """Log once what is tried again every second."""
        if error.detail != self._told:
            self._told = error.detail
            log.warning("due work is delayed: %s", error)


def run_due(
    scheduler: Scheduler,
    started_at: datetime,
    trusts: Callable[[datetime], bool] = lambda _: True,
) -> float:
    """Do everything that is due; return how many seconds there are until the next thing is.

    What is not trusted is a clock that was set in this moment: nothing is judged by it.
    """
    now = moments.to_millis(scheduler.clock.now())
    next_at, watching = scheduler.store.read(partial(_next, scheduler))
    failed: list[Exception] = []
    if next_at is not None and next_at <= now:
        for step in _steps(scheduler, started_at):
            try:
                while scheduler.store.write(partial(_if_trusted, trusts, step)) >= BATCH:
                    pass
            except Exception as error:  # the other kinds of things are due all the same
                failed.append(error)
        next_at, watching = scheduler.store.read(partial(_next, scheduler))
    if watching:
        probe.probe(scheduler)
    if failed and all(isinstance(one, errors.Unavailable) for one in failed):
        raise failed[0]
    if failed:
        raise ExceptionGroup("due work failed", failed)
    left_s = SAFETY_POLL_S if next_at is None else (next_at - now) / 1000
    return min(left_s, scheduler.rules.probe_every_s) if watching else left_s


def _if_trusted(
    trusts: Callable[[datetime], bool], step: Callable[[Transaction], int], tx: Transaction
) -> int:
    return step(tx) if trusts(tx.now) else 0


def _next(scheduler: Scheduler, tx: Transaction) -> tuple[int | None, bool]:
    moments_due = due.moments(tx)
    moments_due.append(direct.next_expiry(scheduler, tx))
    moments_due.append(limits.next_rate_opening(tx))
    moments_due.append(tx.now_ms if lock_queues.is_put_off(tx) else None)
    known = [moment for moment in moments_due if moment is not None]
    return min(known, default=None), watches.is_anything_watched(tx)


def _steps(scheduler: Scheduler, started_at: datetime) -> list[Callable[[Transaction], int]]:
    return [
        lambda tx: expire.expire_leases(scheduler, tx),
        lambda tx: expire.expire_claims(scheduler, tx),
        lambda tx: _end_late(scheduler, tx),
        lambda tx: _admit_due(scheduler, tx),
        lambda tx: trigger.fire_due(scheduler, tx, started_at),
        lambda tx: direct.expire(scheduler, tx),
        lambda tx: _try_on(scheduler, tx),
        lambda tx: _settle_on(scheduler, tx),
        lambda tx: _open_rates(scheduler, tx),
    ]


def _end_late(scheduler: Scheduler, tx: Transaction) -> int:
    """Jobs that have not started in time end CANCELLED."""
    late = jobs.read(tx, due.late_jobs(tx, BATCH))
    consequences.settle(
        scheduler,
        tx,
        [
            Ended(
                record=one,
                status=states.CANCELLED,
                reason=deadlines.expired(one.start_by or tx.now_ms),
                retry=False,
            )
            for one in late
        ],
    )
    return len(late)


def _admit_due(scheduler: Scheduler, tx: Transaction) -> int:
    """Jobs whose time has come may be claimed, if their other gates are open."""
    numbers = due.due_jobs(tx, BATCH)
    if numbers:
        consequences.admit_or_end(scheduler, tx, numbers)
    return len(numbers)


def _try_on(scheduler: Scheduler, tx: Transaction) -> int:
    """Queues for locks that were too long for one transaction: the next jobs try."""
    keys, tried = lock_queues.take_up(tx)
    if keys:
        consequences.admit_or_end(scheduler, tx, freed=keys, tried=tried)
    return BATCH if lock_queues.is_put_off(tx) else 0


def _settle_on(scheduler: Scheduler, tx: Transaction) -> int:
    """The consequences of some ends were too many for one transaction: a slice of the others.

    One slice a round: what else is due comes in between.
    """
    if numbers := postponed.take_up(tx):
        consequences.admit_or_end(scheduler, tx, numbers)
    return 0


def _open_rates(scheduler: Scheduler, tx: Transaction) -> int:
    """A start has left the window of a rate: a job may start."""
    if limits.open_rates(tx):
        lane_waits.note_openings(scheduler, tx)
    return 0
