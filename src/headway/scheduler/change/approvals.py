"""Approve or reject a job that waits for it."""

from headway.domain import errors, events, states
from headway.domain.jobs import Approval, WaitReason
from headway.domain.requests import job_requests
from headway.scheduler.finish import consequences
from headway.scheduler.finish.ends import Ended
from headway.scheduler.scheduler import Scheduler
from headway.storage import job_changes, jobs
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord


def approve(
    scheduler: Scheduler,
    tx: Transaction,
    reference: str | int,
    *,
    actor: str,
    reason: str | None = None,
) -> int:
    """A person approves: the gate is open; return the job's number."""
    job_requests.check_reason(reason)
    record = _pending(tx, reference)
    job_changes.set_approval(tx, record.number, Approval.APPROVED)
    tx.note(events.APPROVED, record.number, {"actor": actor, "reason": reason})
    consequences.admit_or_end(scheduler, tx, [record.number])
    return record.number


def reject(
    scheduler: Scheduler,
    tx: Transaction,
    reference: str | int,
    *,
    actor: str,
    reason: str | None = None,
) -> int:
    """A person rejects: the job ends at once; return its number."""
    job_requests.check_reason(reason)
    record = _pending(tx, reference)
    job_changes.set_approval(tx, record.number, Approval.REJECTED)
    tx.note(events.REJECTED, record.number, {"actor": actor, "reason": reason})
    why = WaitReason(kind="approval", detail=reason or f"rejected by {actor}")
    ended = Ended(record=record, status=states.BLOCKED_BY_APPROVAL, reason=why, retry=False)
    consequences.settle(scheduler, tx, [ended])
    return record.number


def _pending(tx: Transaction, reference: str | int) -> JobRecord:
    record = jobs.read_one(tx, reference)
    check(record)
    return record


def check(record: JobRecord) -> None:
    """Refuse a job that no person has to decide on."""
    if record.approval is not Approval.PENDING or record.status not in states.WAITING:
        raise errors.NotAwaitingApproval(record.job_id, record.status)
