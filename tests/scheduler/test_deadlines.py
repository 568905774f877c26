"""Deadlines: a job that has not started in time ends CANCELLED."""

from datetime import timedelta
from typing import Any

import pytest
from tests.helpers import MovableClock, claim, finish, job, run_next, submit
from tests.scheduler.asking import submit_all, watch_queries

from headway.domain import errors, states
from headway.domain.jobs import WaitReason
from headway.domain.requests.job_requests import JobPatch
from headway.domain.runs import RunStatus
from headway.scheduler.change import edit, rewind
from headway.scheduler.explain import why
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import clock_steps, timekeeper, verify
from headway.scheduler.upkeep.clock_steps import Step


def round_at(scheduler: Scheduler, clock: MovableClock, seconds: float) -> float:
    clock.move(seconds)
    return timekeeper.run_due(scheduler, clock.now())


def test_a_job_that_did_not_start_in_time_is_cancelled(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, start_within_s=600)
    assert job(scheduler, 1).start_by == clock.now() + timedelta(minutes=10)
    assert round_at(scheduler, clock, 599) == 1
    assert job(scheduler, 1).status is states.QUEUED
    round_at(scheduler, clock, 1)
    late = job(scheduler, 1)
    assert late.status is states.CANCELLED
    assert late.wait_reason == WaitReason(
        kind="expired", detail="not started by 2026-03-02T12:10:00Z"
    )
    assert verify.verify(scheduler) == []


def test_a_job_that_started_in_time_goes_on(scheduler: Scheduler, clock: MovableClock) -> None:
    submit(scheduler, start_within_s=10)
    started = claim(scheduler)
    round_at(scheduler, clock, 20)
    finish(scheduler, started)
    assert job(scheduler, 1).status is states.SUCCEEDED


@pytest.mark.parametrize(
    "fields",
    [{"approval": True}, {"after": [1]}, {"locks": ["gpu"]}, {"delay_s": 5, "priority": 3}],
)
def test_it_counts_whatever_the_job_waits_for(
    scheduler: Scheduler, clock: MovableClock, fields: dict[str, Any]
) -> None:
    submit(scheduler, locks=["gpu"], priority=9)
    claim(scheduler)
    submit(scheduler, start_within_s=10, **fields)
    round_at(scheduler, clock, 15)
    assert job(scheduler, 2).status is states.CANCELLED


def test_a_job_that_was_only_claimed_has_not_started(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, start_within_s=10)
    claim(scheduler, lease=False)
    round_at(scheduler, clock, 10)
    assert job(scheduler, 1).status is states.CANCELLED


def test_a_claim_passes_over_what_has_expired(scheduler: Scheduler, clock: MovableClock) -> None:
    submit(scheduler, start_within_s=10)
    submit(scheduler)
    clock.move(10)
    assert [one.number for one in claim(scheduler, 2)] == [2]


def test_the_span_counts_from_when_the_job_may_start(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, delay_s=3600, start_within_s=60)
    assert job(scheduler, 1).start_by == clock.now() + timedelta(seconds=3660)
    patch = JobPatch(scheduled_for=clock.now() + timedelta(seconds=10))
    scheduler.store.write(lambda tx: edit.edit(scheduler, tx, 1, patch))
    assert job(scheduler, 1).start_by == clock.now() + timedelta(seconds=70)


def test_a_retry_has_a_span_of_its_own(scheduler: Scheduler, clock: MovableClock) -> None:
    submit(scheduler, start_within_s=60)
    clock.move(50)
    run_next(scheduler, RunStatus.FAILED)
    assert job(scheduler, 2).start_by == clock.now() + timedelta(seconds=10 + 60)
    round_at(scheduler, clock, 70)
    assert job(scheduler, 2).status is states.CANCELLED


def test_a_rewound_job_has_its_span_before_it_again(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, start_within_s=60)
    round_at(scheduler, clock, 60)
    scheduler.store.write(lambda tx: rewind.rewind(scheduler, tx, 1))
    assert job(scheduler, 1).start_by == clock.now() + timedelta(seconds=60)


@pytest.mark.parametrize(
    ("fields", "moves"),
    [({}, True), ({"delay_s": 5}, True), ({"scheduled_for": "2026-03-02T13:00:00Z"}, False)],
)
def test_a_clock_that_is_set_moves_spans_but_no_moments(
    scheduler: Scheduler, clock: MovableClock, fields: dict[str, Any], moves: bool
) -> None:
    submit(scheduler, start_within_s=60, **fields)
    before = job(scheduler, 1).start_by
    assert before is not None
    clock.move(-7200)
    clock_steps.move(scheduler, Step(by_s=-7200, set_by_s=-7200))
    moved = timedelta(seconds=-7200 if moves else 0)
    assert job(scheduler, 1).start_by == before + moved


def test_many_jobs_expire_with_as_many_statements_as_one(
    scheduler: Scheduler, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = watch_queries(monkeypatch)
    asked = []
    for count in (1, 200):
        submit_all(scheduler, *({"start_within_s": 10} for _ in range(count)))
        del queries[:]
        round_at(scheduler, clock, 10)
        asked.append(len(queries))
    assert asked[0] == asked[1]


def test_why_says_until_when_a_job_must_start(scheduler: Scheduler, clock: MovableClock) -> None:
    submit(scheduler, start_within_s=60)
    found = scheduler.store.read(lambda tx: why.why(scheduler, tx, 1))
    assert found.start_by == clock.now() + timedelta(seconds=60)


@pytest.mark.parametrize("span", [0, -1, 1e12])
def test_a_span_in_which_no_job_could_start_is_refused(scheduler: Scheduler, span: float) -> None:
    with pytest.raises(errors.InvalidRequest) as refusal:
        submit(scheduler, start_within_s=span)
    assert list(refusal.value.fields) == ["start_within_s"]
