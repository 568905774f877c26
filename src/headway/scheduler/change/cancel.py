"""Cancelling: what waits ends at once, what runs is asked to end."""

from headway.domain import errors, events, states
from headway.domain.jobs import Job, WaitReason
from headway.domain.requests import job_requests
from headway.scheduler.finish import consequences
from headway.scheduler.finish.ends import Ended
from headway.scheduler.scheduler import Scheduler
from headway.storage import job_changes, jobs
from headway.storage.engine.transaction import EVENTS, Transaction

ASKED, FORCED = "asked", "forced"


def cancel(
    scheduler: Scheduler,
    tx: Transaction,
    reference: str | int,
    *,
    reason: str | None = None,
    force: bool = False,
) -> int:
    """Cancel a job; return its number. Without force a running job's run keeps its outcome."""
    job_requests.check_reason(reason)
    record = jobs.read_one(tx, reference)
    if record.status in states.TERMINAL:
        raise errors.NotActive(record.job_id)
    if record.status is states.RUNNING:
        job_changes.request_cancel(tx, record.number, FORCED if force else (record.cancel or ASKED))
        tx.note(events.CANCEL_REQUESTED, record.number, {"force": force, "reason": reason})
        tx.wake(EVENTS, CANCELS)
    else:
        why = WaitReason(kind="cancelled", detail=reason) if reason else None
        ended = Ended(record=record, status=states.CANCELLED, reason=why, retry=False)
        consequences.settle(scheduler, tx, [ended])
    return record.number


def obstacle(scheduler: Scheduler, job: Job) -> WaitReason | None:
    """Why a running job cannot be forced, as far as this server's own handlers tell."""
    handler = scheduler.handlers.get(job.job_type)
    if handler is None or handler.isolation == "process" or handler.is_async:
        return None
    if job.status is not states.RUNNING or job.worker_id != scheduler.server:
        return None
    return WaitReason(
        kind="cancel", detail="it runs in a thread and cannot be forced; it was asked to stop"
    )


CANCELS = "cancels"
"""Wake-up: a running job is to end."""
