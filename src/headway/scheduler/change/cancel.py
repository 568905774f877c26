"""Cancelling: what waits ends at once, what runs is asked to end."""

from collections.abc import Sequence

from headway.domain import errors, events, states
from headway.domain.jobs import Job, WaitReason
from headway.domain.requests import job_requests
from headway.scheduler.finish import consequences
from headway.scheduler.finish.ends import Ended
from headway.scheduler.scheduler import Scheduler
from headway.storage import chains, job_changes, jobs, steps
from headway.storage.engine.transaction import EVENTS, Transaction
from headway.storage.records import JobRecord

ASKED, FORCED = "asked", "forced"
PARENT_CANCELLED = "its parent was cancelled"


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
    check(record)
    cancel_all(scheduler, tx, [record], reason=reason, force=force)
    return record.number


def check(record: JobRecord) -> None:
    """Refuse a job that has ended."""
    if record.status in states.TERMINAL:
        raise errors.NotActive(record.job_id)


def cancel_all(
    scheduler: Scheduler,
    tx: Transaction,
    records: Sequence[JobRecord],
    *,
    reason: str | None,
    force: bool = False,
) -> None:
    """Cancel active jobs; what follows from the ends of all of them is one settling."""
    running = [record for record in records if record.status is states.RUNNING]
    for record in running:
        job_changes.request_cancel(tx, record.number, FORCED if force else (record.cancel or ASKED))
        tx.note(events.CANCEL_REQUESTED, record.number, {"force": force, "reason": reason})
    if running:
        tx.wake(EVENTS, CANCELS)
    why = WaitReason(kind="cancelled", detail=reason) if reason else None
    ended = [
        Ended(record=record, status=states.CANCELLED, reason=why, retry=False)
        for record in records
        if record.status is not states.RUNNING
    ]
    asked = {record.number for record in records}
    children = [one for one in awaited_children(tx, records) if one.number not in asked]
    ended += cancel_children(tx, children)
    if ended:
        consequences.settle(scheduler, tx, ended)


def awaited_children(tx: Transaction, parents: Sequence[JobRecord]) -> list[JobRecord]:
    """The active children for which suspended jobs wait, and those for which these wait.

    A job that only a key found is no child of theirs, and goes on.
    """
    found: list[JobRecord] = []
    while suspended := [one for one in parents if one.status is states.SUSPENDED]:
        families = {one.chain for one in suspended}
        awaited = steps.awaited_children(tx, [one.number for one in suspended])
        ends = chains.ends(tx, awaited).values()
        active = jobs.read(tx, [one.number for one in ends if one.status in states.ACTIVE])
        parents = [one for one in active if one.parent in families]
        found += parents
    return found


def cancel_children(tx: Transaction, children: Sequence[JobRecord]) -> list[Ended]:
    """Ask those that run to end; return the ends of the others."""
    for one in children:
        if one.status is not states.RUNNING:
            continue
        job_changes.request_cancel(tx, one.number, one.cancel or ASKED)
        tx.note(events.CANCEL_REQUESTED, one.number, {"reason": PARENT_CANCELLED})
        tx.wake(EVENTS, CANCELS)
    why = WaitReason(kind="cancelled", detail=PARENT_CANCELLED)
    return [
        Ended(record=one, status=states.CANCELLED, reason=why, retry=False)
        for one in children
        if one.status is not states.RUNNING
    ]


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
