"""Operations on the queue: list, move, pause, approve, retry."""

from headway.domain import errors
from headway.domain.answers import QueueStatus, RewindReport
from headway.domain.jobs import Job
from headway.domain.values import priorities
from headway.operations import access, paging
from headway.operations.bound import Call, serves
from headway.protocol import queue as protocol
from headway.protocol.operation import MOST_ON_A_PAGE, Nothing, Page, Paging
from headway.protocol.queue import (
    MoveBody,
    PauseBody,
    ReasonBody,
    ReorderBody,
    RewindBody,
    RewindQuery,
)
from headway.scheduler.change import approvals, move, pause, rewind
from headway.scheduler.explain import status
from headway.storage import queue
from headway.storage.engine.slices import Slice
from headway.storage.engine.transaction import Transaction

MOST_REORDERED = 10_000


@serves(protocol.move_job)
def move_job(call: Call[MoveBody, Nothing], tx: Transaction) -> Job:
    """Move a waiting job within its priority."""
    access.check_change(tx, call.principal, "move", [call.path["id"]])
    number = move.move(
        call.scheduler,
        tx,
        call.path["id"],
        before=call.body.before,
        after=call.body.after,
        queue_position=call.body.queue_position,
    )
    return status.view(call.scheduler, tx, number)


@serves(protocol.approve_job)
def approve_job(call: Call[ReasonBody, Nothing], tx: Transaction) -> Job:
    """Approve a job, so that it may start."""
    access.check_change(tx, call.principal, "approve", [call.path["id"]])
    number = approvals.approve(
        call.scheduler, tx, call.path["id"], actor=call.principal.name, reason=call.body.reason
    )
    return status.view(call.scheduler, tx, number)


@serves(protocol.reject_job)
def reject_job(call: Call[ReasonBody, Nothing], tx: Transaction) -> Job:
    """Reject a job; it ends at once."""
    access.check_change(tx, call.principal, "reject", [call.path["id"]])
    number = approvals.reject(
        call.scheduler, tx, call.path["id"], actor=call.principal.name, reason=call.body.reason
    )
    return status.view(call.scheduler, tx, number)


@serves(protocol.preview_retry)
def preview_retry(call: Call[Nothing, RewindQuery], tx: Transaction) -> RewindReport:
    """Show what a rewind of a job would reset."""
    return rewind.preview(
        call.scheduler, tx, call.path["id"], force=call.query.force, role=call.principal.role
    )


@serves(protocol.retry_job)
def retry_job(call: Call[RewindBody, Nothing], tx: Transaction) -> RewindReport:
    """Rewind a job: rerun it and everything downstream of it."""
    step = call.body.from_step
    return rewind.rewind(
        call.scheduler,
        tx,
        call.path["id"],
        force=call.body.force,
        role=call.principal.role,
        from_step=None if step is None else (step.name, step.index),
    )


@serves(protocol.list_queue)
def list_queue(call: Call[Nothing, Paging], tx: Transaction) -> Page[Job]:
    """List waiting jobs in the order in which they would start."""
    limit = paging.check_limit(call.query.limit)
    priority, position, number = _place(call.query.cursor)
    found = queue.after(tx, (priority, position, number), limit + 1)
    return paging.page_of(status.page(call.scheduler, tx, found, limit), _key)


def _key(job: Job) -> str:
    return f"{job.priority},{job.position},{job.number}"


def _place(cursor: str | None) -> tuple[int, int, int]:
    key = paging.read_cursor(cursor)
    if key is None:
        return priorities.BEFORE_ALL
    try:
        priority, position, number = (int(part) for part in key.split(","))
    except ValueError:
        raise errors.InvalidRequest("cursor", "invalid cursor") from None
    if max(abs(priority), abs(position), abs(number)) >= 2**63:
        raise errors.InvalidRequest("cursor", "invalid cursor")
    return priority, position, number


@serves(protocol.get_queue_status)
def get_queue_status(call: Call[Nothing, Nothing], tx: Transaction) -> QueueStatus:
    """Count what waiting jobs wait for, and list what is paused."""
    return status.queue_status(call.scheduler, tx)


@serves(protocol.pause_queue)
def pause_queue(call: Call[PauseBody, Nothing], tx: Transaction) -> QueueStatus:
    """Pause everything, a queue or a job type: no new jobs start, running jobs continue."""
    pause.pause(call.scheduler, tx, call.body.queue, call.body.job_type)
    return status.queue_status(call.scheduler, tx)


@serves(protocol.resume_queue)
def resume_queue(call: Call[PauseBody, Nothing], tx: Transaction) -> QueueStatus:
    """Lift one pause, or all of them."""
    pause.resume(call.scheduler, tx, call.body.queue, call.body.job_type)
    return status.queue_status(call.scheduler, tx)


@serves(protocol.reorder_queue)
def reorder_queue(call: Call[ReorderBody, Nothing], tx: Transaction) -> Page[Job]:
    """Reorder waiting jobs; the others keep their places. Returns the first page of them."""
    if len(call.body.order) > MOST_REORDERED:
        raise errors.InvalidRequest("order", f"at most {MOST_REORDERED} jobs at a time")
    access.check_change(tx, call.principal, "move", call.body.order)
    numbers = move.reorder(call.scheduler, tx, call.body.order)
    first = status.views(call.scheduler, tx, numbers[:MOST_ON_A_PAGE])
    return paging.page_of(Slice(first, len(numbers) > len(first)), _key)
