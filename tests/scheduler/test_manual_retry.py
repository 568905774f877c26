"""Trying a failed run again by hand."""

from typing import Any

import pytest
from tests.helpers import (
    MovableClock,
    ask,
    ask_lease,
    claim,
    event_kinds,
    finish,
    job,
    run_next,
    submit,
)

from headway.domain import errors, events
from headway.domain.jobs import Job, RetryPolicy, RetryState, WaitReason
from headway.domain.manage.groups import GroupStatus, OnFailure
from headway.domain.requests.group_requests import GroupRequest
from headway.domain.requests.job_requests import BatchJobRequest, JobPatch
from headway.domain.runs import RunStatus
from headway.domain.states import JobStatus
from headway.operations import runs as operations
from headway.protocol.runs import RetryBody, RunQuery
from headway.scheduler.change import approvals, edit, rewind
from headway.scheduler.manage import groups, webhooks
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import retention, timekeeper, verify
from headway.storage.manage import groups as kept
from headway.storage.manage.webhooks import deliveries

FAILED = RunStatus.FAILED
NO_RETRY, ONE_RETRY = {"max_attempts": 0}, {"max_attempts": 1}


def failed_job(scheduler: Scheduler, **fields: Any) -> Job:
    submit(scheduler, **{"retry_policy": NO_RETRY, **fields})
    return run_next(scheduler, FAILED, error="boom")


def retry(scheduler: Scheduler, failed: Job, **body: Any) -> Job:
    made: Job = ask(operations.retry_run, scheduler, body=RetryBody(**body), id=str(failed.run_id))
    return made


def test_a_failed_run_is_tried_again_as_a_new_job_of_its_chain(scheduler: Scheduler) -> None:
    failed = failed_job(scheduler, params={"x": 1})
    made = retry(scheduler, failed, priority="URGENT")
    assert (made.retry_of, made.chain_id) == (failed.job_id, failed.job_id)
    assert (made.attempt, made.priority, made.params) == (1, 20, {"x": 1})
    assert made.status is JobStatus.QUEUED
    assert made.scheduled_for is None
    assert job(scheduler, failed.number).retry_state is RetryState.EXHAUSTED
    assert run_next(scheduler).number == made.number


def test_it_keeps_the_priority_of_the_job_whose_run_it_was(scheduler: Scheduler) -> None:
    failed = failed_job(scheduler, priority="HIGH")
    retry(scheduler, failed, priority="LOW")
    run_next(scheduler, FAILED, error="boom")
    assert retry(scheduler, failed).priority == 10


def test_a_run_that_did_not_fail_is_refused_with_the_reason(scheduler: Scheduler) -> None:
    submit(scheduler)
    (running,) = claim(scheduler)
    with pytest.raises(errors.RunNotFailed, match="going on"):
        retry(scheduler, job(scheduler, running.number))
    finish(scheduler, running)
    with pytest.raises(errors.RunNotFailed, match="COMPLETED"):
        retry(scheduler, job(scheduler, running.number))
    with pytest.raises(errors.NotFound):
        ask(operations.retry_run, scheduler, body=RetryBody(), id="nobody")


def test_a_chain_is_not_retried_beside_a_link_that_is_claimed(scheduler: Scheduler) -> None:
    failed = failed_job(scheduler)
    made = retry(scheduler, failed)
    claim(scheduler, lease=False)
    with pytest.raises(errors.Conflict, match=f"job {made.job_id} .* CLAIMED"):
        retry(scheduler, failed)
    ask_lease(scheduler, made.number)
    with pytest.raises(errors.Conflict, match=f"job {made.job_id} .* RUNNING"):
        retry(scheduler, failed)


def test_a_retry_by_hand_takes_the_place_of_the_one_that_waits(scheduler: Scheduler) -> None:
    failed = failed_job(scheduler, retry_policy=ONE_RETRY, unique_key="k", params={"x": 1})
    made = retry(scheduler, failed, priority="HIGH")
    replaced = job(scheduler, made.number - 1)
    assert (replaced.status, replaced.attempt) == (JobStatus.CANCELLED, 1)
    assert replaced.wait_reason == WaitReason(kind="retry", detail="retried by hand")
    assert (made.status, made.scheduled_for, made.priority) == (JobStatus.QUEUED, None, 10)
    assert (made.attempt, made.retry_of) == (1, failed.job_id)
    assert submit(scheduler, unique_key="k").job_id == made.job_id
    assert run_next(scheduler, FAILED).retry_state is RetryState.EXHAUSTED
    assert verify.verify(scheduler) == []


def test_dependents_of_a_retried_chain_see_no_end_of_it(scheduler: Scheduler) -> None:
    url, every = "http://127.0.0.1:9/hook", ["job.blocked", "job.cancelled"]
    scheduler.store.write(lambda tx: webhooks.register(scheduler, tx, url, every))
    failed = failed_job(scheduler, retry_policy=ONE_RETRY, produces=["custom:model:m"])
    behind = submit(scheduler, after=[failed.number])
    hopeless = submit(scheduler, after=[{"job": failed.number, "policy": "failure"}])
    consumer = submit(scheduler, needs=["custom:model:m"])
    made = retry(scheduler, failed)
    for one in (behind, hopeless, consumer):
        assert job(scheduler, one.number).status is JobStatus.WAITING_ON_DEPS
    assert _told(scheduler) == [("job.cancelled", failed.number + 1)]
    assert run_next(scheduler).number == made.number
    assert job(scheduler, behind.number).status is JobStatus.QUEUED
    assert job(scheduler, consumer.number).status is JobStatus.QUEUED
    assert job(scheduler, hopeless.number).status is JobStatus.BLOCKED_BY_DEPENDENCY


def _told(scheduler: Scheduler) -> list[tuple[str, int]]:
    found = scheduler.store.read(
        lambda tx: deliveries(tx, status=None, job_id=None, before=None, count=100)
    )
    return [(one.event, job(scheduler, one.job_id).number) for one in found]


@pytest.mark.parametrize("on_failure", OnFailure)
def test_a_group_is_not_decided_by_a_retry_that_made_way(
    scheduler: Scheduler, on_failure: OnFailure
) -> None:
    once = RetryPolicy(max_attempts=1)
    members = [BatchJobRequest(job_type=one, retry_policy=once) for one in "ab"]
    group = scheduler.store.write(
        lambda tx: groups.create(scheduler, tx, GroupRequest(jobs=members, on_failure=on_failure))
    )
    made = retry(scheduler, run_next(scheduler, FAILED))
    assert _group_status(scheduler, group.group_id) is GroupStatus.QUEUED
    assert run_next(scheduler).number == made.number
    assert run_next(scheduler).job_type == "b"
    assert _group_status(scheduler, group.group_id) is GroupStatus.COMPLETED
    assert event_kinds(scheduler).count(events.GROUP_ENDED) == 1


def test_a_retry_that_waits_for_a_lock_leaves_the_line(scheduler: Scheduler) -> None:
    failed = failed_job(scheduler, locks=["gpu"])
    submit(scheduler, locks=["gpu"])
    (holder,) = claim(scheduler)
    waiting = retry(scheduler, failed)
    assert waiting.status is JobStatus.WAITING_ON_LOCKS
    made = retry(scheduler, failed)
    assert made.status is JobStatus.WAITING_ON_LOCKS
    assert verify.verify(scheduler) == []
    finish(scheduler, holder)
    assert run_next(scheduler).number == made.number


def test_its_own_failure_follows_the_chains_count(scheduler: Scheduler) -> None:
    failed = failed_job(scheduler)
    for attempt in (1, 2):
        made = retry(scheduler, failed)
        assert made.attempt == attempt
        again = run_next(scheduler, FAILED)
        assert again.retry_state is RetryState.EXHAUSTED
        assert claim(scheduler) == []


def test_a_run_from_before_a_rewind_is_tried_again_in_the_chain_as_it_is_now(
    scheduler: Scheduler,
) -> None:
    root = failed_job(scheduler, params={"x": 1})
    retry(scheduler, root)
    history = run_next(scheduler, FAILED)
    scheduler.store.write(lambda tx: rewind.rewind(scheduler, tx, root.number))
    (again,) = claim(scheduler)
    with pytest.raises(errors.Conflict, match=f"job {root.job_id} "):
        retry(scheduler, history)
    finish(scheduler, again, FAILED)
    made = retry(scheduler, history)
    assert (made.retry_of, made.chain_id) == (history.job_id, root.job_id)
    assert (made.attempt, made.params) == (1, {"x": 1})


def test_a_rewound_job_that_waits_makes_way_for_a_run_from_before(scheduler: Scheduler) -> None:
    root = failed_job(scheduler)
    scheduler.store.write(lambda tx: rewind.rewind(scheduler, tx, root.number))
    made = retry(scheduler, root)
    assert (made.generation, made.attempt, made.chain_id) == (2, 0, root.job_id)
    assert job(scheduler, root.number).status is JobStatus.CANCELLED
    assert run_next(scheduler).number == made.number
    assert claim(scheduler) == []
    assert verify.verify(scheduler) == []


def test_the_params_are_those_of_the_run(scheduler: Scheduler) -> None:
    first = failed_job(scheduler, params={"x": 1})
    run_id = str(first.run_id)
    made = ask(operations.retry_run, scheduler, body=RetryBody(), id=run_id)
    assert made.params == {"x": 1}
    run = ask(operations.get_run, scheduler, id=run_id)
    assert (run.params_snapshot, run.error) == ({"x": 1}, "boom")


def test_the_params_are_those_of_the_run_whatever_the_next_try_was_to_have(
    scheduler: Scheduler,
) -> None:
    first = submit(scheduler, params={"x": 1}, retry_policy={"max_attempts": 1})
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    patch = JobPatch(params={"x": 2})
    scheduler.store.write(lambda tx: edit.edit(scheduler, tx, 2, patch))
    run_id = str(job(scheduler, first.number).run_id)
    made = ask(operations.retry_run, scheduler, body=RetryBody(), id=run_id)
    assert made.params == {"x": 1}


def test_a_unique_key_that_is_in_use_by_now_stops_the_retry(scheduler: Scheduler) -> None:
    failed = failed_job(scheduler, unique_key="k")
    other = submit(scheduler, unique_key="k")
    with pytest.raises(errors.Conflict, match=f"job {other.number} "):
        retry(scheduler, failed)


def test_the_group_of_a_member_that_is_tried_again_is_open_again(scheduler: Scheduler) -> None:
    members = [BatchJobRequest(job_type="a", retry_policy=RetryPolicy(max_attempts=0))]
    group = scheduler.store.write(
        lambda tx: groups.create(scheduler, tx, GroupRequest(jobs=members))
    )
    failed = run_next(scheduler, FAILED)
    retry(scheduler, failed)
    assert _group_status(scheduler, group.group_id) is GroupStatus.QUEUED
    run_next(scheduler)
    assert _group_status(scheduler, group.group_id) is GroupStatus.COMPLETED


def _group_status(scheduler: Scheduler, group_id: str) -> GroupStatus:
    return scheduler.store.read(lambda tx: kept.find(tx, group_id)).status


def test_runs_are_listed_newest_first_and_filtered(scheduler: Scheduler) -> None:
    failed = failed_job(scheduler)
    submit(scheduler)
    run_next(scheduler)
    submit(scheduler)
    claim(scheduler)

    def listed(**query: Any) -> list[str]:
        asked = RunQuery(**query)
        return [run.run_id for run in ask(operations.list_runs, scheduler, query=asked).items]

    every = listed()
    assert every == sorted(every, reverse=True)
    assert len(every) == 3
    assert listed(status="failed") == [failed.run_id]
    assert listed(job_id=str(failed.number)) == [failed.run_id]
    assert listed(job_id=failed.job_id, status="completed") == []
    assert len(listed(status="running,completed")) == 2
    assert listed(job_id="999") == []
    with pytest.raises(errors.InvalidRequest):
        listed(status="odd")


def test_a_dependency_that_was_met_stays_met_although_the_job_is_gone(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    first = submit(scheduler)
    run_next(scheduler)
    clock.move(days=2)
    failed = failed_job(scheduler, after=[first.number])
    assert retention.collect(scheduler, 86400).jobs == 1
    made = retry(scheduler, failed)
    assert made.status is JobStatus.QUEUED
    assert run_next(scheduler).number == made.number
    assert verify.verify(scheduler) == []


def test_a_dependency_that_a_rewind_opened_again_is_judged_anew(scheduler: Scheduler) -> None:
    first = submit(scheduler, retry_policy=NO_RETRY)
    run_next(scheduler)
    failed = failed_job(scheduler, after=[first.number])
    scheduler.store.write(lambda tx: rewind.rewind(scheduler, tx, first.number, force=True))
    run_next(scheduler, FAILED)
    made = retry(scheduler, failed)
    assert made.status is JobStatus.BLOCKED_BY_DEPENDENCY


def test_a_chain_that_succeeded_once_stays_so_when_a_later_retry_fails(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, retry_policy={"max_attempts": 1, "base_delay_s": 1})
    user = submit(scheduler, needs=["job:1"], approval=True)
    failed = run_next(scheduler, FAILED)
    clock.move(2)
    timekeeper.run_due(scheduler, clock.now())
    run_next(scheduler)
    retry(scheduler, failed)
    run_next(scheduler, FAILED)
    assert submit(scheduler, after=[failed.number]).status is JobStatus.QUEUED
    scheduler.store.write(lambda tx: approvals.approve(scheduler, tx, user.number, actor="me"))
    assert job(scheduler, user.number).status is JobStatus.QUEUED
