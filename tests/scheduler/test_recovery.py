"""Recovery: one pass that mends what it can, page by page, and counts what it cannot."""

from collections.abc import Sequence
from typing import Any

import pytest
from tests.helpers import MovableClock, claim, finish, job, runs_of, submit
from tests.scheduler.asking import damage, submit_all

from headway.domain.requests.group_requests import GroupRequest
from headway.domain.requests.job_requests import BatchJobRequest
from headway.domain.runs import RunStatus
from headway.domain.states import JobStatus
from headway.domain.workers import Abilities
from headway.scheduler.explain import status
from headway.scheduler.manage import groups
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import recovery, timekeeper, verify
from headway.scheduler.upkeep.recovery import Recovered
from headway.storage.manage import workers

DEAD = "built-in"


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "BATCH", 2)


@pytest.fixture(autouse=True)
def dead_worker(scheduler: Scheduler) -> None:
    facts: dict[str, Any] = {"host": "here", "pid": 1, "process_started": "then", "slots": 9}
    scheduler.store.write(
        lambda tx: workers.see(tx, worker_id=DEAD, built_in=True, abilities=Abilities(), **facts)
    )


def recover(scheduler: Scheduler, refuse: str | None = None) -> Recovered:
    """One pass in which no worker lives, and one run's program may not let itself be ended."""

    def end_orphans(run_ids: Sequence[str]) -> None:
        if refuse in run_ids:
            raise RuntimeError("it does not end")

    return recovery.recover(scheduler, lambda row: False, end_orphans)


def test_everything_that_a_dead_worker_ran_is_tried_again(scheduler: Scheduler) -> None:
    submit_all(scheduler, *({} for _ in range(5)))
    claim(scheduler, 5, worker_id=DEAD)
    assert recover(scheduler) == Recovered(running_jobs_recovered=5)
    assert [job(scheduler, number).status for number in (1, 5)] == [JobStatus.FAILED] * 2
    assert job(scheduler, 10).retry_of == job(scheduler, 5).job_id
    assert recover(scheduler) == Recovered()
    assert verify.verify(scheduler) == []


def test_jobs_that_started_at_once_are_tried_again_in_their_order(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "BATCH", 100)
    submit_all(scheduler, *({} for _ in range(12)))
    claim(scheduler, 12, worker_id=DEAD)
    recover(scheduler)
    first = [job(scheduler, number).job_id for number in range(1, 13)]
    assert [job(scheduler, number).retry_of for number in range(13, 25)] == first


def test_one_job_that_cannot_be_recovered_is_counted_and_stops_no_other(
    scheduler: Scheduler,
) -> None:
    submit_all(scheduler, *({} for _ in range(5)))
    lease = claim(scheduler, 5, worker_id=DEAD)[2].lease
    assert lease is not None
    assert recover(scheduler, lease.lease_id) == Recovered(running_jobs_recovered=4, errors=1)
    shown = scheduler.store.read(lambda tx: status.status(scheduler, tx)).recovery
    assert shown is not None
    assert shown["errors"] == 1
    assert job(scheduler, 3).status is JobStatus.RUNNING
    assert recover(scheduler) == Recovered(running_jobs_recovered=1)


def test_failures_without_a_decision_are_retried_once_and_only_if_they_may_be(
    scheduler: Scheduler,
) -> None:
    for attempts in (3, 0, 3):
        submit(scheduler, retry_policy={"max_attempts": attempts})
    claim(scheduler, 3, worker_id=DEAD)
    recover(scheduler)
    scheduler.store.write(lambda tx: tx.do("set_retry_state", number=2, retry_state="none"))
    assert recover(scheduler) == Recovered(retries_created=0)
    assert job(scheduler, 2).permanently_failed


def test_a_failure_whose_retry_was_never_decided_gets_it_once(scheduler: Scheduler) -> None:
    failed = submit(scheduler, retry_policy={"max_attempts": 0})
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    damage(scheduler, "UPDATE jobs SET retry_state = 'none', terms = '{}'")
    assert recover(scheduler) == Recovered(retries_created=1)
    assert recover(scheduler) == Recovered()
    assert job(scheduler, 2).retry_of == failed.job_id


def test_a_running_job_without_a_run_gets_one_that_failed(scheduler: Scheduler) -> None:
    lost = submit(scheduler)
    claim(scheduler)
    damage(scheduler, "DELETE FROM leases")
    damage(scheduler, "DELETE FROM runs")
    assert recover(scheduler) == Recovered(running_jobs_recovered=1)
    (run,) = runs_of(scheduler, lost.number)
    assert (run.status, run.error) == (RunStatus.FAILED, recovery.CRASHED)
    assert verify.verify(scheduler) == []


def test_a_run_that_has_ended_decides_for_its_job(scheduler: Scheduler) -> None:
    done = submit(scheduler)
    claim(scheduler)
    damage(scheduler, "DELETE FROM leases")
    damage(scheduler, "UPDATE runs SET status = 'COMPLETED', finished_at = started_at")
    assert recover(scheduler) == Recovered(running_jobs_recovered=1)
    assert job(scheduler, done.number).status is JobStatus.SUCCEEDED
    assert verify.verify(scheduler) == []


def test_a_group_whose_members_have_ended_is_marked(scheduler: Scheduler) -> None:
    request = GroupRequest(jobs=[BatchJobRequest(job_type="work")])
    scheduler.store.write(lambda tx: groups.create(scheduler, tx, request))
    finish(scheduler, claim(scheduler))
    damage(scheduler, "UPDATE groups SET ended_at = NULL")
    assert recover(scheduler) == Recovered(groups_recovered=1)
    assert recover(scheduler) == Recovered()


@pytest.mark.parametrize("with_lease", [True, False])
def test_a_run_that_had_ended_decides_and_a_missing_one_is_recorded_as_failed(
    scheduler: Scheduler, with_lease: bool
) -> None:
    submit_all(scheduler, *({"retry_policy": {"max_attempts": 0}} for _ in range(3)))
    claim(scheduler, 3, worker_id=DEAD)
    damage(scheduler, "UPDATE runs SET status = 'COMPLETED', finished_at = 5 WHERE job_number = 1")
    damage(scheduler, "DELETE FROM runs WHERE job_number = 2")
    if not with_lease:
        damage(scheduler, "DELETE FROM leases")
    assert recover(scheduler) == Recovered(running_jobs_recovered=3)
    assert [job(scheduler, number).status for number in (1, 2, 3)] == [
        JobStatus.SUCCEEDED,
        JobStatus.FAILED,
        JobStatus.FAILED,
    ]
    for number in (2, 3):
        (run,) = runs_of(scheduler, number)
        assert (run.status, run.error) == (RunStatus.FAILED, recovery.CRASHED)
    assert recover(scheduler) == Recovered()
    assert verify.verify(scheduler) == []


def test_a_server_that_starts_after_the_clock_was_set_forward_waits_for_the_worker_of_another(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler)
    claim(scheduler, worker_id=DEAD)
    clock.move(97)
    recovery.recover(scheduler, lambda row: True, lambda run_ids: None)
    timekeeper.run_due(scheduler, clock.now())
    assert job(scheduler, 1).status is JobStatus.RUNNING
    clock.move(31)
    timekeeper.run_due(scheduler, clock.now())
    assert job(scheduler, 1).status is JobStatus.TIMEOUT
