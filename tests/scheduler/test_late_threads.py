"""A thread that outlives its lease keeps further attempts of its job waiting, and nothing else."""

import pytest
from tests.helpers import MovableClock, claim, finish, submit
from tests.scheduler.asking import register

from headway.domain.answers import GateState
from headway.domain.gates import Gate
from headway.domain.runs import RunStatus
from headway.protocol.work_values import Started
from headway.scheduler.change import rewind
from headway.scheduler.explain import status
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import timekeeper

AT_ONCE = {"max_attempts": 3, "base_delay_s": 0}


def in_thread(scheduler: Scheduler) -> Started:
    """The next job, started in a thread of this process."""
    (started,) = claim(scheduler)
    assert started.lease is not None
    scheduler.threads.begin(started.lease.lease_id, started.number)
    return started


def thread_ends(scheduler: Scheduler, started: Started) -> None:
    assert started.lease is not None
    scheduler.threads.end(started.lease.lease_id)


def expire(scheduler: Scheduler, clock: MovableClock) -> None:
    clock.move(3600)
    timekeeper.run_due(scheduler, clock.now())


def test_a_retry_waits_for_the_thread_whose_lease_expired(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, retry_policy=AT_ONCE)
    started = in_thread(scheduler)
    expire(scheduler, clock)
    other = submit(scheduler)
    assert [one.number for one in claim(scheduler, 10)] == [other.number]
    thread_ends(scheduler, started)
    (retry,) = claim(scheduler, 10)
    assert (retry.number, retry.attempt) == (2, 1)


def test_so_it_does_for_one_whose_time_was_up(scheduler: Scheduler) -> None:
    submit(scheduler, retry_policy=AT_ONCE)
    started = in_thread(scheduler)
    assert started.lease is not None
    scheduler.threads.outlive([started.lease.lease_id])
    finish(scheduler, started, RunStatus.FAILED, timed_out=True, error="timed out")
    assert claim(scheduler) == []
    thread_ends(scheduler, started)
    assert claim(scheduler)[0].number == 2


def test_why_and_the_job_name_the_attempt_that_still_runs(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    first = submit(scheduler, retry_policy=AT_ONCE)
    started = in_thread(scheduler)
    expire(scheduler, clock)
    register(scheduler)
    asked = scheduler.store.read(lambda tx: status.why(scheduler, tx, 2))
    gates = {row.gate: row for row in asked.gates if row.state is GateState.CLOSED}
    assert list(gates) == [Gate.WORKER]
    assert gates[Gate.WORKER].detail == (
        f"an earlier attempt still runs in a thread: job {first.job_id}"
    )
    assert [one.id for one in gates[Gate.WORKER].blockers] == [first.job_id]
    shown = scheduler.store.read(lambda tx: status.view(scheduler, tx, 2))
    assert shown.wait_reason is not None
    assert shown.wait_reason.detail == gates[Gate.WORKER].detail
    thread_ends(scheduler, started)
    asked = scheduler.store.read(lambda tx: status.why(scheduler, tx, 2))
    assert all(row.state is GateState.OPEN for row in asked.gates)


def test_a_rewound_job_waits_too(scheduler: Scheduler, clock: MovableClock) -> None:
    submit(scheduler, retry_policy={"max_attempts": 0})
    started = in_thread(scheduler)
    expire(scheduler, clock)
    scheduler.store.write(lambda tx: rewind.rewind(scheduler, tx, "1"))
    assert claim(scheduler) == []
    thread_ends(scheduler, started)
    assert claim(scheduler)[0].number == 1


def test_the_end_of_a_late_thread_is_told_once(scheduler: Scheduler, clock: MovableClock) -> None:
    told: list[bool] = []
    scheduler.threads.when_one_ends = lambda: told.append(True)
    submit(scheduler, retry_policy=AT_ONCE)
    started = in_thread(scheduler)
    expire(scheduler, clock)
    assert scheduler.threads.late() == [1]
    thread_ends(scheduler, started)
    thread_ends(scheduler, started)
    assert (told, scheduler.threads.late()) == ([True], [])


@pytest.mark.parametrize("late", [True, False])
def test_a_run_that_is_in_no_thread_here_keeps_nothing_waiting(
    scheduler: Scheduler, clock: MovableClock, late: bool
) -> None:
    submit(scheduler, retry_policy=AT_ONCE)
    (started,) = claim(scheduler)
    assert started.lease is not None
    if late:
        scheduler.threads.outlive([started.lease.lease_id])
    expire(scheduler, clock)
    assert claim(scheduler)[0].number == 2
