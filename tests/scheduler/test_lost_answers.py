"""Answers that never reached their worker: what it learns when it asks again."""

from collections.abc import Collection

from tests.helpers import WORKER, MovableClock, ask_lease, claim, finish, job, submit

from headway.domain.states import JobStatus
from headway.domain.workers import Abilities
from headway.protocol.work_values import Granted, Started
from headway.scheduler.claim import claims
from headway.scheduler.claim.dispatch import ClaimRequest
from headway.scheduler.lease import expire
from headway.scheduler.scheduler import Scheduler


def claim_again(
    scheduler: Scheduler, holds: Collection[str], n: int = 1, worker_id: str = WORKER
) -> list[Started]:
    request = ClaimRequest(worker_id=worker_id, abilities=Abilities(), max_jobs=n)
    return scheduler.store.write(lambda tx: claims.claim(scheduler, tx, request, holds))


def lease_id(started: Started) -> str:
    assert started.lease is not None
    return started.lease.lease_id


def test_a_lease_whose_answer_was_lost_is_handed_out_again(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, params={"a": 1}, timeout_s=100)
    (lost,) = claim(scheduler)
    clock.move(20)
    (again,) = claim_again(scheduler, holds=[])
    assert (lease_id(again), again.params, again.timeout_s) == (lease_id(lost), lost.params, 100)
    assert again.lease is not None
    assert (again.lease.expires_at - clock.now()).total_seconds() == 30
    finish(scheduler, again)
    assert job(scheduler, 1).status is JobStatus.SUCCEEDED


def test_what_the_worker_knows_of_is_not_handed_out_again(scheduler: Scheduler) -> None:
    for _ in range(3):
        submit(scheduler)
    known, lost = claim(scheduler, 2)
    again = claim_again(scheduler, holds=[lease_id(known)], n=3)
    assert [one.number for one in again] == [lost.number, 3]
    everything = [lease_id(known), *map(lease_id, again)]
    assert claim_again(scheduler, holds=everything) == []


def test_a_lost_lease_stays_with_its_worker(scheduler: Scheduler) -> None:
    submit(scheduler)
    claim(scheduler)
    assert claim_again(scheduler, holds=[], worker_id="another") == []


def test_a_lost_lease_that_has_expired_is_gone(scheduler: Scheduler, clock: MovableClock) -> None:
    submit(scheduler, retry_policy={"max_attempts": 0})
    claim(scheduler)
    clock.move(31)
    scheduler.store.write(lambda tx: expire.expire_leases(scheduler, tx))
    assert claim_again(scheduler, holds=[]) == []


def test_no_more_than_asked_for_is_handed_out_again(scheduler: Scheduler) -> None:
    for _ in range(3):
        submit(scheduler)
    claim(scheduler, 3)
    assert len(claim_again(scheduler, holds=[], n=2)) == 2


def test_a_lease_that_is_asked_for_twice_is_the_same(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler)
    claim(scheduler, lease=False)
    first = ask_lease(scheduler, 1)
    clock.move(20)
    second = ask_lease(scheduler, 1)
    assert isinstance(first, Granted)
    assert isinstance(second, Granted)
    assert first.lease.lease_id == second.lease.lease_id
    assert (second.lease.expires_at - clock.now()).total_seconds() == 30


def test_claims_that_the_worker_does_not_know_of_go_back(scheduler: Scheduler) -> None:
    kept = submit(scheduler, "a")
    submit(scheduler, "b")
    claim(scheduler, 2, lease=False)
    (started,) = claim_again(scheduler, holds=[kept.job_id])
    assert started.number == 2
    assert job(scheduler, 1).status is JobStatus.CLAIMED


def test_a_lease_for_a_job_that_the_worker_is_asking_for_is_left_alone(
    scheduler: Scheduler,
) -> None:
    made = submit(scheduler)
    claim(scheduler, lease=False)
    ask_lease(scheduler, 1)
    assert claim_again(scheduler, holds=[made.job_id]) == []


def test_a_worker_that_leaves_gives_its_claims_back(scheduler: Scheduler) -> None:
    submit(scheduler)
    claim(scheduler, lease=False)
    scheduler.store.write(lambda tx: claims.leave(scheduler, tx, WORKER))
    assert job(scheduler, 1).status is JobStatus.QUEUED
