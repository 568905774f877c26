"""Operations on the queue: look at it, move, pause, approve, retry."""

from typing import Any

import msgspec

from headway.api import access, paging
from headway.api.operation import Call, Nothing, Page, Paging, operation
from headway.domain import errors
from headway.domain.answers import QueueStatus, RewindReport
from headway.domain.jobs import Job
from headway.domain.tokens import Role
from headway.domain.values import priorities
from headway.scheduler.change import approvals, queue_control, rewind
from headway.scheduler.explain import status
from headway.storage.slices import Slice
from headway.storage.transaction import Transaction

MOST_REORDERED = 10_000


class MoveBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where to move the job; give one of the three."""

    before: str | int | None = None
    after: str | int | None = None
    queue_position: int | None = None


class ReasonBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reason."""

    reason: str | None = None


class RewindBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether to rerun a job that succeeded."""

    force: bool = False


class PauseBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A queue or a job type; nothing means everything."""

    queue: str | None = None
    job_type: str | None = None


class ReorderBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Waiting jobs, in the order in which they should start."""

    order: list[str | int]


@operation("POST", "/api/jobs/{id}/move", Role.SUBMIT, body=MoveBody, answer=Job)
def move_job(call: Call[MoveBody, Nothing]) -> Any:
    """Move a waiting job within its priority."""
    body = call.body

    def work(tx: Transaction) -> Job:
        access.check_change(tx, call.principal, "move", [call.path["id"]])
        number = queue_control.move(
            call.scheduler,
            tx,
            call.path["id"],
            before=body.before,
            after=body.after,
            queue_position=body.queue_position,
        )
        return status.view(call.scheduler, tx, number)

    return call.change(work)


@operation("POST", "/api/jobs/{id}/approve", Role.SUBMIT, body=ReasonBody, answer=Job)
def approve_job(call: Call[ReasonBody, Nothing]) -> Any:
    """Approve a job, so that it may start."""

    def work(tx: Transaction) -> Job:
        access.check_change(tx, call.principal, "approve", [call.path["id"]])
        number = approvals.approve(
            call.scheduler,
            tx,
            call.path["id"],
            actor=call.principal.name,
            reason=call.body.reason,
        )
        return status.view(call.scheduler, tx, number)

    return call.change(work)


@operation("POST", "/api/jobs/{id}/reject", Role.SUBMIT, body=ReasonBody, answer=Job)
def reject_job(call: Call[ReasonBody, Nothing]) -> Any:
    """Reject a job; it ends at once."""

    def work(tx: Transaction) -> Job:
        access.check_change(tx, call.principal, "reject", [call.path["id"]])
        number = approvals.reject(
            call.scheduler,
            tx,
            call.path["id"],
            actor=call.principal.name,
            reason=call.body.reason,
        )
        return status.view(call.scheduler, tx, number)

    return call.change(work)


@operation("POST", "/api/jobs/{id}/retry", Role.SUBMIT, body=RewindBody, answer=RewindReport)
def retry_job(call: Call[RewindBody, Nothing]) -> Any:
    """Rewind a job: rerun it and everything downstream of it."""
    return call.change(
        lambda tx: rewind.rewind(
            call.scheduler,
            tx,
            call.path["id"],
            force=call.body.force,
            role=call.principal.role,
        )
    )


@operation("GET", "/api/queue", Role.READ, query=Paging, answer=Page[Job])
def list_queue(call: Call[Nothing, Paging]) -> Page[Job]:
    """List waiting jobs in the order in which they would start."""
    limit = paging.check_limit(call.query.limit)
    priority, position, number = _place(call.query.cursor)

    def work(tx: Transaction) -> Slice[Job]:
        rows = tx.rows(
            "queue_after", priority=priority, position=position, number=number, count=limit + 1
        )
        return status.page(call.scheduler, tx, rows, limit)

    return paging.page_of(call.scheduler.store.read(work), _key)


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


@operation("GET", "/api/queue/status", Role.READ, answer=QueueStatus)
def get_queue_status(call: Call[Nothing, Nothing]) -> QueueStatus:
    """Count what waiting jobs wait for, and list what is paused."""
    return call.scheduler.store.read(lambda tx: status.queue_status(call.scheduler, tx))


@operation("POST", "/api/queue/pause", Role.ADMIN, body=PauseBody, answer=QueueStatus)
def pause_queue(call: Call[PauseBody, Nothing]) -> Any:
    """Pause everything, a queue or a job type: no new jobs start, running jobs continue."""

    def work(tx: Transaction) -> QueueStatus:
        queue_control.pause(call.scheduler, tx, call.body.queue, call.body.job_type)
        return status.queue_status(call.scheduler, tx)

    return call.change(work)


@operation("POST", "/api/queue/resume", Role.ADMIN, body=PauseBody, answer=QueueStatus)
def resume_queue(call: Call[PauseBody, Nothing]) -> Any:
    """Lift one pause, or all of them."""

    def work(tx: Transaction) -> QueueStatus:
        queue_control.resume(call.scheduler, tx, call.body.queue, call.body.job_type)
        return status.queue_status(call.scheduler, tx)

    return call.change(work)


@operation("POST", "/api/queue/reorder", Role.SUBMIT, body=ReorderBody, answer=Page[Job])
def reorder_queue(call: Call[ReorderBody, Nothing]) -> Any:
    """Reorder waiting jobs; the others keep their places. Returns the first page of them."""
    if len(call.body.order) > MOST_REORDERED:
        raise errors.InvalidRequest("order", f"at most {MOST_REORDERED} jobs at a time")

    def work(tx: Transaction) -> Page[Job]:
        access.check_change(tx, call.principal, "move", call.body.order)
        numbers = queue_control.reorder(call.scheduler, tx, call.body.order)
        first = status.views(call.scheduler, tx, numbers[: paging.MOST])
        return paging.page_of(Slice(first, len(numbers) > len(first)), _key)

    return call.change(work)
