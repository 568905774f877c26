"""The clock was set: what was measured against the old time is put right.

Leases, claims and the reserved slot get one fresh term before anybody judges them, and schedules
look again for their next fire. Running it twice, or on two servers at once, does no harm.
"""

import logging
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial

from headway.domain.reservations import EXPIRES_AFTER_S
from headway.domain.webhooks import RETRY_DELAYS_S
from headway.scheduler import trigger
from headway.scheduler.scheduler import Scheduler
from headway.storage import codec
from headway.storage.store import Clock
from headway.storage.transaction import DELIVERIES, DUE, READY, Transaction

SMALLEST_S = 1.0
"""Less than this is a clock that is kept right, not one that was set."""

STEP = "clock_step"
SAME_STEP_MS = 60_000

log = logging.getLogger("headway.clock")


class ClockWatch:
    """Tells when the clock was set: it then moved otherwise than time passed."""

    def __init__(self, clock: Clock, passed: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._passed = passed
        self._last = self._look()

    def step_s(self) -> float:
        """By how many seconds the clock was set since the last look; 0 if it was not."""
        before, self._last = self._last, self._look()
        step_s = (self._last[0] - before[0]) - (self._last[1] - before[1])
        return step_s if abs(step_s) >= SMALLEST_S else 0.0

    def trusts(self, moment: datetime) -> bool:
        """Whether this is the time by the clock as it was at the last look."""
        expected = self._last[0] + self._passed() - self._last[1]
        return abs(moment.timestamp() - expected) < SMALLEST_S

    def _look(self) -> tuple[float, float]:
        return self._clock.now().timestamp(), self._passed()


def step_while_away(scheduler: Scheduler) -> float:
    """By how much the clock was set back while nothing ran, as far as the history tells."""
    row = scheduler.store.read(lambda tx: tx.row("last_event"))
    ahead_s = 0.0 if row is None else row["at"] / 1000 - scheduler.clock.now().timestamp()
    return -ahead_s if ahead_s >= SMALLEST_S else 0.0


def mend(scheduler: Scheduler, step_s: float) -> None:
    """Put right what a step of the clock would spoil."""
    direction = "forward" if step_s > 0 else "back"
    log.warning(
        "the clock was set %s by %.0f s; leases are renewed and schedules recomputed",
        direction,
        abs(step_s),
    )
    scheduler.store.write(lambda tx: _renew(scheduler, tx, int(step_s * 1000)))
    after: str | None = ""
    while after is not None:
        after = scheduler.store.write(partial(trigger.look_again, after=after))


def _renew(scheduler: Scheduler, tx: Transaction, step_ms: int) -> None:
    now = tx.now_ms
    shift = 0 if _is_known(tx, step_ms) else step_ms
    tx.do("renew_every_lease", now=now, shift=shift)
    tx.do("renew_every_claim", until=now + int(scheduler.rules.claim_ttl_s * 1000))
    tx.do("renew_every_reservation", until=now + int(EXPIRES_AFTER_S * 1000))
    tx.do("bring_back_retries", now=now)
    tx.do("bring_back_deliveries", latest=now + int(max(RETRY_DELAYS_S) * 1000))
    tx.do("forget_later_rate_uses", now=now)
    tx.wake(READY, DUE, DELIVERIES)


def _is_known(tx: Transaction, step_ms: int) -> bool:
    """Whether another server has seen this step: time-outs must be moved only once."""
    row = tx.row("fact", name=STEP)
    seen = codec.load(row["value"]) if row else {"at": 0, "step_ms": 0}
    same = abs(seen["at"] - tx.now_ms) < SAME_STEP_MS
    if same and abs(seen["step_ms"] - step_ms) < SMALLEST_S * 1000:
        return True
    tx.do("put_fact", name=STEP, value=codec.dump({"at": tx.now_ms, "step_ms": step_ms}))
    return False
