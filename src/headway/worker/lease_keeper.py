"""The lease keeper: a thread that no job can block keeps the leases alive.

A lease that cannot be renewed in time ends its work before it expires (self-fencing), so that a
worker that was cut off never runs beside the retry. Times are taken from this machine's monotonic
clock and the lease's length, so a wrong wall clock does no harm.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from headway.domain import errors
from headway.domain.leases import HEARTBEATS_PER_TTL
from headway.protocol.work_shapes import HeartbeatItem
from headway.protocol.work_values import BeatAnswer
from headway.worker.context import JobContext, Progress
from headway.worker.executors.interface import Running
from headway.worker.transport import Transport

TICK_S = 0.5
SHORTEST_S = 0.01
LONGEST_MARGIN_S = 3.0
MOST_GIVEN_UP = 10_000

log = logging.getLogger("headway.worker")


@dataclass
class Held:
    """A lease that this worker holds, and the run under it."""

    lease_id: str
    ttl_s: float
    expires: float
    renew_at: float
    ctx: JobContext
    running: Running | None = None
    fenced: bool = False
    cancel: str | None = None

    def prolong(self, sent: float) -> None:
        """A heartbeat that was sent at this time was accepted."""
        self.expires = sent + self.ttl_s
        self.renew_at = sent + self.ttl_s / HEARTBEATS_PER_TTL
        if self.running is not None:
            self.running.renew(self.fence_at)

    @property
    def must_stop(self) -> bool:
        """Whether the work is to be ended, not just asked to end."""
        return self.fenced or self.cancel == "forced"

    @property
    def fence_at(self) -> float:
        """When the work must begin to stop."""
        return self.expires - margin(self.ttl_s)


def margin(ttl_s: float) -> float:
    """How long before its end a lease counts as lost."""
    return min(LONGEST_MARGIN_S, ttl_s / 3)


class LeaseKeeper:
    """Heartbeats for every lease, in one call."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._held: dict[str, Held] = {}
        self._given_up: deque[str] = deque(maxlen=MOST_GIVEN_UP)
        self._lock = threading.Lock()
        self._poke = threading.Event()
        self._watch = threading.Event()
        self._at_rest: set[threading.Event] = set()
        self._stopping = False
        transport.on_cancel(self._look_now)
        self._look = False
        self._fenced_at = time.monotonic()
        self._threads = [
            threading.Thread(target=self._loop, name="headway-leases", daemon=True),
            threading.Thread(target=self._fence_loop, name="headway-fence", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def hold(self, lease_id: str, ttl_s: float, claimed: float, ctx: JobContext) -> Held:
        """Keep this lease; `claimed` is when it was asked for, on the monotonic clock."""
        held = Held(lease_id, ttl_s, claimed + ttl_s, claimed + ttl_s / HEARTBEATS_PER_TTL, ctx)
        short = ttl_s / HEARTBEATS_PER_TTL < TICK_S
        with self._lock:
            self._held[lease_id] = held
            to_wake = (self._poke, self._watch) if short else tuple(self._at_rest)
        for signal in to_wake:
            signal.set()
        return held

    def drop(self, lease_id: str) -> None:
        """The lease is over."""
        with self._lock:
            held = self._held.pop(lease_id, None)
            if held is not None and held.fenced:
                self._given_up.append(lease_id)

    def holds(self, lease_id: str) -> bool:
        """Whether this lease is held and was not lost."""
        held = self._held.get(lease_id)
        return held is not None and not held.fenced

    def held(self) -> list[Held]:
        """Every lease that is held."""
        with self._lock:
            return list(self._held.values())

    def live(self) -> list[str]:
        """The ids of the leases that are held."""
        with self._lock:
            return list(self._held)

    def known(self) -> list[str]:
        """Every lease that was ever held here and may still be live at the server."""
        with self._lock:
            return [*self._held, *self._given_up]

    def close(self) -> None:
        """Stop renewing."""
        self._stopping = True
        self._poke.set()
        self._watch.set()
        for thread in self._threads:
            thread.join()

    def catch_up(self) -> None:
        """After a freeze of this process: give up what is lost before anything new is claimed."""
        if time.monotonic() > self._fenced_at + 2 * TICK_S:
            self._fence()

    def _look_now(self) -> None:
        self._look = True
        self._poke.set()

    def _loop(self) -> None:
        while not self._stopping:
            self._sleep(self._poke, lambda held: held.renew_at)
            try:
                self._beat()
            except Exception:
                log.exception("heartbeats failed")

    def _fence_loop(self) -> None:
        """Beside the heartbeats: a server that does not answer must not hold this up."""
        while not self._stopping:
            self._sleep(self._watch, lambda held: None if held.fenced else held.fence_at)
            try:
                self._fence()
            except Exception:
                log.exception("a lost lease could not be given up")

    def _sleep(self, signal: threading.Event, due_at: Callable[[Held], float | None]) -> None:
        """Until something is due, but never for long; without leases, until a signal."""
        with self._lock:
            moments = [due_at(held) for held in self._held.values()]
            due = [moment for moment in moments if moment is not None]
            if due:
                self._at_rest.discard(signal)
            else:
                self._at_rest.add(signal)
        left_s = max(SHORTEST_S, min(due) - time.monotonic()) if due else None
        signal.wait(None if left_s is None else min(TICK_S, left_s))
        signal.clear()

    def _beat(self) -> None:
        everything, self._look = self._look, False
        now = time.monotonic()
        due = []
        for held in self.held():
            progress = held.ctx.take_progress()
            if everything or progress is not None or held.renew_at <= now:
                due.append((held, progress))
        if not due:
            return
        try:
            answers = self._transport.heartbeat([_beat(held, word) for held, word in due])
        except Exception as error:  # whatever it is, it is tried again, but not at once
            unexpected = not isinstance(error, errors.HeadwayError)
            log.warning("%d leases could not be renewed: %s", len(due), error, exc_info=unexpected)
            for held, progress in due:
                held.ctx.put_back(progress)
                held.renew_at = time.monotonic() + min(TICK_S, held.ttl_s / 10)
            return
        for (held, _), answer in zip(due, answers, strict=True):
            self._take(held, answer, now)

    def _take(self, held: Held, answer: BeatAnswer, sent: float) -> None:
        if answer.error is not None:
            if held.lease_id in self._held:
                self._lose(held, str(answer.error))
            return
        held.prolong(sent)
        if answer.cancel is not None and answer.cancel != held.cancel:
            held.cancel = answer.cancel
            held.ctx.cancel()
            if held.must_stop and held.running is not None:
                held.running.stop()

    def _fence(self) -> None:
        now = self._fenced_at = time.monotonic()
        for held in self.held():
            if held.fence_at <= now:
                self._lose(held, "it could not be renewed in time")

    def _lose(self, held: Held, why: str) -> None:
        if held.fenced:
            return
        held.fenced = True
        log.warning("lease %s is lost, its work is stopped: %s", held.lease_id, why)
        held.ctx.cancel()
        if held.running is not None:
            held.running.stop()


def _beat(held: Held, progress: Progress | None) -> HeartbeatItem:
    if progress is None:
        return HeartbeatItem(lease_id=held.lease_id)
    return HeartbeatItem(
        lease_id=held.lease_id, progress=progress.fraction, message=progress.message
    )
