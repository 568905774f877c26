"""One job's trouble stays its own: nobody else is stopped or overtaken by it."""

import dataclasses
from typing import Any

import pytest
from tests.helpers import MovableClock, claim, event_kinds, finish, job, submit
from tests.scheduler.asking import submit_all

from headway.domain import artifacts
from headway.domain.jobs import RetryPolicy
from headway.domain.manage.groups import GroupMode
from headway.domain.requests.group_requests import GroupRequest
from headway.domain.requests.job_requests import BatchJobRequest, JobPatch
from headway.domain.runs import RunStatus
from headway.domain.states import JobStatus
from headway.protocol.work_values import Denied
from headway.scheduler.change import approvals, cancel, edit
from headway.scheduler.claim import pick
from headway.scheduler.lease import leases
from headway.scheduler.manage import groups, limits
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import submit as submitting
from headway.scheduler.upkeep import direct, timekeeper


def numbers(scheduler: Scheduler, count: int = 10) -> list[int]:
    return [one.number for one in claim(scheduler, count)]


def test_a_job_larger_than_a_limit_does_not_stop_the_queue(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, cost_units=200)
    assert numbers(scheduler) == []
    clock.move(301)
    submit(scheduler)
    assert numbers(scheduler) == [2]


def test_a_starved_job_that_was_cancelled_keeps_nothing_back(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, cost_units=60)
    running = claim(scheduler)
    submit(scheduler, cost_units=60)
    assert numbers(scheduler) == []
    clock.move(301)
    scheduler.store.write(lambda tx: cancel.cancel(scheduler, tx, 2))
    submit(scheduler, cost_units=40)
    assert numbers(scheduler) == [3]
    finish(scheduler, running)


def test_a_job_that_waits_for_its_rate_holds_no_other_limit(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    scheduler.store.write(lambda tx: limits.put(scheduler, tx, "type:mail", size=None, rate="1/h"))
    scheduler.store.write(lambda tx: limits.put(scheduler, tx, "global", size=1, rate=None))
    submit(scheduler, "mail")
    finish(scheduler, claim(scheduler))
    submit(scheduler, "mail")
    assert numbers(scheduler) == []
    clock.move(301)
    submit(scheduler, "story")
    assert numbers(scheduler) == [3]


def test_a_lock_that_the_first_in_line_cannot_use_goes_to_the_next(scheduler: Scheduler) -> None:
    submit(scheduler, locks=["a"])
    submit(scheduler, locks=["b"])
    holds_a, _ = claim(scheduler, 2)
    submit(scheduler, locks=["a", "b"])
    submit(scheduler, locks=["a"])
    finish(scheduler, holds_a)
    assert numbers(scheduler) == [4]


def test_a_lock_is_not_lost_with_a_job_that_is_put_off(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, locks=["a"])
    holder = claim(scheduler)
    submit(scheduler, locks=["a"])
    submit(scheduler, locks=["a"])
    finish(scheduler, holder)
    later = JobPatch(scheduled_for=clock.now().replace(year=2036))
    scheduler.store.write(lambda tx: edit.edit(scheduler, tx, 2, later))
    assert numbers(scheduler) == [3]


def test_a_kind_of_artifact_that_is_gone_stops_only_its_own_job(scheduler: Scheduler) -> None:
    known = dataclasses.replace(scheduler, kinds=artifacts.kinds(["bucket"]))
    submit(known, needs=["bucket:x"], missing_producer="wait")
    submit(scheduler)
    timekeeper.run_due(scheduler, scheduler.clock.now())
    assert numbers(scheduler) == [2]
    assert job(scheduler, 1).status is JobStatus.WAITING_ON_DEPS


def test_a_job_that_is_needed_itself_is_waited_for_through_its_retries(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler)
    submit(scheduler, needs=["job:1"])
    assert job(scheduler, 2).status is JobStatus.WAITING_ON_DEPS
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    assert job(scheduler, 2).status is JobStatus.WAITING_ON_DEPS
    clock.move(11)
    timekeeper.run_due(scheduler, clock.now())
    finish(scheduler, claim(scheduler))
    assert numbers(scheduler) == [2]


def test_a_producer_that_never_ran_takes_nothing_away(scheduler: Scheduler) -> None:
    submit(scheduler, produces=["custom:m:1"])
    finish(scheduler, claim(scheduler))
    submit(scheduler, produces=["custom:m:1"])
    submit(scheduler, needs=["custom:m:1"])
    scheduler.store.write(lambda tx: cancel.cancel(scheduler, tx, 2))
    assert numbers(scheduler) == [3]


def test_a_retry_of_an_approved_job_needs_no_second_word(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, approval=True)
    scheduler.store.write(lambda tx: approvals.approve(scheduler, tx, 1, actor="ann"))
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    clock.move(11)
    timekeeper.run_due(scheduler, clock.now())
    assert numbers(scheduler) == [2]


def test_a_claimed_job_waits_for_a_direct_request_too(scheduler: Scheduler) -> None:
    submit(scheduler)
    (claimed,) = claim(scheduler, lease=False)
    scheduler.store.write(lambda tx: direct.reserve(scheduler, tx, "somebody", None))
    worker_id = job(scheduler, 1).worker_id or ""
    answer = scheduler.store.write(
        lambda tx: leases.request(scheduler, tx, claimed.job_id, worker_id, None)
    )
    assert isinstance(answer, Denied)
    assert answer.reason == "the next slot is reserved by somebody"


def test_a_claimed_job_that_can_never_start_ends(scheduler: Scheduler) -> None:
    made = scheduler.workspace.root / "f"
    made.touch()
    submit(scheduler, needs=["file:f"])
    (claimed,) = claim(scheduler, lease=False)
    made.unlink()
    worker_id = job(scheduler, 1).worker_id or ""
    scheduler.store.write(lambda tx: leases.request(scheduler, tx, claimed.job_id, worker_id, None))
    assert job(scheduler, 1).status is JobStatus.BLOCKED_BY_DEPENDENCY


def test_two_groups_that_end_at_once_are_both_marked(scheduler: Scheduler) -> None:
    def member() -> BatchJobRequest:
        return BatchJobRequest(job_type="work", retry_policy=RetryPolicy(max_attempts=0))

    mode = GroupMode.PARALLEL
    stopped = GroupRequest(jobs=[member(), member()], mode=mode)
    single = GroupRequest(jobs=[member()], mode=mode)
    scheduler.store.write(lambda tx: groups.create(scheduler, tx, stopped))
    scheduler.store.write(lambda tx: groups.create(scheduler, tx, single))
    first, second, other = claim(scheduler, 3)
    finish(scheduler, [first, other], RunStatus.FAILED)
    finish(scheduler, second, RunStatus.FAILED)
    assert event_kinds(scheduler).count("group.ended") == 2


def test_a_batch_may_come_after_a_job_whose_retry_it_found(scheduler: Scheduler) -> None:
    submit(scheduler, unique_key="u")
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    wanted = [
        BatchJobRequest(job_type="work", ref="a", unique_key="u"),
        BatchJobRequest(job_type="work", after=("ref:a",)),
    ]
    made = scheduler.store.write(lambda tx: submitting.submit_all(scheduler, tx, wanted))
    assert made[0].deduplicated
    assert job(scheduler, made[1].number).status is JobStatus.WAITING_ON_DEPS


def test_a_starved_job_that_fits_starts_before_one_that_starved_less_and_does_not(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    scheduler.store.write(lambda tx: limits.put(scheduler, tx, "capacity", size=10, rate=None))
    submit(scheduler, "first", cost_units=5)
    running = claim(scheduler)
    submit(scheduler, "small", cost_units=6)
    submit(scheduler, "large", cost_units=10)
    assert numbers(scheduler) == []
    clock.move(301)
    finish(scheduler, running)
    submit(scheduler, "last", cost_units=4)
    assert numbers(scheduler) == [2]


def test_duplicates_are_skipped_some_at_a_time(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pick, "MOST_PASSED_OVER", 3)
    fields: dict[str, Any] = {"dedup_key": "k", "dedup_window_s": 60}
    submit(scheduler, **fields)
    finish(scheduler, claim(scheduler))
    submit_all(scheduler, *({"job_type": "work", **fields} for _ in range(5)))
    assert numbers(scheduler) == []
    assert [job(scheduler, number).status for number in (4, 5)] == ["SKIPPED", "QUEUED"]
    assert numbers(scheduler) == []
    assert job(scheduler, 6).status is JobStatus.SKIPPED
