"""The gates of a job itself, each with the facts that it needs."""

from collections.abc import Callable, Mapping, Sequence

from headway.domain import states
from headway.domain.gates import (
    GATES,
    Closed,
    Gate,
    after,
    approval,
    artifacts,
    locks,
    pinned_head,
    time,
)
from headway.domain.steps import StepKind
from headway.domain.values import moments
from headway.scheduler.admit.gate_facts import Facts
from headway.storage.records import JobRecord

Check = Callable[[JobRecord, Facts], Closed | None]


def _time(record: JobRecord, facts: Facts) -> Closed | None:
    """A program that has begun waits for no start time any more, but it may sleep."""
    if facts.waits_for_kind(record) is StepKind.SLEEP:
        return time.check_sleep(moments.maybe_from_millis(record.due_at), facts.now)
    if record.started_at is not None:
        return None
    return time.check(moments.maybe_from_millis(record.scheduled_for), facts.now)


def _after(record: JobRecord, facts: Facts) -> Closed | None:
    if facts.waits_for_kind(record) is StepKind.CHILDREN:
        return after.check_children(facts.predecessors(record))
    return after.check(facts.predecessors(record))


def _artifacts(record: JobRecord, facts: Facts) -> Closed | None:
    wait = record.terms.missing_producer == "wait"
    return artifacts.check(facts.needs(record), wait_for_producer=wait)


def _pinned_head(record: JobRecord, facts: Facts) -> Closed | None:
    pin = record.terms.pinned_head
    return pinned_head.check(pin, facts.head(record), facts.head_matches(record))


def _approval(record: JobRecord, facts: Facts) -> Closed | None:
    pending = facts.pending(record)
    if pending is not None and pending.kind is StepKind.SIGNAL:
        is_late = record.due_at is not None and record.due_at <= moments.to_millis(facts.now)
        return None if is_late else approval.check_signal(pending.name)
    return approval.check(record.approval)


def _locks(record: JobRecord, facts: Facts) -> Closed | None:
    held = facts.locks
    return locks.check(record.terms.locks, held.holders(record), held.ahead(record))


CHECKS: Mapping[Gate, Check] = {
    Gate.TIME: _time,
    Gate.AFTER: _after,
    Gate.ARTIFACTS: _artifacts,
    Gate.PINNED_HEAD: _pinned_head,
    Gate.APPROVAL: _approval,
    Gate.LOCKS: _locks,
}

_OWN = tuple(CHECKS[gate] for gate in GATES if gate in CHECKS)
_UNGATED = tuple(CHECKS[gate] for gate in GATES if gate in (Gate.TIME, Gate.AFTER))
"""Most jobs have no other gates."""
_WAITS = tuple(CHECKS[gate] for gate in (Gate.TIME, Gate.AFTER, Gate.APPROVAL))
"""What a suspended job waits for; the other gates are looked at when that is over."""


def first_closed(record: JobRecord, facts: Facts) -> Closed | None:
    """The first closed gate, of those that decide whether a job may be claimed."""
    if record.status is states.SUSPENDED and (closed := _first(_WAITS, record, facts)):
        return closed
    return _first(_OWN if record.gated else _UNGATED, record, facts)


def _first(checks: Sequence[Check], record: JobRecord, facts: Facts) -> Closed | None:
    return next((closed for check in checks if (closed := check(record, facts))), None)


def all_closed(
    record: JobRecord, facts: Facts, instead: Mapping[Gate, Check] | None = None
) -> dict[Gate, Closed]:
    """Every closed gate in order; `instead` are checks that name more than the first blocker."""
    checks = {**CHECKS, **(instead or {})}
    verdicts = {gate: checks[gate](record, facts) for gate in GATES if gate in checks}
    return {gate: closed for gate, closed in verdicts.items() if closed is not None}
