"""Recovery: one pass that mends what it can, page by page, and counts what it cannot."""

from collections.abc import Sequence
from typing import Any

import pytest
from tests.helpers import claim, job, submit
from tests.scheduler.asking import submit_all

from headway.domain.states import JobStatus
from headway.domain.workers import Abilities
from headway.scheduler.explain import status
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import recovery, verify
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
