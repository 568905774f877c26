"""The status of the scheduler and the queue, and jobs as they are shown."""

from headway.domain import states
from headway.domain.answers import QueueStatus, SchedulerStatus, Totals
from headway.scheduler.admit import lane_gates
from headway.scheduler.admit.live_workers import known_workers
from headway.scheduler.explain.views import page, view, views
from headway.scheduler.explain.why import why
from headway.scheduler.scheduler import Scheduler
from headway.storage import jobs, leases, queue
from headway.storage.engine import codec
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import limits, reservations
from headway.storage.upkeep import facts, passes

__all__ = ["known_workers", "page", "queue_status", "status", "view", "views", "why"]

RECOVERY = "recovery"
"""The fact that keeps what the last recovery found."""


def status(scheduler: Scheduler, tx: Transaction) -> SchedulerStatus:
    """The whole at a glance."""
    recovery = facts.read(tx, RECOVERY)
    return SchedulerStatus(
        running=any(worker.alive for worker in known_workers(scheduler, tx)),
        current_jobs=leases.current_jobs(tx),
        queue_length=queue.length(tx),
        totals=_totals(tx),
        active_reservation=reservations.active(tx),
        recovery=codec.load(recovery) if recovery else None,
        cleaned=passes.read(tx).last,
    )


def _totals(tx: Transaction) -> Totals:
    counts: dict[str, int] = {}
    for ended, count in jobs.totals(tx).items():
        word = "blocked" if ended in states.BLOCKED else ended.lower()
        counts[word] = counts.get(word, 0) + count
    return Totals(**counts)


def queue_status(scheduler: Scheduler, tx: Transaction) -> QueueStatus:
    """How many jobs wait for what, and what is paused."""
    counted = lane_gates.waiting_counts(scheduler, tx)
    return QueueStatus(
        length=queue.length(tx),
        as_of=counted.as_of,
        paused=limits.paused(tx),
        waiting=counted.rows,
    )
