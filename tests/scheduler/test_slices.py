"""The consequences of one end that concern very many jobs come in slices."""

from collections.abc import Callable

import pytest
from tests.helpers import claim, finish, job, submit
from tests.scheduler.asking import register, rewound, show, submit_all, why

from headway.domain.answers import GateState
from headway.domain.gates import Gate
from headway.domain.states import JobStatus
from headway.scheduler.admit import postponed
from headway.scheduler.change import cancel
from headway.scheduler.explain import why as explaining
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import timekeeper, verify
from headway.storage.admit import postponed as stored

LENGTH = 25


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slice is of ten jobs."""
    monkeypatch.setattr(postponed, "AT_ONCE", 10)


def chain(scheduler: Scheduler) -> list[int]:
    """Jobs that come one after the other."""
    wanted = ({"ref": str(n), "after": [f"ref:{n - 1}"] if n else []} for n in range(LENGTH))
    return submit_all(scheduler, *wanted)


def fan(scheduler: Scheduler) -> list[int]:
    """Jobs that all come after the first."""
    wanted = ({"ref": str(n), "after": ["ref:0"] if n else []} for n in range(LENGTH))
    return submit_all(scheduler, *wanted)


def stop(scheduler: Scheduler, number: int) -> None:
    """Cancel a job."""
    scheduler.store.write(lambda tx: cancel.cancel(scheduler, tx, number))


def blocked(scheduler: Scheduler) -> list[int]:
    """The jobs that are blocked."""
    status = JobStatus.BLOCKED_BY_DEPENDENCY
    return [n for n in range(1, LENGTH + 1) if job(scheduler, n).status is status]


def keep_time(scheduler: Scheduler) -> int:
    """Do what is due until nothing is; return the number of rounds."""
    rounds = 1
    while timekeeper.run_due(scheduler, scheduler.clock.now()) <= 0:
        rounds += 1
    return rounds


@pytest.mark.parametrize("graph", [chain, fan])
def test_a_cancel_looks_at_so_many_jobs_and_the_timekeeper_at_the_others(
    scheduler: Scheduler, graph: Callable[[Scheduler], list[int]]
) -> None:
    first, *others = graph(scheduler)
    stop(scheduler, first)
    assert blocked(scheduler) == others[:10]
    assert verify.verify(scheduler) == []
    assert keep_time(scheduler) <= 3
    assert blocked(scheduler) == others
    assert scheduler.store.read(lambda tx: stored.among(tx, others)) == set()
    assert verify.verify(scheduler) == []


def test_a_job_that_is_still_to_be_blocked_says_so(scheduler: Scheduler) -> None:
    first, *others = chain(scheduler)
    stop(scheduler, first)
    left, behind = others[10], others[11]
    reason = f"dependency failed for job {job(scheduler, others[9]).job_id} (blocked_by_dependency)"
    shown = show(scheduler, left)
    assert (shown.status, shown.wait_reason and shown.wait_reason.detail) == (
        JobStatus.WAITING_ON_DEPS,
        reason,
    )
    answer = why(scheduler, left)
    gates = {row.gate: row for row in answer.gates}
    assert (answer.status, answer.startable) == (shown.status, False)
    assert (gates[Gate.AFTER].state, gates[Gate.AFTER].detail) == (GateState.CLOSED, reason)
    waiting = show(scheduler, behind).wait_reason
    assert waiting is not None
    assert waiting.detail == f"waiting on job {shown.job_id}"


def test_a_job_that_is_still_to_be_queued_stands_as_it_will_then(scheduler: Scheduler) -> None:
    register(scheduler)
    first, *others = fan(scheduler)
    submit(scheduler, "other", locks=["gpu"])
    claim(scheduler, job_types=("other",))
    locked = submit(scheduler, after=[first], locks=["gpu"])
    finish(scheduler, claim(scheduler))
    assert scheduler.store.read(lambda tx: stored.among(tx, others)) == set(others[10:])
    shown, answer = show(scheduler, others[-1]), why(scheduler, others[-1])
    assert (shown.status, shown.wait_reason) == (JobStatus.QUEUED, None)
    assert (answer.status, answer.startable) == (JobStatus.QUEUED, True)
    waiting, answer = show(scheduler, locked.number), why(scheduler, locked.number)
    assert waiting.status is answer.status is JobStatus.WAITING_ON_LOCKS
    assert waiting.wait_reason is not None
    assert waiting.wait_reason.kind == "locks"
    assert len(claim(scheduler, LENGTH)) == 10
    keep_time(scheduler)
    assert job(scheduler, locked.number).status is JobStatus.WAITING_ON_LOCKS
    assert len(claim(scheduler, LENGTH)) == LENGTH - 11
    assert verify.verify(scheduler) == []


def test_a_rewind_between_two_slices_leaves_everything_waiting(scheduler: Scheduler) -> None:
    first, *others = chain(scheduler)
    stop(scheduler, first)
    rewound(scheduler, first)
    keep_time(scheduler)
    assert job(scheduler, first).status is JobStatus.QUEUED
    statuses = {job(scheduler, number).status for number in others}
    assert statuses == {JobStatus.WAITING_ON_DEPS}
    assert verify.verify(scheduler) == []


def test_a_cause_that_is_too_far_away_is_not_guessed(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explaining, "FARTHEST", 5)
    first, *others = chain(scheduler)
    stop(scheduler, first)
    for number, named in ((others[3], True), (others[8], False)):
        blockers = [one for row in why(scheduler, number).gates for one in row.blockers]
        causes = [one.id for one in blockers if one.kind == "cause"]
        assert causes == ([job(scheduler, first).job_id] if named else [])
