"""Questions about jobs and about the whole: how they are shown, why they wait, how it goes."""

from headway.domain import states
from headway.domain.answers import CurrentJob, Paused, QueueStatus, SchedulerStatus, Totals
from headway.domain.states import JobStatus
from headway.domain.values import moments
from headway.scheduler.admit import lane_gates
from headway.scheduler.admit.live_workers import known_workers
from headway.scheduler.explain.views import page, view, views
from headway.scheduler.explain.why import why
from headway.scheduler.scheduler import Scheduler
from headway.storage import codec, reservations
from headway.storage.transaction import Transaction

__all__ = ["known_workers", "page", "queue_status", "status", "view", "views", "why"]

RECOVERY = "recovery"
"""The fact that keeps what the last recovery found."""


def status(scheduler: Scheduler, tx: Transaction) -> SchedulerStatus:
    """The whole at a glance."""
    recovery = tx.row("fact", name=RECOVERY)
    return SchedulerStatus(
        running=any(worker.alive for worker in known_workers(scheduler, tx)),
        current_jobs=_current_jobs(tx),
        queue_length=_length(tx),
        totals=_totals(tx),
        active_reservation=reservations.active(tx),
        recovery=codec.load(recovery["value"]) if recovery else None,
    )


def _current_jobs(tx: Transaction) -> tuple[CurrentJob, ...]:
    return tuple(
        CurrentJob(
            job_id=row["job_id"],
            number=row["job_number"],
            job_type=row["job_type"],
            queue=row["queue"],
            worker_id=row["worker_id"],
            started_at=moments.from_millis(row["started_at"]),
        )
        for row in tx.rows("live_leases")
    )


def _totals(tx: Transaction) -> Totals:
    counts: dict[str, int] = {}
    for row in tx.rows("totals"):
        ended = JobStatus(row["status"])
        word = "blocked" if ended in states.BLOCKED else ended.lower()
        counts[word] = counts.get(word, 0) + row["count"]
    return Totals(**counts)


def _length(tx: Transaction) -> int:
    row = tx.row("count_waiting")
    assert row is not None
    return int(row["count"])


def queue_status(scheduler: Scheduler, tx: Transaction) -> QueueStatus:
    """How many jobs wait for what, and what is paused."""
    counted = lane_gates.waiting_counts(scheduler, tx)
    return QueueStatus(
        length=_length(tx),
        as_of=counted.as_of,
        paused=tuple(
            Paused(
                queue=row["queue"] or None,
                job_type=row["job_type"] or None,
                since=moments.from_millis(row["since"]),
            )
            for row in tx.rows("pauses")
        ),
        waiting=counted.rows,
    )
