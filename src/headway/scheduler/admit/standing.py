"""Checks the gates of waiting jobs and records the status that follows."""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from headway.domain import events, states
from headway.domain.gates import Blocker, Closed
from headway.domain.jobs import WaitReason
from headway.domain.states import JobStatus
from headway.domain.steps import StepKind
from headway.domain.values import moments
from headway.scheduler import alone
from headway.scheduler.admit import lane_waits, lock_queues
from headway.scheduler.admit.gate_facts import Facts, gather
from headway.scheduler.admit.own_gates import first_closed
from headway.scheduler.scheduler import Scheduler
from headway.storage import holds, jobs, steps
from headway.storage.admit import admission, lock_lines, watches
from headway.storage.admit.admission import Place
from headway.storage.admit.lock_lines import Standing
from headway.storage.engine.transaction import DUE, READY, Transaction
from headway.storage.records import JobRecord


class Blocked(msgspec.Struct, frozen=True):
    """A job that can never start, and why."""

    record: JobRecord
    status: JobStatus
    reason: WaitReason
    blockers: tuple[Blocker, ...]


class Looked(msgspec.Struct, frozen=True):
    """Jobs that can never start, those that wait for locks, and locks that lost a waiter.

    `unseen` are ready jobs that were found to wait for locks, and must be recorded as waiting.
    `unmarked` are jobs that a full limit kept waiting until another gate closed.
    """

    blocked: list[Blocked]
    locked: list[JobRecord]
    left: set[str]
    unseen: set[int]
    unmarked: list[JobRecord]


def look(scheduler: Scheduler, tx: Transaction, numbers: Collection[int]) -> Looked:
    """Check these jobs' gates and record their status."""
    if not numbers:
        return Looked([], [], set(), set(), [])
    holds.jobs(tx, numbers)
    waiting = [one for one in jobs.read(tx, numbers) if one.status in states.ADMITTED]
    alone.to_admit(tx, waiting)
    facts = gather(scheduler, tx, waiting)
    verdicts = [(record, first_closed(record, facts)) for record in waiting]
    blocked = [
        Blocked(record, closed.status, closed.reason, closed.blockers)
        for record, closed in verdicts
        if closed is not None and closed.status in states.TERMINAL
    ]
    standing = [
        (record, closed)
        for record, closed in verdicts
        if closed is None or closed.status in states.ACTIVE
    ]
    waits = _lane_waits(scheduler, tx, standing)
    _resume(tx, verdicts, facts)
    _record(tx, standing, waits)
    _watch(tx, waiting, standing, facts)
    locked, left = _line_up_for_locks(tx, waiting, standing)
    unseen = {number for record in locked for number in facts.locks.ready_that_wait(record)}
    unmarked = [one for one, closed in standing if closed and one.limited_since is not None]
    return Looked(blocked, locked, left, unseen, unmarked)


def _resume(
    tx: Transaction, verdicts: Sequence[tuple[JobRecord, Closed | None]], facts: Facts
) -> None:
    """Programs whose wait is over go on; a signal that is still pending now is too late."""
    resumed = [
        record
        for record, closed in verdicts
        if record.status is states.SUSPENDED
        and (closed is None or closed.status is not states.SUSPENDED)
    ]
    if not resumed:
        return
    kinds = {record.number: facts.waits_for_kind(record) for record in resumed}
    late = [number for number, kind in kinds.items() if kind is StepKind.SIGNAL]
    steps.forget_children(tx, [one for one, kind in kinds.items() if kind is StepKind.CHILDREN])
    steps.end_waits(tx, late, timed_out=True)
    steps.end_waits(tx, [number for number, kind in kinds.items() if kind is not StepKind.SIGNAL])
    tx.note_all(events.RESUMED_JOB, {number: {} for number in kinds})


def _lane_waits(
    scheduler: Scheduler,
    tx: Transaction,
    standing: Sequence[tuple[JobRecord, Closed | None]],
) -> dict[int, tuple[str, ...]]:
    """What ready jobs waited on with their lanes, until a gate of their own closed."""
    ready = [(record, closed) for record, closed in standing if record.is_ready]
    if any(closed is not None for _, closed in ready):
        lane_waits.note(scheduler, tx)
    ends = {
        record.number: _locked_since(tx, closed)
        for record, closed in ready
        if closed is not None and closed.status is states.WAITING_ON_LOCKS
    }
    return lane_waits.met(tx, [record for record, _ in ready], ends)


def _locked_since(tx: Transaction, closed: Closed) -> int:
    """Since when locks keep a job waiting; a job ahead of it may wait for one since just now."""
    taken = [one.since for one in closed.blockers if one.since is not None]
    return moments.to_millis(min(taken)) if taken else tx.now_ms


def _record(
    tx: Transaction,
    standing: Sequence[tuple[JobRecord, Closed | None]],
    waits: Mapping[int, tuple[str, ...]],
) -> None:
    places = []
    for record, closed in standing:
        place = _place(tx, record, closed, waits.get(record.number, record.waited_on))
        states.check(record.number, record.status, place.status)
        places.append((record.number, place))
        if place.due_at is not None:
            tx.due_at(place.due_at)
        if closed is None and (record.status is not states.QUEUED or record.wait_kind):
            tx.note(events.QUEUED, record.number)
        elif closed is not None and (record.wait_kind, record.wait_detail) != (
            closed.kind,
            closed.detail,
        ):
            tx.note(
                events.WAITING,
                record.number,
                {"status": closed.status, "kind": closed.kind, "detail": closed.detail},
            )
    admission.record(tx, places)
    tx.wake(READY)


def _place(
    tx: Transaction, record: JobRecord, closed: Closed | None, kinds: tuple[str, ...]
) -> Place:
    if closed is not None and closed.kind not in kinds:
        kinds = (*kinds, closed.kind)
    return Place(
        waits=closed,
        waited_on=kinds,
        due_at=_due_at(record, closed),
        queued_at=None if closed or _was_ready(record) else tx.now_ms,
    )


def _due_at(record: JobRecord, closed: Closed | None) -> int | None:
    """When the gate that is closed opens by itself, if it does."""
    if closed is None:
        return None
    if closed.status is states.SUSPENDED:
        return record.due_at
    return record.scheduled_for if closed.status is states.QUEUED else None


def _was_ready(record: JobRecord) -> bool:
    """Whether nothing of its own kept the job from starting before."""
    ready = record.status is states.QUEUED and record.wait_kind is None
    return ready and record.queued_at is not None


def _watch(
    tx: Transaction,
    waiting: Sequence[JobRecord],
    standing: Sequence[tuple[JobRecord, Closed | None]],
    facts: Facts,
) -> None:
    """Files and branches cannot notify: record what must be probed, and for which jobs."""
    gated = [record.number for record in waiting if record.gated]
    if not gated:
        return
    watches.remove(tx, gated)
    tx.wake(DUE)
    watches.insert(
        tx,
        [
            (what, record.number)
            for record, closed in standing
            if closed is not None
            and closed.status is states.WAITING_ON_DEPS
            and not record.open_deps
            for what in facts.watched(record)
        ],
    )


def _line_up_for_locks(
    tx: Transaction,
    waiting: Sequence[JobRecord],
    standing: Sequence[tuple[JobRecord, Closed | None]],
) -> tuple[list[JobRecord], set[str]]:
    """Queue jobs that only wait for locks; return those, and the locks that lost a waiter."""
    if not any(record.says("locks") for record in waiting):
        return [], set()
    wanting = [(record, closed) for record, closed in standing if record.says("locks")]
    ready = [record for record, closed in wanting if closed is None]
    locked = [
        record
        for record, closed in wanting
        if closed is not None and closed.status is states.WAITING_ON_LOCKS
    ]
    lock_lines.stand(
        tx,
        [
            *((Standing.READY, record) for record in ready),
            *((Standing.WAITS, record) for record in locked),
        ],
    )
    in_line = {record.number for record in (*ready, *locked)}
    left = [one for one in waiting if one.number not in in_line and _was_in_line(one)]
    lock_lines.leave(tx, [record.number for record in left])
    # A job that waits no longer may still not start at once, and keeps none waiting meanwhile. One
    # that was ready and waits now no longer goes first.
    waits_no_more = [record for record in ready if record.status is states.WAITING_ON_LOCKS]
    waits_now = [record for record in locked if _was_ready(record)]
    return locked, lock_queues.keys_of([*left, *waits_no_more, *waits_now])


def _was_in_line(record: JobRecord) -> bool:
    if record.status is states.QUEUED:
        return record.says("locks") and record.queued_at is not None
    return record.status is states.WAITING_ON_LOCKS
