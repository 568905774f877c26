"""The clock was set: what was measured against the old time is put right.

Leases, claims and the reserved slot get one fresh term before they are judged, delays last as
long as they were meant to, and schedules look again for their next fire. Running it twice, or on
two servers at once, does no harm.
"""

import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

import msgspec

from headway.clock import passed_s
from headway.domain.manage.reservations import EXPIRES_AFTER_S
from headway.domain.manage.webhooks import RETRY_DELAYS_S
from headway.scheduler.finish import consequences
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import trigger
from headway.storage import claims, leases
from headway.storage import events as kept_events
from headway.storage.engine import codec
from headway.storage.engine.store import Clock
from headway.storage.engine.transaction import DELIVERIES, DUE, READY, Transaction
from headway.storage.manage import limits, reservations, webhooks
from headway.storage.upkeep import due, facts

BATCH = 1000

SMALLEST_S = 1.0
"""Less than this is a clock that is kept right, not one that was set."""

MOST_EVENTS = 1000
"""In so many of the last events a step is looked for that happened while nothing ran."""

STEP = "clock_step"
SAME_STEP_MS = 60_000

log = logging.getLogger("headway.clock")


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """By how much the clock was set."""

    by_s: float
    """Against the time in which the machine ran: to have been suspended looks like a step."""

    set_by_s: float
    """Against the time that passed, suspended or not."""

    within_s: float = 0.0
    """How long ago the last look was: the clock was set at some moment since then."""


def both(first: Step | None, second: Step | None) -> Step | None:
    """Two steps, one after the other, as one."""
    if first is None or second is None:
        return first or second
    return Step(
        by_s=first.by_s + second.by_s,
        set_by_s=first.set_by_s + second.set_by_s,
        within_s=first.within_s + second.within_s,
    )


class _Look(NamedTuple):
    """What the clocks said at a moment."""

    moment: float
    ran: float
    passed: float


class ClockWatch:
    """Tells when the clock was set: it then moved otherwise than time passed."""

    def __init__(
        self,
        clock: Clock,
        ran: Callable[[], float] = time.monotonic,
        passed: Callable[[], float] = passed_s,
    ) -> None:
        self._clock = clock
        self._ran = ran
        self._passed = passed
        self._last = self._look()

    def step(self, pending: Step | None = None) -> Step | None:
        """By how much the clock was set since the last look, if it was.

        A pending step was found by an earlier look and is not put right yet: it counts in.
        """
        before, self._last = self._last, self._look()
        moved_s = self._last.moment - before.moment
        by_s = moved_s - (self._last.ran - before.ran)
        within_s = self._last.passed - before.passed
        if abs(by_s) >= SMALLEST_S:
            found = Step(by_s=by_s, set_by_s=_noticeable(moved_s - within_s), within_s=within_s)
            return both(pending, found)
        if pending is not None:
            return msgspec.structs.replace(pending, within_s=pending.within_s + within_s)
        return None

    def trusts(self, moment: datetime) -> bool:
        """Whether this is the time by the clock as it was at the last look."""
        expected = self._last.moment + self._ran() - self._last.ran
        return abs(moment.timestamp() - expected) < SMALLEST_S

    def _look(self) -> _Look:
        return _Look(self._clock.now().timestamp(), self._ran(), self._passed())


def _noticeable(seconds: float) -> float:
    return seconds if abs(seconds) >= SMALLEST_S else 0.0


def step_while_away(scheduler: Scheduler) -> Step | None:
    """By how much the clock was set back while nothing ran, as far as the history tells."""
    return scheduler.store.read(_step_in_history)


def _step_in_history(tx: Transaction) -> Step | None:
    """The latest time of the events since the clock was last set lies ahead: it was set back.

    Not the time of the last event: it may have come after a step that nothing has noticed yet.
    """
    if not kept_events.last_number(tx):
        return None
    seen = _last_step(tx)
    latest = kept_events.latest_moment(tx, seen.seq, MOST_EVENTS)
    ahead_s = (max(seen.at, latest or 0) - tx.now_ms) / 1000
    if ahead_s < SMALLEST_S:
        return None
    since = kept_events.first_moment_since(tx, seen.seq, MOST_EVENTS)
    # What happened first by the new time must lie within, also if the repair has to wait a little.
    within_s = 0.0 if since is None else (tx.now_ms - since) / 1000 + SMALLEST_S
    return Step(by_s=-ahead_s, set_by_s=-ahead_s, within_s=within_s)


def move(scheduler: Scheduler, step: Step) -> None:
    """Give fresh terms, and move once what goes with the clock. `tell` is to follow."""
    log.warning(
        "the clock was set %s by %.0f s; leases are renewed, delays last as long as before, and"
        " schedules are recomputed",
        "forward" if step.by_s > 0 else "back",
        abs(step.by_s),
    )
    scheduler.store.write(partial(_move, scheduler, step))


def tell(scheduler: Scheduler, step: Step) -> None:
    """Let delayed jobs and schedules name their new times; to do it again changes nothing more."""
    number: int | None = 0
    while number is not None:
        number = scheduler.store.write(partial(_tell_delays, scheduler, after=number))
    set_by = timedelta(seconds=step.set_by_s)
    schedule: str | None = ""
    while schedule is not None:
        schedule = scheduler.store.write(partial(trigger.look_again, set_by=set_by, after=schedule))


def _move(scheduler: Scheduler, step: Step, tx: Transaction) -> None:
    now = tx.now_ms
    looked_at = now - _millis(step.within_s)
    if not _is_known(tx, _millis(step.by_s), looked_at):
        leases.move_deadlines(tx, _millis(step.by_s), looked_at=looked_at)
        if step.set_by_s:
            due.move_delays(tx, _millis(step.set_by_s), looked_at=looked_at)
    leases.renew_all(tx)
    claims.renew_all(tx, until=now + _millis(scheduler.rules.claim_ttl_s))
    reservations.renew_all(tx, until=now + _millis(EXPIRES_AFTER_S))
    webhooks.bring_back(tx, latest=now + _millis(max(RETRY_DELAYS_S)))
    limits.forget_later_uses(tx)
    tx.wake(READY, DUE, DELIVERIES)


def _millis(seconds: float) -> int:
    return round(seconds * 1000)


def _tell_delays(scheduler: Scheduler, tx: Transaction, after: int) -> int | None:
    """Say anew until when delayed jobs wait; returns after which number to go on, if at all."""
    numbers = due.delayed_jobs(tx, after, BATCH)
    if numbers:
        consequences.admit_or_end(scheduler, tx, numbers)
    return numbers[-1] if len(numbers) == BATCH else None


class _Seen(msgspec.Struct, frozen=True, kw_only=True):
    """The last step that any server saw, with the number of the last event before it."""

    at: int = 0
    step_ms: int = 0
    seq: int = 0


def _last_step(tx: Transaction) -> _Seen:
    known = facts.read(tx, STEP)
    return msgspec.json.decode(known, type=_Seen) if known else _Seen()


def _is_known(tx: Transaction, step_ms: int, looked_at: int) -> bool:
    """Whether any server has moved what goes with this step: that must be done only once.

    It may have done so at any moment since the last look that was before the step.
    """
    seen = _last_step(tx)
    same = looked_at - SAME_STEP_MS < seen.at < tx.now_ms + SAME_STEP_MS
    if same and abs(seen.step_ms - step_ms) < SMALLEST_S * 1000:
        return True
    now = _Seen(at=tx.now_ms, step_ms=step_ms, seq=kept_events.last_number(tx))
    facts.put(tx, STEP, codec.dump(msgspec.structs.asdict(now)))
    return False
