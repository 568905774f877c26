"""The lease: claimed in one step or two, renewed, lost, and never taken by another."""

from functools import partial

import pytest
from tests.helpers import WORKER, MovableClock, ask_lease, claim, finish, job, submit
from tests.scheduler.asking import damage, register

from headway.domain import errors
from headway.domain.runs import Outcome, RunStatus
from headway.domain.states import JobStatus
from headway.protocol.work_shapes import HeartbeatItem
from headway.protocol.work_values import BeatAnswer, Denied, Granted, Report, Started
from headway.scheduler.finish import finish as finishing
from headway.scheduler.lease import leases
from headway.scheduler.manage import limits
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import recovery, timekeeper
from headway.storage import events


def tick(scheduler: Scheduler) -> None:
    timekeeper.run_due(scheduler, scheduler.clock.now())


def beat(scheduler: Scheduler, started: Started, worker_id: str = WORKER) -> BeatAnswer:
    assert started.lease is not None
    beats = [HeartbeatItem(lease_id=started.lease.lease_id, progress=0.5, message="half")]
    return scheduler.store.write(lambda tx: leases.heartbeat(scheduler, tx, worker_id, beats))[0]


def test_two_steps_lead_to_a_running_job(scheduler: Scheduler) -> None:
    submit(scheduler)
    (claimed,) = claim(scheduler, lease=False)
    assert claimed.lease is None
    assert job(scheduler, 1).status is JobStatus.CLAIMED
    scheduler.store.write(lambda tx: leases.prepare(scheduler, tx, "1", WORKER))
    assert job(scheduler, 1).status is JobStatus.PREPARING
    assert isinstance(ask_lease(scheduler, 1), Granted)
    assert job(scheduler, 1).status is JobStatus.RUNNING


def test_a_denied_worker_is_told_when_to_come_back(scheduler: Scheduler) -> None:
    register(scheduler)
    scheduler.store.write(lambda tx: limits.put(scheduler, tx, "capacity", size=1, rate=None))
    submit(scheduler)
    submit(scheduler)
    (running,) = claim(scheduler)
    claim(scheduler, lease=False)
    waits = []
    for _ in range(5):
        answer = ask_lease(scheduler, 2)
        assert isinstance(answer, Denied)
        assert answer.reason == "capacity: used 1 + 1 > 1"
        waits.append(answer.retry_after_ms)
    assert waits[-1] > waits[0]
    pending = job(scheduler, 2)
    assert pending.status is JobStatus.LEASE_PENDING
    assert pending.waited_on == ("limits",)
    assert pending.wait_reason is not None
    assert pending.wait_reason.kind == "limits"
    finish(scheduler, running)
    assert isinstance(ask_lease(scheduler, 2), Granted)


def test_a_claim_that_leads_to_nothing_goes_back_to_its_place(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler)
    submit(scheduler)
    claim(scheduler, lease=False)
    clock.move(61)
    tick(scheduler)
    assert job(scheduler, 1).status is JobStatus.QUEUED
    told = scheduler.store.read(lambda tx: events.after(tx, 0, 100))
    (expired,) = [one for one in told if one.kind == "job.claim_expired"]
    assert (expired.number, expired.data) == (1, {"worker_id": WORKER})
    assert [one.number for one in claim(scheduler, 2)] == [1, 2]


def test_another_worker_cannot_use_a_claim(scheduler: Scheduler) -> None:
    submit(scheduler)
    claim(scheduler, lease=False)
    with pytest.raises(errors.NotClaimed, match="worker stranger has no claim"):
        ask_lease(scheduler, 1, "stranger")


def test_heartbeats_keep_a_lease_alive_and_carry_progress(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler)
    (started,) = claim(scheduler)
    for _ in range(5):
        clock.move(20)
        assert beat(scheduler, started).error is None
        tick(scheduler)
    shown = job(scheduler, 1)
    assert shown.status is JobStatus.RUNNING
    assert shown.progress is not None
    assert (shown.progress.fraction, shown.progress.message) == (0.5, "half")


def test_a_heartbeat_without_news_keeps_what_was_said(scheduler: Scheduler) -> None:
    submit(scheduler)
    (started,) = claim(scheduler)
    beat(scheduler, started)
    assert started.lease is not None
    silent = [HeartbeatItem(lease_id=started.lease.lease_id)]
    scheduler.store.write(lambda tx: leases.heartbeat(scheduler, tx, WORKER, silent))
    progress = job(scheduler, 1).progress
    assert progress is not None
    assert (progress.fraction, progress.message) == (0.5, "half")


def test_a_silent_worker_loses_its_lease_and_the_job_is_tried_again(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler)
    (started,) = claim(scheduler)
    clock.move(31)
    tick(scheduler)
    assert job(scheduler, 1).status is JobStatus.TIMEOUT
    assert job(scheduler, 2).retry_of == job(scheduler, 1).job_id
    assert isinstance(beat(scheduler, started).error, errors.LeaseEnded)
    (late,) = finish(scheduler, started)
    assert isinstance(late.error, errors.LeaseEnded)
    assert job(scheduler, 1).status is JobStatus.TIMEOUT


def test_a_lease_whose_job_is_gone_keeps_no_other_lease_from_expiring(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler)
    submit(scheduler)
    claim(scheduler, 2)
    damage(scheduler, "DELETE FROM jobs WHERE number = 1")
    clock.move(31)
    tick(scheduler)
    assert job(scheduler, 2).status is JobStatus.TIMEOUT


def test_a_heartbeat_never_goes_past_the_time_out(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, timeout_s=40, retry_policy={"max_attempts": 0})
    (started,) = claim(scheduler)
    clock.move(25)
    answer = beat(scheduler, started)
    assert answer.expires_at is not None
    assert (answer.expires_at - clock.now()).total_seconds() == 15
    clock.move(15)
    tick(scheduler)
    ended = job(scheduler, 1)
    assert ended.status is JobStatus.TIMEOUT
    assert ended.permanently_failed


def test_the_same_report_twice_gets_the_same_answer(scheduler: Scheduler) -> None:
    submit(scheduler)
    (started,) = claim(scheduler)
    (first,) = finish(scheduler, started, result={"a": 1})
    (again,) = finish(scheduler, started, result={"a": 1})
    (other,) = finish(scheduler, started, RunStatus.FAILED)
    assert first.status is again.status is JobStatus.SUCCEEDED
    assert isinstance(other.error, errors.LeaseEnded)
    assert job(scheduler, 1).status is JobStatus.SUCCEEDED


def test_a_stranger_can_neither_renew_nor_end_a_lease(scheduler: Scheduler) -> None:
    submit(scheduler)
    (started,) = claim(scheduler)
    assert isinstance(beat(scheduler, started, "stranger").error, errors.ForeignLease)
    assert started.lease is not None
    report = Report(lease_id=started.lease.lease_id, outcome=Outcome(status=RunStatus.FAILED))
    (answer,) = scheduler.store.write(
        lambda tx: finishing.finish(scheduler, tx, "stranger", [report])
    )
    assert isinstance(answer.error, errors.ForeignLease)
    assert job(scheduler, 1).status is JobStatus.RUNNING


def test_an_unknown_lease_is_not_found(scheduler: Scheduler) -> None:
    beats = [HeartbeatItem(lease_id="01940000-0000-7000-8000-000000000000")]
    answers = scheduler.store.write(lambda tx: leases.heartbeat(scheduler, tx, WORKER, beats))
    assert isinstance(answers[0].error, errors.NotFound)


def test_a_restart_gives_time_to_come_back_but_none_past_the_time_out(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler)
    submit(scheduler, timeout_s=40)
    free, bounded = claim(scheduler, 2)
    clock.move(25)
    recovery.recover(scheduler, lambda row: True, lambda run_ids: None)
    for started, left_s in ((free, 30), (bounded, 15)):
        assert started.lease is not None
        lease = scheduler.store.read(partial(leases.view, lease_id=started.lease.lease_id))
        assert (lease.expires_at - clock.now()).total_seconds() == left_s


def test_what_a_worker_calls_off_is_cancelled_and_not_tried_again(scheduler: Scheduler) -> None:
    submit(scheduler)
    submit(scheduler, after=[1])
    (answer,) = finish(scheduler, claim(scheduler), RunStatus.FAILED, cancelled=True)
    assert answer.status is JobStatus.CANCELLED
    ended = job(scheduler, 1)
    assert (ended.status, ended.retry_state) == (JobStatus.CANCELLED, "none")
    assert job(scheduler, 2).status is JobStatus.BLOCKED_BY_DEPENDENCY
    assert claim(scheduler) == []


def test_a_heartbeat_that_was_held_up_takes_no_time_from_a_later_one(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler)
    (started,) = claim(scheduler)
    clock.move(20)
    renewed = beat(scheduler, started).expires_at
    clock.move(-15)
    beat(scheduler, started)
    clock.move(15)
    assert started.lease is not None
    lease_id = started.lease.lease_id
    assert scheduler.store.read(lambda tx: leases.view(tx, lease_id)).expires_at == renewed
