"""What the scheduler relies on, in short, on each database. Its own tests say the rest."""

from typing import Any

import pytest
from tests.helpers import MovableClock, claim, event_kinds, finish, in_queue, job, submit

from headway.domain import errors
from headway.domain.requests.job_requests import BatchJobRequest
from headway.domain.runs import RunStatus
from headway.domain.states import JobStatus
from headway.scheduler.change import move
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import submit as submitting
from headway.scheduler.upkeep import timekeeper
from headway.storage import events


def test_jobs_are_claimed_by_priority_then_in_the_order_they_came(scheduler: Scheduler) -> None:
    numbers = [submit(scheduler, priority=priority).number for priority in (0, 5, 0, 9, 5)]
    order = [numbers[place] for place in (3, 1, 4, 0, 2)]
    assert [one.number for one in claim(scheduler, 2)] == order[:2]
    assert [one.number for one in claim(scheduler, 10)] == order[2:]
    assert claim(scheduler, 10) == []


def test_the_lanes_of_different_types_are_merged_in_order(scheduler: Scheduler) -> None:
    submitted = [submit(scheduler, kind).number for kind in ("a", "b", "a", "c", "b")]
    assert [one.number for one in claim(scheduler, 10)] == submitted


def test_a_limit_is_never_exceeded(scheduler: Scheduler) -> None:
    scheduler.store.write(lambda tx: tx.do("put_limit", name="gpu", size=2, rate=None))
    for _ in range(5):
        submit(scheduler, limits={"gpu": 1})
    first = claim(scheduler, 10)
    assert len(first) == 2
    assert claim(scheduler, 10) == []
    finish(scheduler, first[0])
    assert len(claim(scheduler, 10)) == 1


def test_a_rate_is_counted(scheduler: Scheduler, clock: MovableClock) -> None:
    scheduler.store.write(lambda tx: tx.do("put_limit", name="api", size=None, rate="2/1m"))
    for _ in range(3):
        submit(scheduler, limits={"api": 1})
    assert len(claim(scheduler, 10)) == 2
    assert claim(scheduler, 10) == []
    clock.move(61)
    assert len(claim(scheduler, 10)) == 1


def test_an_exclusive_lock_has_one_holder_at_a_time(scheduler: Scheduler) -> None:
    jobs = [submit(scheduler, locks=["gpu"]) for _ in range(2)]
    (held,) = claim(scheduler, 10)
    assert job(scheduler, jobs[1].number).status is JobStatus.WAITING_ON_LOCKS
    finish(scheduler, held)
    assert [one.number for one in claim(scheduler, 10)] == [jobs[1].number]


def test_a_job_runs_after_those_it_comes_after(scheduler: Scheduler) -> None:
    first, second = submit(scheduler), submit(scheduler)
    last = submit(scheduler, after=[first.job_id, second.job_id])
    started = claim(scheduler, 10)
    assert [one.number for one in started] == [first.number, second.number]
    finish(scheduler, started[0])
    assert claim(scheduler) == []
    finish(scheduler, started[1])
    assert [one.number for one in claim(scheduler)] == [last.number]


def test_a_failed_job_is_tried_again_and_its_dependents_wait(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    first = submit(scheduler, retry_policy={"max_attempts": 3, "base_delay_s": 60})
    second = submit(scheduler, after=[first.job_id])
    finish(scheduler, claim(scheduler), RunStatus.FAILED, error="broken")
    retry = job(scheduler, second.number + 1)
    assert (retry.retry_of, retry.attempt) == (first.job_id, 1)
    assert job(scheduler, second.number).status is JobStatus.WAITING_ON_DEPS
    clock.move(60)
    timekeeper.run_due(scheduler, clock.now())
    finish(scheduler, claim(scheduler))
    assert [one.number for one in claim(scheduler)] == [second.number]


def test_jobs_that_fail_at_once_are_tried_again_in_the_order_they_had(
    scheduler: Scheduler,
) -> None:
    first, second, third = (submit(scheduler) for _ in range(3))
    urgent = submit(scheduler, priority="HIGH")
    scheduler.store.write(lambda tx: move.move(scheduler, tx, third.number, before=first.number))
    finish(scheduler, claim(scheduler, 4)[::-1], RunStatus.FAILED)
    tried = [job(scheduler, number).retry_of for number in range(5, 9)]
    assert tried == [one.job_id for one in (urgent, third, first, second)]


def test_a_retry_goes_to_the_tail_of_its_priority(scheduler: Scheduler) -> None:
    failing, waiting = submit(scheduler), submit(scheduler)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    retry = job(scheduler, failing.number).retried_by
    assert in_queue(scheduler.store)[0][0] == waiting.number
    assert job(scheduler, str(retry)).position > job(scheduler, waiting.number).position


def test_a_lease_is_consumed_once(scheduler: Scheduler) -> None:
    submit(scheduler)
    started = claim(scheduler)
    (first,) = finish(scheduler, started)
    (same,) = finish(scheduler, started)
    (other,) = finish(scheduler, started, RunStatus.FAILED, error="too late")
    assert first.status is same.status is JobStatus.SUCCEEDED
    assert isinstance(other.error, errors.LeaseEnded)
    assert job(scheduler, started[0].number).status is JobStatus.SUCCEEDED


def test_a_job_whose_run_was_lost_ends_with_its_lease(scheduler: Scheduler) -> None:
    submit(scheduler)
    (held,) = claim(scheduler)
    scheduler.store.write(lambda tx: tx.select("DELETE FROM runs RETURNING 1 AS one", {}))
    finish(scheduler, held)
    assert job(scheduler, held.number).status is JobStatus.SUCCEEDED


def test_the_same_request_makes_one_job(scheduler: Scheduler) -> None:
    first = submit(scheduler, idempotency_key="k", params={"a": 1})
    assert submit(scheduler, idempotency_key="k", params={"a": 1}).number == first.number
    with pytest.raises(errors.IdempotencyMismatch):
        submit(scheduler, idempotency_key="k", params={"a": 2})


def test_a_unique_key_belongs_to_one_active_job(scheduler: Scheduler) -> None:
    first = submit(scheduler, unique_key="k")
    assert submit(scheduler, unique_key="k").number == first.number
    finish(scheduler, claim(scheduler))
    assert submit(scheduler, unique_key="k").number != first.number


def test_a_unique_key_stays_with_the_retry(scheduler: Scheduler) -> None:
    first = submit(scheduler, unique_key="k")
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    assert submit(scheduler, unique_key="k").job_id == job(scheduler, first.number).retried_by


def test_a_batch_is_submitted_as_a_whole_or_not_at_all(scheduler: Scheduler) -> None:
    batch = [
        BatchJobRequest(job_type="work", ref="a"),
        BatchJobRequest(job_type="work", after=("ref:nobody",)),
    ]
    with pytest.raises(errors.UnknownReference):
        scheduler.store.write(lambda tx: submitting.submit_all(scheduler, tx, batch))
    made = submit(scheduler)
    assert [number for number, _ in in_queue(scheduler.store)] == [made.number]
    assert event_kinds(scheduler) == ["job.submitted"]


def test_a_thousand_jobs_are_submitted_claimed_and_finished_at_once(scheduler: Scheduler) -> None:
    batch = [BatchJobRequest(job_type="work", params={"n": n}) for n in range(1000)]
    scheduler.store.write(lambda tx: submitting.submit_all(scheduler, tx, batch))
    scheduler.store.write(lambda tx: tx.do("put_limit", name="capacity", size=2000, rate=None))
    started = claim(scheduler, 1000)
    assert [one.params for one in started] == [f'{{"n":{n}}}' for n in range(1000)]
    answers = finish(scheduler, started)
    assert {one.status for one in answers} == {JobStatus.SUCCEEDED}


def test_events_are_numbered_in_the_order_in_which_they_happened(scheduler: Scheduler) -> None:
    submit(scheduler)
    finish(scheduler, claim(scheduler))
    found = scheduler.store.read(lambda tx: events.after(tx, 0, 100))
    assert [event.seq for event in found] == sorted({event.seq for event in found})
    assert [event.kind for event in found] == ["job.submitted", "job.started", "job.finished"]


@pytest.mark.parametrize(
    "text",
    ["", "ä €  \u2028 𝄞", "100 % of %s and %(name)s", "'; -- :name ::x", '"\\ \\u0000'],
)
def test_any_text_is_kept_in_params(scheduler: Scheduler, text: str) -> None:
    number = submit(scheduler, params={text: [text]}).number
    assert job(scheduler, number).params == {text: [text]}


def test_a_strange_name_is_simply_not_found(scheduler: Scheduler) -> None:
    for name in ("\0", "%s", "'", "\\u0000"):
        with pytest.raises(errors.NotFound):
            job(scheduler, name)


def test_an_error_with_any_character_is_recorded(scheduler: Scheduler) -> None:
    number = submit(scheduler).number
    finish(scheduler, claim(scheduler), RunStatus.FAILED, error="it said \0 and \\u0000")
    assert job(scheduler, number).status is JobStatus.FAILED


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"params": {"a": 1}, "tags": ["x"], "priority": 5, "timeout_s": 3},
        {"delay_s": 60, "requires": ["gpu"], "limits": {"capacity": 2}, "cost_units": 4},
        {"locks": ["gpu"], "unique_key": "u", "dedup_key": "d", "dedup_window_s": 9},
        {"approval": True, "idempotency_key": "i", "webhook_url": "http://localhost/"},
        {"after": [1], "needs": ["file:nowhere"], "missing_producer": "wait"},
    ],
)
def test_a_new_job_is_answered_as_it_is_read_later(
    scheduler: Scheduler, fields: dict[str, Any]
) -> None:
    submit(scheduler)
    new = submit(scheduler, **fields)
    assert new == job(scheduler, new.number)
