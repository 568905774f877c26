"""Programs: steps are kept, and jobs give their slots back to wait, on both stores."""

from collections.abc import Sequence
from typing import Any

import pytest
from tests.helpers import (
    WORKER,
    MovableClock,
    claim,
    event_kinds,
    finish,
    job,
    run_next,
    runs_of,
    submit,
)

from headway.domain import errors, graph_text
from headway.domain.answers import GateState, Why
from headway.domain.gates import Gate
from headway.domain.jobs import Job, RetryPolicy
from headway.domain.requests.job_requests import BatchJobRequest
from headway.domain.runs import Outcome, RunStatus
from headway.domain.states import JobStatus
from headway.domain.steps import MOST_STEPS, Step, StepKind, Wait
from headway.protocol.work_values import Report, ReportAnswer, Started, StepAnswer, StepReport
from headway.scheduler.change import cancel, retry, rewind
from headway.scheduler.explain import graph_view, journals, why
from headway.scheduler.programs import reports, signals, steps
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import clock_steps, retention, timekeeper, verify
from headway.storage import jobs


def lease_of(started: Started) -> str:
    assert started.lease is not None
    return started.lease.lease_id


def done(
    scheduler: Scheduler, started: Started, name: str, result: Any = None, index: int = 0
) -> StepAnswer:
    """A run has done a step."""
    report = StepReport(lease_id=lease_of(started), name=name, index=index, result=result)
    return scheduler.store.write_beside(lambda tx: steps.record(tx, WORKER, [report]))[0]


def suspend(scheduler: Scheduler, started: Started, wait: Wait) -> ReportAnswer:
    """A run suspends its job."""
    outcome = Outcome(status=RunStatus.SUSPENDED, wait=wait)
    report = Report(lease_id=lease_of(started), outcome=outcome)
    ready = reports.prepared(scheduler, [report])
    return scheduler.store.write_beside(lambda tx: reports.record(scheduler, tx, WORKER, ready))[0]


def sleep(seconds: float) -> Wait:
    return Wait(kind=StepKind.SLEEP, name="sleep", delay_s=seconds)


def signal(name: str, timeout_s: float | None = None) -> Wait:
    return Wait(kind=StepKind.SIGNAL, name=name, delay_s=timeout_s)


def children(*job_types: str, **fields: Any) -> Wait:
    wanted = tuple(BatchJobRequest(job_type=one, **fields) for one in job_types)
    return Wait(kind=StepKind.CHILDREN, name="children", children=wanted)


def send(scheduler: Scheduler, number: int, name: str, payload: Any = None) -> None:
    """Somebody sends a signal."""
    signals.check(scheduler, name, payload)
    scheduler.store.write(lambda tx: signals.send(scheduler, tx, number, name, payload))


def journal(scheduler: Scheduler, number: int) -> Sequence[Step]:
    """The journal of a job."""
    return scheduler.store.read(lambda tx: journals.of_job(tx, jobs.read_one(tx, number)))


def explained(scheduler: Scheduler, number: int) -> Why:
    return scheduler.store.read(lambda tx: why.why(scheduler, tx, number))


def closed_gates(scheduler: Scheduler, number: int) -> dict[Gate, str | None]:
    rows = explained(scheduler, number).gates
    found = {Gate(row.gate): row.detail for row in rows if row.state is GateState.CLOSED}
    found.pop(Gate.WORKER, None)  # no worker has registered
    return found


def pass_time(scheduler: Scheduler, clock: MovableClock, **span: float) -> None:
    clock.move(**span)
    timekeeper.run_due(scheduler, clock.now())


def suspended(scheduler: Scheduler, wait: Wait, **fields: Any) -> Job:
    """A job that has run and waits."""
    made = submit(scheduler, "program", **fields)
    (started,) = claim(scheduler, job_types=("program",))
    assert suspend(scheduler, started, wait).status is JobStatus.SUSPENDED
    return job(scheduler, made.number)


@pytest.fixture(autouse=True)
def _nothing_is_broken(scheduler: Scheduler) -> Any:
    yield
    assert verify.verify(scheduler) == []


def test_a_retry_knows_the_steps_of_the_run_before(scheduler: Scheduler) -> None:
    submit(scheduler, retry_policy={"base_delay_s": 0})
    (started,) = claim(scheduler)
    assert started.steps == ()
    done(scheduler, started, "charge", {"paid": 3})
    done(scheduler, started, "ship", None)
    finish(scheduler, started, RunStatus.FAILED)
    (again,) = claim(scheduler)
    assert again.number != started.number
    assert [(one.name, one.result, one.attempt) for one in again.steps or ()] == [
        ("charge", {"paid": 3}, 0),
        ("ship", None, 0),
    ]
    done(scheduler, again, "thank", "done")
    finish(scheduler, again)
    assert [(one.name, one.attempt) for one in journal(scheduler, again.number)] == [
        ("charge", 0),
        ("ship", 0),
        ("thank", 1),
    ]


def test_the_same_step_again_is_no_error_and_another_result_is_one(scheduler: Scheduler) -> None:
    submit(scheduler)
    (started,) = claim(scheduler)
    assert done(scheduler, started, "charge", 1).created
    again = done(scheduler, started, "charge", 1)
    assert again.error is None
    assert not again.created
    assert isinstance(done(scheduler, started, "charge", 2).error, errors.StepDiffers)
    assert done(scheduler, started, "charge", 2, index=1).created
    assert [(one.index, one.result) for one in journal(scheduler, 1)] == [(0, 1), (1, 2)]


def test_without_its_lease_a_run_records_no_step(scheduler: Scheduler) -> None:
    submit(scheduler)
    (started,) = claim(scheduler)
    finish(scheduler, started)
    assert isinstance(done(scheduler, started, "late").error, errors.LeaseEnded)
    assert isinstance(suspend(scheduler, started, sleep(1)).error, errors.LeaseEnded)
    assert journal(scheduler, 1) == ()


def test_steps_of_many_runs_are_recorded_together(scheduler: Scheduler) -> None:
    for _ in range(3):
        submit(scheduler)
    started = claim(scheduler, 3)
    wanted = [
        StepReport(lease_id=lease_of(one), name="step", index=index, result=index)
        for one in started
        for index in range(2)
    ]
    answers = scheduler.store.write_beside(lambda tx: steps.record(tx, WORKER, wanted))
    assert all(one.created and one.error is None for one in answers)
    for one in started:
        assert [step.result for step in journal(scheduler, one.number)] == [0, 1]


def test_a_sleeping_job_gives_its_slot_back_and_goes_on_in_its_old_place(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    first = suspended(scheduler, sleep(3600))
    submit(scheduler, "other")
    assert first.status is JobStatus.SUSPENDED
    assert first.wait_reason is not None
    assert first.wait_reason.detail.startswith("sleeping until 2026-03-02T13:00")
    assert runs_of(scheduler, 1)[0].status is RunStatus.SUSPENDED
    assert closed_gates(scheduler, 1).keys() == {Gate.TIME}
    assert claim(scheduler, job_types=("program",)) == []
    pass_time(scheduler, clock, minutes=59)
    assert job(scheduler, 1).status is JobStatus.SUSPENDED
    pass_time(scheduler, clock, minutes=1)
    assert job(scheduler, 1).status is JobStatus.QUEUED
    (again,) = claim(scheduler)
    assert again.number == 1
    assert again.attempt == 0
    (slept,) = again.steps or ()
    assert (slept.kind, slept.name, slept.index) == (StepKind.SLEEP, "sleep", 0)
    assert slept.duration_ms == 3_600_000
    finish(scheduler, again)
    assert job(scheduler, 1).status is JobStatus.SUCCEEDED
    kinds = [one for one in event_kinds(scheduler) if one.startswith("job.")]
    assert "job.suspended" in kinds
    assert "job.resumed" in kinds


def test_a_signal_wakes_the_job_that_waits_for_it(scheduler: Scheduler) -> None:
    suspended(scheduler, signal("approved"))
    assert closed_gates(scheduler, 1) == {Gate.APPROVAL: "awaiting signal approved"}
    send(scheduler, 1, "refused", "kept")
    assert job(scheduler, 1).status is JobStatus.SUSPENDED
    send(scheduler, 1, "approved", {"by": "ann"})
    assert job(scheduler, 1).status is JobStatus.QUEUED
    (again,) = claim(scheduler)
    assert [(one.name, one.result) for one in again.steps or ()] == [("approved", {"by": "ann"})]
    assert suspend(scheduler, again, signal("refused")).status is JobStatus.SUSPENDED
    assert job(scheduler, 1).status is JobStatus.QUEUED


def test_signals_that_come_early_are_each_taken_once_in_order(scheduler: Scheduler) -> None:
    submit(scheduler)
    for payload in (1, None, 3):
        send(scheduler, 1, "go", payload)
    (started,) = claim(scheduler)

    def take() -> Step | None:
        return scheduler.store.write(
            lambda tx: signals.take(tx, WORKER, lease_of(started), "go", None)
        )

    found = [take() for _ in range(4)]
    assert [one.result for one in found if one] == [1, None, 3]
    assert found[3] is None
    finish(scheduler, started)
    with pytest.raises(errors.LeaseEnded):
        take()
    with pytest.raises(errors.JobEnded):
        send(scheduler, 1, "go")


def test_a_signal_that_comes_too_late_is_told_as_a_time_out(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    suspended(scheduler, signal("approved", timeout_s=60))
    pass_time(scheduler, clock, seconds=61)
    (again,) = claim(scheduler)
    (waited,) = again.steps or ()
    assert waited.timed_out
    assert waited.result is None


def test_a_parent_waits_for_its_children_and_gets_their_results_in_order(
    scheduler: Scheduler,
) -> None:
    parent = suspended(scheduler, children("a", "b", "c"))
    family = [job(scheduler, number) for number in (2, 3, 4)]
    assert {one.parent_id for one in family} == {parent.job_id}
    assert closed_gates(scheduler, 1) == {Gate.AFTER: f"waiting on job {family[0].job_id}"}
    rows = explained(scheduler, 1).gates
    assert [one.id for one in rows[1].blockers if one.kind == "job"] == [
        one.job_id for one in family
    ]
    for status in (RunStatus.COMPLETED, RunStatus.SKIPPED):
        (child,) = claim(scheduler)
        finish(scheduler, child, status, result=child.job_type)
        assert job(scheduler, 1).status is JobStatus.SUSPENDED
    (child,) = claim(scheduler)
    finish(scheduler, child, RunStatus.FAILED, error="broken", retry=False)
    assert job(scheduler, 1).status is JobStatus.QUEUED
    (again,) = claim(scheduler)
    steps_of = scheduler.store.read(lambda tx: steps.of_lease(tx, WORKER, lease_of(again)))
    assert again.steps is None
    (waited,) = steps_of
    assert [(one.number, one.status, one.result, one.error) for one in waited.result] == [
        (2, JobStatus.SUCCEEDED, "a", None),
        (3, JobStatus.SKIPPED, "b", None),
        (4, JobStatus.FAILED, None, "broken"),
    ]
    finish(scheduler, again)


def test_a_child_that_is_tried_again_keeps_its_parent_waiting(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    suspended(scheduler, children("a", retry_policy=RetryPolicy(base_delay_s=5)))
    run_next(scheduler, RunStatus.FAILED)
    assert job(scheduler, 1).status is JobStatus.SUSPENDED
    pass_time(scheduler, clock, seconds=10)
    run_next(scheduler, result=7)
    (again,) = claim(scheduler)
    (waited,) = scheduler.store.read(lambda tx: steps.of_lease(tx, WORKER, lease_of(again)))
    assert [(one.number, one.result) for one in waited.result] == [(2, 7)]


def test_children_that_no_job_can_be_fail_their_parent_without_a_retry(
    scheduler: Scheduler,
) -> None:
    submit(scheduler)
    (started,) = claim(scheduler)
    answer = suspend(scheduler, started, children("a", limits={"unknown": 1}))
    assert answer.status is JobStatus.FAILED
    failed = job(scheduler, 1)
    assert "unknown" in (failed.error or "")
    assert failed.retry_state == "suppressed"


def test_cancelling_a_parent_cancels_its_children_and_theirs(scheduler: Scheduler) -> None:
    suspended(scheduler, children("middle", "leaf", "leaf"))
    (middle,) = claim(scheduler, job_types=("middle",))
    suspend(scheduler, middle, children("leaf"))
    (running,) = claim(scheduler)
    scheduler.store.write(lambda tx: cancel.cancel(scheduler, tx, 1))
    ended = [job(scheduler, number) for number in (1, 2, 4, 5)]
    assert {one.status for one in ended} == {JobStatus.CANCELLED}
    assert job(scheduler, 3).cancel_requested
    finish(scheduler, running)
    assert job(scheduler, 3).status is JobStatus.CANCELLED
    assert job(scheduler, 1).status is JobStatus.CANCELLED


def test_a_run_that_was_to_end_does_not_suspend_its_job(scheduler: Scheduler) -> None:
    submit(scheduler)
    (started,) = claim(scheduler)
    scheduler.store.write(lambda tx: cancel.cancel(scheduler, tx, 1))
    assert suspend(scheduler, started, sleep(9)).status is JobStatus.CANCELLED
    assert journal(scheduler, 1) == ()


def test_a_suspended_job_holds_no_lock_and_takes_it_again(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    suspended(scheduler, sleep(10), locks=["gpu"])
    submit(scheduler, "other", locks=["gpu"])
    (other,) = claim(scheduler)
    assert other.number == 2
    pass_time(scheduler, clock, seconds=11)
    assert job(scheduler, 1).status is JobStatus.WAITING_ON_LOCKS
    assert claim(scheduler) == []
    finish(scheduler, other)
    assert [one.number for one in claim(scheduler)] == [1]


def test_a_suspended_job_uses_no_limit(scheduler: Scheduler, clock: MovableClock) -> None:
    suspended(scheduler, sleep(60), cost_units=100)
    submit(scheduler, "other", cost_units=100)
    assert [one.number for one in claim(scheduler)] == [2]


def test_a_rewind_begins_anew_or_keeps_what_came_before_a_step(scheduler: Scheduler) -> None:
    submit(scheduler, retry_policy={"max_attempts": 0})
    (started,) = claim(scheduler)
    for name in ("one", "two", "three"):
        done(scheduler, started, name, name)
    finish(scheduler, started, RunStatus.FAILED)
    with pytest.raises(errors.InvalidRequest, match="there is no four 0 in the journal"):
        scheduler.store.write(lambda tx: rewind.rewind(scheduler, tx, 1, from_step=("four", 0)))
    scheduler.store.write(lambda tx: rewind.rewind(scheduler, tx, 1, from_step=("three", 0)))
    (again,) = claim(scheduler)
    assert [one.result for one in again.steps or ()] == ["one", "two"]
    finish(scheduler, again, RunStatus.FAILED)
    scheduler.store.write(lambda tx: rewind.rewind(scheduler, tx, 1))
    (fresh,) = claim(scheduler)
    assert fresh.steps == ()


def test_a_rewind_of_a_suspended_job_begins_anew_and_cancels_its_children(
    scheduler: Scheduler,
) -> None:
    suspended(scheduler, children("a"))
    scheduler.store.write(lambda tx: rewind.rewind(scheduler, tx, 1))
    assert job(scheduler, 1).status is JobStatus.QUEUED
    assert job(scheduler, 2).status is JobStatus.CANCELLED
    (again,) = claim(scheduler)
    assert again.steps == ()


def test_a_retry_by_hand_goes_on_behind_the_last_step(scheduler: Scheduler) -> None:
    submit(scheduler, retry_policy={"max_attempts": 0})
    (started,) = claim(scheduler)
    done(scheduler, started, "one", 1)
    finish(scheduler, started, RunStatus.FAILED)
    run_id = runs_of(scheduler, 1)[0].run_id
    scheduler.store.write(lambda tx: retry.retry_run(scheduler, tx, run_id))
    (again,) = claim(scheduler)
    assert [one.result for one in again.steps or ()] == [1]


def test_the_graph_shows_children_under_their_parents(scheduler: Scheduler) -> None:
    parent = suspended(scheduler, children("a", "b"))
    drawn = scheduler.store.read(lambda tx: graph_view.graph(scheduler, tx, job=1))
    assert [one.number for one in drawn.nodes] == [1, 2, 3]
    assert {(one.source, one.child) for one in drawn.edges} == {(parent.job_id, True)}
    assert graph_text.render(drawn).splitlines()[2].startswith("|-- child -> 2 queued [a]")


def test_children_stay_as_long_as_their_parent_may_ask_for_them(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    suspended(scheduler, children("a"))
    run_next(scheduler, result="kept")
    (again,) = claim(scheduler)
    suspend(scheduler, again, sleep(10 * 86400))
    pass_time(scheduler, clock, days=9)
    retention.collect(scheduler, 86400)
    assert job(scheduler, 2).status is JobStatus.SUCCEEDED
    assert journal(scheduler, 1)[0].result[0].result == "kept"
    pass_time(scheduler, clock, days=1)
    run_next(scheduler)
    clock.move(days=2)
    assert retention.collect(scheduler, 86400).jobs == 2
    assert scheduler.store.read(lambda tx: tx.select("SELECT count(*) AS n FROM steps", {})) == [
        {"n": 0}
    ]


def test_a_sleep_lasts_as_long_as_was_meant_when_the_clock_is_set(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    suspended(scheduler, sleep(600))
    clock.move(hours=-1, seconds=10)
    found = clock_steps.Step(by_s=-3600, set_by_s=-3600)
    clock_steps.move(scheduler, found)
    clock_steps.tell(scheduler, found)
    assert explained(scheduler, 1).gates[0].detail == "sleeping until 2026-03-02T11:10:00Z"
    pass_time(scheduler, clock, seconds=589)
    assert job(scheduler, 1).status is JobStatus.SUSPENDED
    pass_time(scheduler, clock, seconds=2)
    assert job(scheduler, 1).status is JobStatus.QUEUED


def test_the_step_of_another_worker_is_refused(scheduler: Scheduler) -> None:
    submit(scheduler)
    (started,) = claim(scheduler, worker_id="other")
    assert isinstance(done(scheduler, started, "charge").error, errors.ForeignLease)
    assert journal(scheduler, 1) == ()


def test_a_lease_that_expired_during_a_step_stores_nothing(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, retry_policy={"base_delay_s": 0})
    (started,) = claim(scheduler)
    done(scheduler, started, "one", 1)
    pass_time(scheduler, clock, hours=1)
    assert isinstance(done(scheduler, started, "two", 2).error, errors.LeaseEnded)
    assert isinstance(suspend(scheduler, started, sleep(1)).error, errors.LeaseEnded)
    (again,) = claim(scheduler)
    assert [one.name for one in again.steps or ()] == ["one"]


def test_a_journal_has_an_end(scheduler: Scheduler) -> None:
    submit(scheduler)
    (started,) = claim(scheduler)
    wanted = [
        StepReport(lease_id=lease_of(started), name="step", index=index, result=index)
        for index in range(MOST_STEPS)
    ]
    scheduler.store.write_beside(lambda tx: steps.record(tx, WORKER, wanted))
    refused = done(scheduler, started, "one more")
    assert isinstance(refused.error, errors.JournalFull)
    assert not refused.created
    assert done(scheduler, started, "step", 0).error is None
    assert suspend(scheduler, started, sleep(1)).status is JobStatus.FAILED
    assert "let children do parts of the work" in (job(scheduler, 1).error or "")
    assert len(journal(scheduler, 1)) == MOST_STEPS


def test_one_name_may_be_that_of_a_step_a_signal_and_children(scheduler: Scheduler) -> None:
    submit(scheduler)
    (started,) = claim(scheduler)
    done(scheduler, started, "x", 1)
    suspend(scheduler, started, signal("x"))
    send(scheduler, 1, "x", 2)
    (again,) = claim(scheduler)
    wait = Wait(kind=StepKind.CHILDREN, name="x", children=(BatchJobRequest(job_type="a"),))
    suspend(scheduler, again, wait)
    run_next(scheduler, result=3)
    found = [(one.kind, one.name, one.index) for one in journal(scheduler, 1)]
    assert found == [(kind, "x", 0) for kind in ("step", "signal", "children")]
