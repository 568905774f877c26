"""Pause and resume everything, a queue or a job type."""

from headway.domain import events
from headway.domain.gates.pause import Pause
from headway.domain.requests import job_requests
from headway.scheduler.admit import lane_waits
from headway.scheduler.finish import consequences
from headway.scheduler.scheduler import Scheduler
from headway.storage import locks
from headway.storage.engine.transaction import READY, Transaction
from headway.storage.manage import limits


def pause(scheduler: Scheduler, tx: Transaction, queue: str | None, job_type: str | None) -> None:
    """Start nothing more: of everything, of a queue, of a job type. What runs goes on."""
    _check_names(queue, job_type)
    with lane_waits.kept(scheduler, tx):
        paused = limits.pause(tx, Pause(queue or "", job_type or ""))
    if paused:
        _note(tx, events.PAUSED, queue, job_type)
        # A paused job no longer blocks those behind it.
        tx.wake(READY)
        consequences.admit_or_end(scheduler, tx, freed=locks.waited_for(tx))


def resume(scheduler: Scheduler, tx: Transaction, queue: str | None, job_type: str | None) -> None:
    """Lift one pause, or every pause when none is named."""
    _check_names(queue, job_type)
    with lane_waits.kept(scheduler, tx):
        lifted = (
            limits.resume_all(tx)
            if queue is None and job_type is None
            else limits.resume(tx, Pause(queue or "", job_type or ""))
        )
    if lifted:
        _note(tx, events.RESUMED, queue, job_type)
        tx.wake(READY)


def _check_names(queue: str | None, job_type: str | None) -> None:
    job_requests.check_name("queue", queue)
    job_requests.check_name("job_type", job_type)


def _note(tx: Transaction, kind: str, queue: str | None, job_type: str | None) -> None:
    tx.note(kind, None, {"queue": queue, "job_type": job_type})
