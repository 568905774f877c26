"""The operations on queue, limits, artifacts, workers and history, as a client asks for them."""

from typing import Any

import pytest
from tests.helpers import MovableClock, ask, claim, finish, submit
from tests.scheduler.asking import register, submit_all

from headway.domain import errors
from headway.domain.runs import RunStatus
from headway.operations import events_list, explain, graph, queue
from headway.operations.manage import artifacts, limits
from headway.operations.work import workers
from headway.protocol.events import EventQuery
from headway.protocol.limits import LimitBody
from headway.protocol.operation import Paging
from headway.protocol.queue import (
    GraphQuery,
    MoveBody,
    PauseBody,
    ReasonBody,
    ReorderBody,
    RewindBody,
)
from headway.scheduler import waiting_counts
from headway.scheduler.scheduler import Scheduler


def test_the_queue_is_listed_page_by_page_in_dispatch_order(scheduler: Scheduler) -> None:
    submit_all(scheduler, {}, {"priority": 5}, {}, {"priority": -5}, {})
    found: list[int] = []
    cursor = None
    while True:
        page = ask(queue.list_queue, scheduler, query=Paging(limit=2, cursor=cursor))
        found += [job.number for job in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == [2, 1, 3, 5, 4]


def test_jobs_are_moved_approved_and_retried(scheduler: Scheduler) -> None:
    submit_all(scheduler, {}, {"approval": True}, {"retry_policy": {"max_attempts": 0}})
    moved = ask(queue.move_job, scheduler, body=MoveBody(before=1), id="3")
    assert moved.queue_position == 1
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    report = ask(queue.retry_job, scheduler, body=RewindBody(), id="3")
    assert report.requested_job == moved.job_id
    approved = ask(queue.approve_job, scheduler, body=ReasonBody(reason="fine"), id="2")
    assert approved.approval == "APPROVED"
    page = ask(queue.reorder_queue, scheduler, body=ReorderBody(order=[2, 1, 3]))
    assert [job.queue_position for job in page.items] == [1, 2, 3]


def test_a_large_count_is_taken_less_often_and_says_how_old_it_is(
    scheduler: Scheduler, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(scheduler)
    submit_all(scheduler, {}, {"queue": "slow"}, {"delay_s": 60}, {"approval": True})
    few = ask(queue.get_queue_status, scheduler)
    assert {(one.queue, one.reason): one.count for one in few.waiting} == {
        ("default", "ready"): 1,
        ("slow", "ready"): 1,
        ("default", "scheduled"): 1,
        ("default", "approval"): 1,
    }
    monkeypatch.setattr(waiting_counts, "FEW", 2)
    monkeypatch.setattr(waiting_counts, "JOBS_PER_SECOND", 1)
    counted = clock.now()
    submit(scheduler)
    assert (few.length, ask(queue.get_queue_status, scheduler).length) == (4, 5)
    clock.move(3)
    old = ask(queue.get_queue_status, scheduler)
    assert (old.length, old.as_of) == (5, counted)
    assert sum(row.count for row in old.waiting) == 4
    assert ask(explain.get_scheduler_status, scheduler).queue_length == 5
    clock.move(1)
    fresh = ask(queue.get_queue_status, scheduler)
    assert (fresh.length, fresh.as_of) == (5, clock.now())


def test_jobs_are_counted_by_what_keeps_them_from_starting(scheduler: Scheduler) -> None:
    register(scheduler, job_types=("work", "large", "paused"))
    submit_all(scheduler, {}, {"job_type": "large", "cost_units": 101}, {"job_type": "unknown"})
    submit(scheduler, "paused")
    status = ask(queue.pause_queue, scheduler, body=PauseBody(job_type="paused"))
    counts = {one.reason: one.count for one in status.waiting}
    assert counts == {"ready": 1, "limits": 1, "worker": 1, "paused": 1}


def test_pauses_are_shown_until_they_are_lifted(scheduler: Scheduler) -> None:
    status = ask(queue.pause_queue, scheduler, body=PauseBody(queue="slow"))
    assert [(one.queue, one.job_type) for one in status.paused] == [("slow", None)]
    assert ask(queue.resume_queue, scheduler, body=PauseBody()).paused == ()


def test_a_limit_is_made_used_and_removed(scheduler: Scheduler) -> None:
    body = LimitBody(size=2, rate="5/min")
    assert ask(limits.put_limit, scheduler, body=body, name="gpu").used == 0
    submit(scheduler, limits={"gpu": 2})
    started = claim(scheduler)
    found = ask(limits.get_limit, scheduler, name="gpu")
    assert (found.used, found.started) == (2, 2)
    with pytest.raises(errors.Conflict):
        ask(limits.delete_limit, scheduler, name="gpu")
    finish(scheduler, started)
    ask(limits.delete_limit, scheduler, name="gpu")
    assert [one.name for one in ask(limits.list_limits, scheduler).items] == ["capacity"]


@pytest.mark.parametrize("body", [{}, {"size": -1}, {"rate": "often"}])
def test_a_limit_of_nonsense_is_refused(scheduler: Scheduler, body: dict[str, object]) -> None:
    wanted = LimitBody(**body)  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidRequest):
        ask(limits.put_limit, scheduler, body=wanted, name="gpu")


def test_artifacts_workers_graph_and_history_are_answered(scheduler: Scheduler) -> None:
    register(scheduler)
    submit(scheduler)
    ask(artifacts.put_artifact, scheduler, type="model", key="a/b")
    page = ask(artifacts.list_artifacts, scheduler, query=Paging())
    assert [one.artifact for one in page.items] == ["custom:model:a/b"]
    ask(artifacts.delete_artifact, scheduler, type="model", key="a/b")
    with pytest.raises(errors.NotFound):
        ask(artifacts.get_artifact, scheduler, type="model", key="a/b")
    assert [one.alive for one in ask(workers.list_workers, scheduler).items] == [True]
    assert len(ask(graph.get_graph, scheduler, query=GraphQuery(all=True)).nodes) == 1
    assert len(ask(explain.why, scheduler, id="1").gates) == 9
    assert ask(explain.get_scheduler_status, scheduler).queue_length == 1
    first = ask(events_list.list_events, scheduler, query=EventQuery(limit=1))
    assert [event.kind for event in first.items] == ["job.submitted"]


def test_the_end_of_the_history_is_answered_oldest_first(scheduler: Scheduler) -> None:
    def last(count: int, **more: Any) -> list[int | None]:
        query = EventQuery(last=count, **more)
        page = ask(events_list.list_events, scheduler, query=query)
        assert page.next_cursor is None
        return [event.number for event in page.items]

    assert last(3) == []
    for _ in range(4):
        submit(scheduler)
    assert last(3) == [2, 3, 4]
    assert last(200) == [1, 2, 3, 4]
    for wrong in ({"count": 0}, {"count": 201}, {"count": 1, "after": 2}):
        with pytest.raises(errors.InvalidRequest):
            last(**wrong)
