"""Why a job is not running: the answer a person gets."""

from datetime import timedelta

import msgspec
import pytest
from tests.helpers import WORKER, MovableClock, ask_lease, claim, finish, submit
from tests.scheduler.asking import (
    closed_gate,
    graph,
    keep_time,
    register,
    rewound,
    show,
    submit_all,
    why,
)

from headway.domain.answers import GateState
from headway.domain.gates import Blocker, Gate
from headway.domain.jobs import Job
from headway.domain.requests.group_requests import GroupRequest
from headway.domain.runs import RunStatus
from headway.domain.states import JobStatus
from headway.protocol.work_values import Denied, Granted
from headway.scheduler.change import approvals, pause, retry
from headway.scheduler.explain import status
from headway.scheduler.manage import groups, limits
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import direct
from headway.storage.engine.transaction import READY


def test_there_are_always_nine_gates_in_order(scheduler: Scheduler) -> None:
    for number in submit_all(scheduler, {}, {"approval": True}, {"needs": ["file:nowhere"]}):
        assert [row.gate for row in why(scheduler, number).gates] == list(Gate)


def test_a_job_that_may_start_has_only_open_gates_and_no_reason(scheduler: Scheduler) -> None:
    register(scheduler)
    job = submit(scheduler)
    answer = why(scheduler, job.number)
    assert {row.state for row in answer.gates} == {GateState.OPEN}
    assert answer.startable
    assert show(scheduler, job.number).wait_reason is None


def test_every_closed_gate_is_shown_and_the_first_is_the_reason(scheduler: Scheduler) -> None:
    register(scheduler)
    holder, before = submit(scheduler, locks=["x"]), submit(scheduler, approval=True)
    claim(scheduler)
    job = submit(scheduler, after=[before.number], approval=True, locks=["x"], queue="slow")
    scheduler.store.write(lambda tx: pause.pause(scheduler, tx, "slow", None))
    answer = why(scheduler, job.number)
    closed = [row for row in answer.gates if row.state is GateState.CLOSED]
    assert [row.gate for row in closed] == [Gate.AFTER, Gate.APPROVAL, Gate.LOCKS, Gate.PAUSE]
    assert [one.id for row in closed for one in row.blockers] == [
        before.job_id,
        holder.job_id,
        "slow",
    ]
    assert {row.state for row in answer.gates} == {GateState.OPEN, GateState.CLOSED}
    assert answer.startable
    reason = show(scheduler, job.number).wait_reason
    assert reason is not None
    assert reason.detail == closed[0].detail


def test_a_missing_artifact_is_named_before_it_can_block(scheduler: Scheduler) -> None:
    register(scheduler)
    before = submit(scheduler, approval=True)
    job = submit(scheduler, after=[before.number], needs=["file:nowhere"])
    answer = why(scheduler, job.number)
    closed = [row for row in answer.gates if row.state is GateState.CLOSED]
    assert [(row.gate, row.detail) for row in closed][1:] == [
        (Gate.ARTIFACTS, "missing file:nowhere")
    ]
    assert answer.startable


def test_gates_that_an_ended_job_never_came_to_say_so(scheduler: Scheduler) -> None:
    job = submit(scheduler, approval=True)
    scheduler.store.write(
        lambda tx: approvals.reject(scheduler, tx, job.number, actor="ann", reason="no")
    )
    states = [(row.state, row.detail) for row in why(scheduler, job.number).gates]
    assert states[4] == (GateState.CLOSED, "no")
    assert states[5:] == [(GateState.NOT_REACHED, "the job ended before it came to this gate")] * 4


def test_a_full_rate_is_explained_by_the_starts_that_fill_it(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    register(scheduler)
    put = lambda tx: limits.put(scheduler, tx, "type:mail", size=None, rate="2/min")  # noqa: E731
    scheduler.store.write(put)
    first, second, third = (submit(scheduler, "mail") for _ in range(3))
    finish(scheduler, claim(scheduler))
    clock.move(10)
    finish(scheduler, claim(scheduler))
    gate = closed_gate(why(scheduler, third.number))
    assert [(one.kind, one.id, one.detail) for one in gate.blockers] == [
        ("rate", "type:mail", "opens at 2026-03-02T12:01:00Z"),
        ("job", first.job_id, "used 1 of type:mail until 2026-03-02T12:01:00Z"),
        ("job", second.job_id, "used 1 of type:mail until 2026-03-02T12:01:10Z"),
    ]
    clock.move(50)
    assert [one.number for one in claim(scheduler)] == [third.number]


def test_what_uses_more_than_a_rate_allows_is_not_startable(scheduler: Scheduler) -> None:
    register(scheduler)
    scheduler.store.write(lambda tx: limits.put(scheduler, tx, "mail", size=None, rate="2/min"))
    answer = why(scheduler, submit(scheduler, limits={"mail": 3}).number)
    assert closed_gate(answer).detail == "mail: 3 > 2 started in 60 s"
    assert not answer.startable


def test_a_job_that_costs_nothing_blocks_no_other(scheduler: Scheduler) -> None:
    register(scheduler)
    submit(scheduler, cost_units=0)
    user, waiting = submit(scheduler, cost_units=100), submit(scheduler, cost_units=1)
    assert len(claim(scheduler, 3)) == 2
    gate = closed_gate(why(scheduler, waiting.number))
    assert [one.id for one in gate.blockers] == [user.job_id]


def test_a_pause_and_a_reservation_are_both_named(scheduler: Scheduler) -> None:
    register(scheduler)
    job = submit(scheduler)
    held = scheduler.store.write(lambda tx: direct.reserve(scheduler, tx, "ann", None))
    scheduler.store.write(lambda tx: pause.pause(scheduler, tx, None, None))
    gate = closed_gate(why(scheduler, job.number))
    assert gate.detail == "everything is paused; the next slot is reserved by ann"
    assert [(one.kind, one.id, one.detail) for one in gate.blockers] == [
        ("pause", "everything", "everything is paused"),
        ("reservation", held.reservation_id, "reserved by ann"),
    ]


def test_a_reservation_keeps_a_claimed_job_from_its_lease(scheduler: Scheduler) -> None:
    register(scheduler)
    job = submit(scheduler)
    claim(scheduler, lease=False)
    held = scheduler.store.write(lambda tx: direct.reserve(scheduler, tx, "ann", None))
    assert isinstance(ask_lease(scheduler, job.number), Denied)
    gate = closed_gate(why(scheduler, job.number))
    assert (gate.gate, [one.id for one in gate.blockers]) == (Gate.PAUSE, [held.reservation_id])


def test_full_workers_are_named_with_the_jobs_that_fill_them(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    register(scheduler, slots=1)
    running, job = submit(scheduler), submit(scheduler)
    since = clock.now()
    claim(scheduler)
    clock.move(5)
    answer = why(scheduler, job.number)
    gate = closed_gate(answer)
    assert (gate.gate, gate.detail) == (
        Gate.WORKER,
        "every worker for queue default with work is full",
    )
    worker, holder = gate.blockers
    assert (worker.id, worker.status, worker.since) == (WORKER, "full", since)
    assert worker.detail == "1 of 1 slots are taken"
    assert (holder.id, holder.detail) == (running.job_id, f"has a slot of worker {WORKER}")
    assert answer.startable
    assert answer.status is JobStatus.QUEUED
    assert show(scheduler, job.number).wait_reason is None


def test_a_job_too_large_for_every_worker_is_not_startable(scheduler: Scheduler) -> None:
    register(scheduler, max_cost_units=5)
    answer = why(scheduler, submit(scheduler, cost_units=6).number)
    gate = closed_gate(answer)
    assert [one.detail for one in gate.blockers] == ["takes jobs of at most 5 cost units"]
    assert not answer.startable


def test_every_unmet_dependency_is_named_with_its_own_reason(scheduler: Scheduler) -> None:
    register(scheduler)
    first, second = submit(scheduler), submit(scheduler, approval=True)
    claim(scheduler)
    job = submit(scheduler, after=[first.number, second.number])
    gate = closed_gate(why(scheduler, job.number))
    assert gate.gate is Gate.AFTER
    assert gate.detail == f"waiting on job {first.job_id}"
    running, waiting = gate.blockers
    assert (running.id, running.status) == (first.job_id, JobStatus.RUNNING)
    assert running.since is not None
    assert (waiting.id, waiting.detail) == (second.job_id, "awaiting human approval")


def test_every_missing_artifact_is_named(scheduler: Scheduler) -> None:
    register(scheduler)
    job = submit(scheduler, needs=["file:a", "file:b"], missing_producer="wait")
    gate = closed_gate(why(scheduler, job.number))
    assert gate.gate is Gate.ARTIFACTS
    assert gate.detail == "awaiting producer for file:a"
    assert [one.id for one in gate.blockers] == ["file:a", "file:b"]


def test_a_lock_is_explained_by_its_holder_and_since_when(scheduler: Scheduler) -> None:
    register(scheduler)
    holder, waiter = submit(scheduler, locks=["gpu"]), submit(scheduler, locks=["gpu"])
    claim(scheduler)
    answer = why(scheduler, waiter.number)
    gate = closed_gate(answer)
    assert (answer.status, gate.gate) == (JobStatus.WAITING_ON_LOCKS, Gate.LOCKS)
    (blocker,) = gate.blockers
    assert blocker.id == holder.job_id
    assert blocker.detail == "holds gpu (exclusive)"
    assert blocker.since == scheduler.clock.now()
    shown = show(scheduler, waiter.number)
    assert shown.status is JobStatus.WAITING_ON_LOCKS
    assert shown.wait_reason is not None
    assert shown.wait_reason.detail == "waiting on locks"


def test_a_full_limit_is_explained_by_who_uses_it(scheduler: Scheduler) -> None:
    register(scheduler)
    big, small = submit(scheduler, cost_units=60), submit(scheduler, cost_units=50)
    claim(scheduler)
    gate = closed_gate(why(scheduler, small.number))
    assert gate.detail == "capacity: used 60 + 50 > 100"
    assert [(one.id, one.detail) for one in gate.blockers] == [(big.job_id, "uses 60 of capacity")]
    shown = show(scheduler, small.number)
    assert shown.status is JobStatus.QUEUED
    assert shown.wait_reason is not None
    assert shown.wait_reason.kind == "limits"
    assert shown.waited_on == ("limits",)


def starve(scheduler: Scheduler, clock: MovableClock) -> tuple[Job, Job]:
    """A small job that runs, and a large one that has starved behind it."""
    running, starved = submit(scheduler), submit(scheduler, "large", cost_units=100)
    assert len(claim(scheduler, 2)) == 1
    clock.move(301)
    register(scheduler)
    return running, starved


def test_what_a_starved_job_keeps_back_is_explained(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    since = clock.now()
    running, starved = starve(scheduler, clock)
    held = submit(scheduler, priority="HIGH")
    assert claim(scheduler) == []
    gate = closed_gate(why(scheduler, held.number))
    assert gate.gate is Gate.LIMITS
    assert gate.detail == "capacity: used 1 + 100 kept for a starved job + 1 > 100"
    keeper, user = gate.blockers
    assert (keeper.id, keeper.status) == (starved.job_id, JobStatus.QUEUED)
    assert (keeper.detail, keeper.since) == ("keeps 100 of capacity, starved", since)
    assert user.id == running.job_id
    reason = show(scheduler, held.number).wait_reason
    assert reason is not None
    assert reason.detail == gate.detail


def test_a_starved_job_is_not_kept_waiting_by_itself(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    running, starved = starve(scheduler, clock)
    gate = closed_gate(why(scheduler, starved.number))
    assert gate.detail == "capacity: used 1 + 100 > 100"
    assert [one.id for one in gate.blockers] == [running.job_id]
    reason = show(scheduler, starved.number).wait_reason
    assert reason is not None
    assert reason.detail == gate.detail


def test_a_starved_job_that_is_paused_keeps_nothing_back(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    starve(scheduler, clock)
    free = submit(scheduler)
    woken: list[str] = []
    scheduler.store.wakeups.listen(READY, lambda: woken.append(READY))
    scheduler.store.write(lambda tx: pause.pause(scheduler, tx, None, "large"))
    scheduler.store.write(lambda tx: None)  # a later commit: the wake-up before it has been told
    assert woken == [READY]
    assert show(scheduler, free.number).wait_reason is None
    assert [one.number for one in claim(scheduler)] == [free.number]


def test_what_can_never_fit_is_not_startable(scheduler: Scheduler) -> None:
    register(scheduler)
    scheduler.store.write(lambda tx: limits.put(scheduler, tx, "gpu", size=1, rate=None))
    job = submit(scheduler, limits={"gpu": 2})
    assert not why(scheduler, job.number).startable


def test_a_pause_is_the_reason_of_every_job_it_holds(scheduler: Scheduler) -> None:
    register(scheduler)
    held, free = submit(scheduler, queue="slow"), submit(scheduler, queue="quick")
    scheduler.store.write(lambda tx: pause.pause(scheduler, tx, "slow", None))
    assert closed_gate(why(scheduler, held.number)).detail == "queue slow is paused"
    reason = show(scheduler, held.number).wait_reason
    assert reason is not None
    assert reason.kind == "paused"
    assert show(scheduler, free.number).wait_reason is None
    scheduler.store.write(lambda tx: pause.resume(scheduler, tx, None, None))
    assert show(scheduler, held.number).wait_reason is None


def test_without_a_worker_that_takes_it_a_job_is_not_startable(scheduler: Scheduler) -> None:
    register(scheduler, capabilities=("cpu",))
    job = submit(scheduler, "render", requires=["gpu"])
    answer = why(scheduler, job.number)
    gate = closed_gate(answer)
    assert gate.detail == "no worker for queue default with render, gpu"
    assert [one.detail for one in gate.blockers] == ["lacks gpu"]
    assert not answer.startable


def test_a_worker_that_was_not_heard_of_for_long_is_silent_and_may_come_back(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    register(scheduler)
    job = submit(scheduler)
    clock.move(3 * scheduler.rules.lease_ttl_s + 1)
    answer = why(scheduler, job.number)
    assert [one.detail for one in closed_gate(answer).blockers] == ["is silent"]
    assert answer.startable


def test_a_time_to_come_closes_the_first_gate(scheduler: Scheduler, clock: MovableClock) -> None:
    register(scheduler)
    job = submit(scheduler, scheduled_for=clock.now() + timedelta(minutes=5))
    assert closed_gate(why(scheduler, job.number)).detail == "scheduled for 2026-03-02T12:05:00Z"
    clock.move(300)
    keep_time(scheduler)
    register(scheduler)
    assert show(scheduler, job.number).wait_reason is None


def test_a_running_job_has_passed_every_gate(scheduler: Scheduler) -> None:
    job = submit(scheduler)
    claim(scheduler)
    answer = why(scheduler, job.number)
    assert {row.state for row in answer.gates} == {GateState.OPEN}
    assert answer.ahead == 0


def test_a_job_that_ended_keeps_the_gate_that_ended_it(scheduler: Scheduler) -> None:
    failing = submit(scheduler, retry_policy={"max_attempts": 0})
    blocked = submit(scheduler, after=[failing.number])
    rejected = submit(scheduler, approval=True)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    scheduler.store.write(
        lambda tx: approvals.reject(scheduler, tx, rejected.number, actor="ann", reason="too dear")
    )
    gate = closed_gate(why(scheduler, blocked.number))
    assert gate.gate is Gate.AFTER
    assert gate.detail == f"dependency failed for job {failing.job_id} (failed)"
    assert [one.id for one in gate.blockers] == [failing.job_id]
    gate = closed_gate(why(scheduler, rejected.number))
    assert (gate.gate, gate.detail) == (Gate.APPROVAL, "too dear")
    assert not why(scheduler, rejected.number).startable
    assert {row.state for row in why(scheduler, failing.number).gates} == {GateState.OPEN}


def test_ahead_counts_the_places_before_it_and_nothing_that_runs(scheduler: Scheduler) -> None:
    submit(scheduler, locks=["x"])
    for _ in range(3):
        submit(scheduler, locks=["x"])
    submit(scheduler, approval=True)
    submit(scheduler, "other", priority="HIGH")
    last, locked = submit(scheduler, "third"), submit(scheduler, locks=["x"])
    assert why(scheduler, last.number).ahead == 6
    claim(scheduler, job_types=("work",))
    for one, ahead in ((last, 5), (locked, 6)):
        assert why(scheduler, one.number).ahead == ahead
        assert show(scheduler, one.number).queue_position == ahead + 1


def test_places_in_the_queue_are_counted_from_one(scheduler: Scheduler) -> None:
    low, high, waiting = (
        submit(scheduler),
        submit(scheduler, priority=5),
        submit(scheduler, approval=True),
    )
    places = {number: show(scheduler, number).queue_position for number in (1, 2, 3)}
    assert places == {high.number: 1, low.number: 2, waiting.number: 3}
    claim(scheduler)
    assert show(scheduler, high.number).queue_position is None


def test_a_circle_through_artifacts_is_named(scheduler: Scheduler) -> None:
    register(scheduler)
    first = submit(
        scheduler, needs=["custom:x:b"], produces=["custom:x:a"], missing_producer="wait"
    )
    second = submit(scheduler, needs=["custom:x:a"], produces=["custom:x:b"])
    keep_time(scheduler)
    answer = why(scheduler, second.number)
    circle = closed_gate(answer).blockers[0]
    assert circle.kind == "circle"
    assert circle.detail in (
        "jobs 2 -> 1 -> 2 wait for each other",
        "jobs 1 -> 2 -> 1 wait for each other",
    )
    assert first.job_id in circle.id
    assert not answer.startable


def circle(scheduler: Scheduler, reference: int) -> Blocker | None:
    answer = why(scheduler, reference)
    found = [one for row in answer.gates for one in row.blockers if one.kind == "circle"]
    assert answer.startable is not bool(found)
    return found[0] if found else None


def test_a_circle_of_any_length_is_named(scheduler: Scheduler) -> None:
    register(scheduler)
    #  1 needs what 300 makes, 2 comes after 1, and so on to 300; 301 stands before it all
    submit(scheduler, needs=["custom:x:last"], missing_producer="wait")
    chain: list[dict[str, object]] = [
        {"ref": f"r{n}", "after": [f"ref:r{n - 1}" if n > 2 else 1]} for n in range(2, 301)
    ]
    chain[-1]["produces"] = ["custom:x:last"]
    submit_all(scheduler, *chain)
    submit(scheduler, after=[150])
    for number in (1, 150, 300, 301):
        found = circle(scheduler, number)
        assert found is not None, number
        assert found.detail is not None
        assert "(291 more)" in found.detail
        assert len(found.id.split(" -> ")) == 301


def test_a_circle_over_the_success_of_a_job_is_named(scheduler: Scheduler) -> None:
    register(scheduler)
    submit(scheduler, needs=["custom:x:a"], missing_producer="wait")
    submit(scheduler, needs=["job:1"], produces=["custom:x:a"])
    found = circle(scheduler, 2)
    assert found is not None
    assert found.detail == "jobs 2 -> 1 -> 2 wait for each other"


def test_a_circle_that_closes_when_a_time_comes_is_named_before(scheduler: Scheduler) -> None:
    register(scheduler)
    submit(scheduler, needs=["custom:x:a"], missing_producer="wait", delay_s=60)
    submit(scheduler, after=[1], produces=["custom:x:a"])
    assert circle(scheduler, 2) is not None
    assert not why(scheduler, 1).startable


def test_there_is_no_cycle_where_another_job_produces_it_too(scheduler: Scheduler) -> None:
    register(scheduler)
    submit(scheduler, needs=["custom:x:a"], missing_producer="wait")
    submit(scheduler, after=[1], produces=["custom:x:a"])
    assert circle(scheduler, 1) is not None
    submit(scheduler, "other", produces=["custom:x:a"])
    assert circle(scheduler, 1) is None
    finish(scheduler, claim(scheduler, job_types=("other",)))
    assert [one.number for one in claim(scheduler, 2)] == [1]


def test_there_is_no_circle_over_what_is_there(scheduler: Scheduler) -> None:
    register(scheduler)
    submit(scheduler, needs=["file:a", "file:b"], missing_producer="wait")
    submit(scheduler, after=[1], produces=["file:a"])
    (scheduler.workspace.root / "a").touch()
    assert circle(scheduler, 1) is None


def causes(scheduler: Scheduler, reference: int) -> list[tuple[str, str | None, str | None]]:
    blockers = [one for row in why(scheduler, reference).gates for one in row.blockers]
    return [(one.id, one.status, one.detail) for one in blockers if one.kind == "cause"]


def test_the_first_cause_is_named_however_far_it_is(scheduler: Scheduler) -> None:
    register(scheduler)
    first = submit(scheduler, approval=True)
    for number in range(1, 31):
        submit(scheduler, after=[number])
    assert causes(scheduler, 2) == []
    assert causes(scheduler, 31) == [
        (first.job_id, JobStatus.WAITING_ON_APPROVAL, "awaiting human approval")
    ]
    scheduler.store.write(
        lambda tx: approvals.reject(scheduler, tx, 1, actor="ann", reason="not now")
    )
    assert causes(scheduler, 31) == [(first.job_id, JobStatus.BLOCKED_BY_APPROVAL, "not now")]


def test_the_first_cause_is_found_over_artifacts_and_tries(scheduler: Scheduler) -> None:
    register(scheduler)
    submit(scheduler, produces=["custom:x:a"], retry_policy={"max_attempts": 1})
    submit(scheduler, needs=["custom:x:a"])
    submit(scheduler, after=[2])
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    second = show(scheduler, 4)
    assert second.wait_reason is not None
    assert causes(scheduler, 3) == [(second.job_id, JobStatus.QUEUED, second.wait_reason.detail)]


def test_a_blocked_job_is_blocked_where_it_was_whatever_came_later(scheduler: Scheduler) -> None:
    register(scheduler)
    failing = submit(scheduler, retry_policy={"max_attempts": 0})
    blocked = submit(scheduler, after=[failing.number], needs=["custom:x:a"])
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    run_id = show(scheduler, failing.number).run_id
    assert run_id is not None
    scheduler.store.write(lambda tx: retry.retry_run(scheduler, tx, run_id))
    for _ in (JobStatus.QUEUED, JobStatus.SUCCEEDED):
        gate = closed_gate(why(scheduler, blocked.number))
        assert gate.gate is Gate.AFTER
        assert gate.detail == f"dependency failed for job {failing.job_id} (failed)"
        assert [(one.id, one.status) for one in gate.blockers] == [(failing.job_id, "FAILED")]
        finish(scheduler, claim(scheduler))


def test_the_cause_of_a_blocked_job_stays_when_other_jobs_come_later(scheduler: Scheduler) -> None:
    register(scheduler)
    maker = submit(scheduler, produces=["custom:x:a"], retry_policy={"max_attempts": 0})
    user = submit(scheduler, needs=["custom:x:a"])
    last = submit(scheduler, after=[user.number])
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    before = why(scheduler, user.number), why(scheduler, last.number)
    assert [(one.kind, one.id) for one in closed_gate(before[0]).blockers] == [
        ("artifact", "custom:x:a"),
        ("job", maker.job_id),
    ]
    assert causes(scheduler, last.number) == [(maker.job_id, JobStatus.FAILED, None)]
    submit(scheduler, produces=["custom:x:a"])
    submit(scheduler, after=[submit(scheduler).number], produces=["custom:x:a"])
    assert (why(scheduler, user.number), why(scheduler, last.number)) == before


def test_a_member_that_was_stopped_with_its_group_names_the_one_that_failed(
    scheduler: Scheduler,
) -> None:
    register(scheduler)
    members = [{"job_type": "work", "retry_policy": {"max_attempts": 0}}, {"job_type": "work"}]
    made = msgspec.convert({"mode": "sequential", "jobs": members}, GroupRequest)
    scheduler.store.write(lambda tx: groups.create(scheduler, tx, made))
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    assert show(scheduler, 2).status is JobStatus.CANCELLED
    failed = show(scheduler, 1)
    blockers = closed_gate(why(scheduler, 2)).blockers
    assert [(one.kind, one.id, one.status) for one in blockers] == [
        ("job", failed.job_id, "FAILED")
    ]


def test_a_job_that_was_made_history_is_shown_as_its_chain_stands(scheduler: Scheduler) -> None:
    register(scheduler)
    submit(scheduler, retry_policy={"max_attempts": 1})
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    rewound(scheduler, 1)
    user = submit(scheduler, after=[2])
    assert [one.status for one in closed_gate(why(scheduler, user.number)).blockers] == ["QUEUED"]
    edge = graph(scheduler, job=user.number).edges[0]
    assert edge.status == "queued"


def test_what_closed_since_a_job_was_admitted_shows_at_once(scheduler: Scheduler) -> None:
    register(scheduler)
    file = scheduler.workspace.root / "a"
    file.touch()
    job = submit(scheduler, needs=["file:a"], missing_producer="wait")
    file.unlink()
    answer = why(scheduler, job.number)
    assert (answer.status, closed_gate(answer).gate) == (JobStatus.WAITING_ON_DEPS, Gate.ARTIFACTS)


def test_a_lock_that_another_job_is_about_to_take_is_not_free(scheduler: Scheduler) -> None:
    register(scheduler)
    submit(scheduler, locks=["x"], priority=1)
    held = claim(scheduler)
    first, second = submit(scheduler, locks=["x"]), submit(scheduler, locks=["x"])
    finish(scheduler, held)
    assert {row.state for row in why(scheduler, first.number).gates} == {GateState.OPEN}
    answer = why(scheduler, second.number)
    gate = closed_gate(answer)
    assert (answer.status, gate.detail) == (JobStatus.WAITING_ON_LOCKS, "waiting on locks")
    assert [(one.id, one.detail) for one in gate.blockers] == [
        (first.job_id, "may take x (exclusive) and goes first")
    ]


def test_the_status_shows_what_runs_and_what_became_of_the_rest(scheduler: Scheduler) -> None:
    register(scheduler)
    submit(scheduler, retry_policy={"max_attempts": 0})
    submit(scheduler)
    submit(scheduler)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    (running,) = claim(scheduler)
    shown = scheduler.store.read(lambda tx: status.status(scheduler, tx))
    assert shown.running
    assert [one.number for one in shown.current_jobs] == [running.number]
    assert shown.queue_length == 1
    assert (shown.totals.failed, shown.totals.succeeded) == (1, 0)
    assert shown.active_reservation is None


@pytest.mark.parametrize("count", [1, 50])
def test_a_list_is_shown_in_the_order_asked_for(scheduler: Scheduler, count: int) -> None:
    numbers = submit_all(scheduler, *({} for _ in range(count)))
    wanted = numbers[::-1]
    shown = scheduler.store.read(lambda tx: status.views(scheduler, tx, wanted))
    assert [job.number for job in shown] == wanted
    assert [job.queue_position for job in shown] == list(range(count, 0, -1))


def test_a_submit_says_that_the_job_is_paused(scheduler: Scheduler) -> None:
    register(scheduler)
    scheduler.store.write(lambda tx: pause.pause(scheduler, tx, "default", None))
    made = submit(scheduler)
    assert made.wait_reason is not None
    assert made.wait_reason.detail == "queue default is paused"
    assert submit(scheduler, queue="other").wait_reason is None


def test_a_file_that_went_away_shows_in_the_job_as_in_why(scheduler: Scheduler) -> None:
    register(scheduler)
    file = scheduler.workspace.root / "a"
    file.touch()
    made = submit(scheduler, needs=["file:a"], missing_producer="wait")
    assert show(scheduler, made.number).wait_reason is None
    file.unlink()
    shown = show(scheduler, made.number)
    assert shown.wait_reason is not None
    assert shown.wait_reason.detail == closed_gate(why(scheduler, made.number)).detail
    assert shown.status is JobStatus.WAITING_ON_DEPS


def test_a_file_that_went_away_shows_although_something_else_kept_the_job_waiting(
    scheduler: Scheduler,
) -> None:
    register(scheduler)
    files = [scheduler.workspace.root / name for name in "ab"]
    files[0].touch()
    needing = submit(scheduler, needs=["file:a", "file:b"], missing_producer="wait").number
    approved = submit(scheduler, needs=["file:a"], missing_producer="wait", approval=True).number
    assert show(scheduler, approved).status is JobStatus.WAITING_ON_APPROVAL
    files[0].unlink()
    for number in (needing, approved):
        shown, found = show(scheduler, number), why(scheduler, number)
        assert shown.wait_reason is not None
        assert shown.wait_reason.detail == "awaiting producer for file:a"
        assert shown.status is found.status is JobStatus.WAITING_ON_DEPS
    assert show(scheduler, approved).waited_on == ("approval", "dependencies")


def test_a_job_that_was_denied_its_lease_shows_what_is_true_now(scheduler: Scheduler) -> None:
    register(scheduler)
    scheduler.store.write(lambda tx: limits.put(scheduler, tx, "type:work", size=1, rate=None))
    holder = claim_two_step(scheduler)
    waiting = claim_two_step(scheduler)
    assert isinstance(ask_lease(scheduler, holder), Granted)
    ask_lease(scheduler, waiting)
    denied = show(scheduler, waiting)
    assert denied.status is JobStatus.LEASE_PENDING
    assert denied.wait_reason is not None
    assert denied.wait_reason.kind == "limits"
    scheduler.store.write(lambda tx: limits.put(scheduler, tx, "type:work", size=2, rate=None))
    assert show(scheduler, waiting).wait_reason is None
    scheduler.store.write(lambda tx: pause.pause(scheduler, tx, None, None))
    paused = show(scheduler, waiting)
    assert paused.status is JobStatus.LEASE_PENDING
    assert paused.wait_reason is not None
    assert paused.wait_reason.kind == "paused"
    assert paused.waited_on == ("limits", "paused")


def claim_two_step(scheduler: Scheduler) -> int:
    """Submit a job and claim it without a lease."""
    made = submit(scheduler)
    assert [one.number for one in claim(scheduler, lease=False)] == [made.number]
    return made.number


def limit_to(scheduler: Scheduler, size: int) -> None:
    """So many jobs of the type may run at once."""
    scheduler.store.write(lambda tx: limits.put(scheduler, tx, "type:work", size=size, rate=None))


def test_a_limit_that_is_too_small_is_named_itself(scheduler: Scheduler) -> None:
    scheduler.store.write(lambda tx: limits.put(scheduler, tx, "capacity", size=4, rate=None))
    register(scheduler)
    gate = closed_gate(why(scheduler, submit(scheduler, cost_units=5).number))
    (blocker,) = gate.blockers
    assert (blocker.kind, blocker.id) == ("limit", "capacity")
    assert blocker.detail == "allows at most 4"


def test_beside_a_dependency_that_failed_those_still_open_are_named(scheduler: Scheduler) -> None:
    failed = submit(scheduler, retry_policy={"max_attempts": 0})
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    running = submit(scheduler)
    later = submit(scheduler, after=[failed.number, running.number], delay_s=60)
    rows = {row.gate: row for row in why(scheduler, later.number).gates}
    assert rows[Gate.TIME].state is GateState.CLOSED
    assert [one.id for one in rows[Gate.AFTER].blockers] == [failed.job_id, running.job_id]
