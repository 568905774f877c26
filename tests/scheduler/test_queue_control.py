"""The queue by hand: change, move, reorder, pause, approve."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.helpers import MovableClock, claim, event_kinds, finish, job, submit
from tests.scheduler.asking import queue_order, show, submit_all

from headway.domain import errors, events
from headway.domain.requests.job_requests import JobPatch
from headway.domain.states import JobStatus
from headway.scheduler.change import approvals, edit, pause
from headway.scheduler.change import move as moves
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import verify


def change(scheduler: Scheduler, reference: str | int, **fields: Any) -> None:
    patch = JobPatch(**fields)
    scheduler.store.write(lambda tx: edit.edit(scheduler, tx, reference, patch))


def move(scheduler: Scheduler, reference: str | int, **where: Any) -> None:
    scheduler.store.write(lambda tx: moves.move(scheduler, tx, reference, **where))


def reorder(scheduler: Scheduler, *order: str | int) -> None:
    scheduler.store.write(lambda tx: moves.reorder(scheduler, tx, order))


def test_params_of_a_waiting_job_change_and_its_run_gets_the_new_ones(scheduler: Scheduler) -> None:
    made = submit(scheduler, params={"a": 1})
    change(scheduler, made.job_id, params={"a": 2})
    assert job(scheduler, made.number).params == {"a": 2}
    (started,) = claim(scheduler)
    assert started.params == '{"a":2}'


def test_a_job_that_a_worker_has_taken_is_not_changed(scheduler: Scheduler) -> None:
    made = submit(scheduler)
    claim(scheduler, lease=False)
    with pytest.raises(errors.AlreadyClaimed):
        change(scheduler, made.number, priority=5)
    assert job(scheduler, made.number).priority == 0


def test_a_change_of_nothing_is_refused(scheduler: Scheduler) -> None:
    made = submit(scheduler)
    with pytest.raises(errors.InvalidRequest):
        change(scheduler, made.number)


def test_a_time_without_a_zone_is_refused(scheduler: Scheduler) -> None:
    made = submit(scheduler)
    with pytest.raises(errors.InvalidRequest):
        change(scheduler, made.number, scheduled_for=datetime(2030, 1, 1))


def test_a_changed_priority_goes_to_the_tail_of_its_new_band(scheduler: Scheduler) -> None:
    submit_all(scheduler, {"priority": 5}, {}, {"priority": 5}, {})
    change(scheduler, 2, priority=5)
    assert queue_order(scheduler) == [1, 3, 2, 4]
    change(scheduler, 1, priority=5)
    assert queue_order(scheduler) == [1, 3, 2, 4]


def test_a_new_time_closes_and_opens_the_gate(scheduler: Scheduler, clock: MovableClock) -> None:
    made = submit(scheduler)
    change(scheduler, made.number, scheduled_for=clock.now() + timedelta(hours=1))
    assert claim(scheduler) == []
    change(scheduler, made.number, scheduled_for=None)
    assert [one.number for one in claim(scheduler)] == [made.number]


def test_a_job_moves_before_and_after_others(scheduler: Scheduler) -> None:
    submit_all(scheduler, {}, {}, {}, {})
    move(scheduler, 4, before=2)
    assert queue_order(scheduler) == [1, 4, 2, 3]
    move(scheduler, 1, after=3)
    assert queue_order(scheduler) == [4, 2, 3, 1]
    move(scheduler, 3, before=4)
    assert queue_order(scheduler) == [3, 4, 2, 1]


@pytest.mark.parametrize(
    ("place", "order"),
    [
        (1, [3, 1, 2, 4]),
        (2, [1, 3, 2, 4]),
        (3, [1, 2, 3, 4]),
        (4, [1, 2, 4, 3]),
        (99, [1, 2, 4, 3]),
    ],
)
def test_a_job_moves_to_a_place(scheduler: Scheduler, place: int, order: list[int]) -> None:
    submit_all(scheduler, {}, {}, {}, {})
    move(scheduler, 3, queue_position=place)
    assert queue_order(scheduler) == order
    assert show(scheduler, 3).queue_position == min(place, 4)


def test_a_job_alone_in_its_priority_stays_where_it_is(scheduler: Scheduler) -> None:
    submit_all(scheduler, {"priority": 5}, {"priority": 3}, {"priority": 1})
    move(scheduler, 2, queue_position=2)
    assert queue_order(scheduler) == [1, 2, 3]


def test_a_gap_that_is_used_up_is_made_anew(scheduler: Scheduler) -> None:
    submit_all(scheduler, {}, {}, {"locks": ["gpu"]}, {"locks": ["gpu"]}, {"locks": ["gpu"]})
    for step in range(20):
        move(scheduler, 4 + step % 2, before=2)
    assert queue_order(scheduler) == [1, 4, 5, 2, 3]
    submit(scheduler)
    assert queue_order(scheduler) == [1, 4, 5, 2, 3, 6]
    assert verify.verify(scheduler) == []


def test_lines_for_locks_follow_a_move(scheduler: Scheduler) -> None:
    submit_all(scheduler, {"locks": ["gpu"]}, {"locks": ["gpu"]}, {"locks": ["gpu"]})
    (holder,) = claim(scheduler, 3)
    assert show(scheduler, 3).status is JobStatus.WAITING_ON_LOCKS
    for _ in range(10):
        move(scheduler, 3, before=2)
        move(scheduler, 2, before=3)
    move(scheduler, 3, before=2)
    assert verify.verify(scheduler) == []
    finish(scheduler, holder)
    assert [one.number for one in claim(scheduler, 3)] == [3]


def test_shared_waiters_go_on_when_the_exclusive_one_is_moved_behind_them(
    scheduler: Scheduler,
) -> None:
    shared = [{"key": "db", "mode": "shared"}]
    submit(scheduler, locks=shared)
    claim(scheduler)
    submit(scheduler, locks=["db"])
    submit(scheduler, locks=shared)
    assert job(scheduler, 3).status is JobStatus.WAITING_ON_LOCKS
    move(scheduler, 2, after=3)
    assert [one.number for one in claim(scheduler, 3)] == [3]


def test_a_move_into_another_priority_is_refused(scheduler: Scheduler) -> None:
    submit_all(scheduler, {"priority": 5}, {}, {})
    with pytest.raises(errors.OtherBand):
        move(scheduler, 3, before=1)
    with pytest.raises(errors.OtherBand):
        move(scheduler, 3, queue_position=1)
    move(scheduler, 3, queue_position=2)
    assert queue_order(scheduler) == [1, 3, 2]


@pytest.mark.parametrize(
    "where", [{}, {"before": 1, "after": 2}, {"before": 3}, {"before": 77}, {"queue_position": 0}]
)
def test_a_move_to_nowhere_is_refused(scheduler: Scheduler, where: dict[str, Any]) -> None:
    submit_all(scheduler, {}, {}, {})
    with pytest.raises(errors.Invalid):
        move(scheduler, 3, **where)


def test_jobs_are_put_into_a_new_order_in_the_places_they_had(scheduler: Scheduler) -> None:
    submit_all(scheduler, {}, {}, {}, {}, {})
    reorder(scheduler, 5, 3, 1)
    assert queue_order(scheduler) == [5, 2, 3, 4, 1]
    reorder(scheduler, 1, 2, 3, 4, 5)
    assert queue_order(scheduler) == [1, 2, 3, 4, 5]


def test_a_new_order_respects_priorities(scheduler: Scheduler) -> None:
    submit_all(scheduler, {}, {"priority": 5}, {})
    with pytest.raises(errors.OtherBand):
        reorder(scheduler, 1, 2)
    reorder(scheduler, 2, 3, 1)
    assert queue_order(scheduler) == [2, 3, 1]


def test_a_new_order_with_a_job_twice_or_none_is_refused(scheduler: Scheduler) -> None:
    made = submit(scheduler)
    with pytest.raises(errors.InvalidRequest):
        reorder(scheduler, made.number, made.job_id)
    with pytest.raises(errors.InvalidRequest):
        reorder(scheduler)


def test_a_pause_holds_what_it_names_until_it_is_lifted(scheduler: Scheduler) -> None:
    submit(scheduler, "a")
    submit(scheduler, "b")
    scheduler.store.write(lambda tx: pause.pause(scheduler, tx, None, "a"))
    scheduler.store.write(lambda tx: pause.pause(scheduler, tx, None, "a"))
    assert [one.job_type for one in claim(scheduler, 5)] == ["b"]
    scheduler.store.write(lambda tx: pause.resume(scheduler, tx, None, "other"))
    assert claim(scheduler, 5) == []
    scheduler.store.write(lambda tx: pause.resume(scheduler, tx, None, None))
    assert [one.job_type for one in claim(scheduler, 5)] == ["a"]
    kinds = event_kinds(scheduler)
    assert (kinds.count(events.PAUSED), kinds.count(events.RESUMED)) == (1, 1)


def test_an_approved_job_may_start(scheduler: Scheduler) -> None:
    made = submit(scheduler, approval=True)
    assert made.status is JobStatus.WAITING_ON_APPROVAL
    assert claim(scheduler) == []
    scheduler.store.write(lambda tx: approvals.approve(scheduler, tx, made.number, actor="ann"))
    assert [one.number for one in claim(scheduler)] == [made.number]
    with pytest.raises(errors.NotAwaitingApproval):
        scheduler.store.write(lambda tx: approvals.approve(scheduler, tx, made.number, actor="ann"))


def test_a_rejected_job_ends_and_blocks_what_comes_after_it(scheduler: Scheduler) -> None:
    made = submit(scheduler, approval=True)
    later = submit(scheduler, after=[made.number])
    scheduler.store.write(lambda tx: approvals.reject(scheduler, tx, made.number, actor="ann"))
    ended = job(scheduler, made.number)
    assert ended.status is JobStatus.BLOCKED_BY_APPROVAL
    assert ended.wait_reason is not None
    assert (ended.wait_reason.kind, ended.wait_reason.detail) == ("approval", "rejected by ann")
    assert job(scheduler, later.number).status is JobStatus.BLOCKED_BY_DEPENDENCY


def test_a_new_job_goes_to_the_tail_whatever_was_moved_there_before(scheduler: Scheduler) -> None:
    submit_all(scheduler, {}, {}, {})
    move(scheduler, 1, after=3)
    move(scheduler, 2, after=1)
    submit(scheduler)
    assert queue_order(scheduler) == [3, 1, 2, 4]
    change(scheduler, 3, position=1_000_000)
    submit(scheduler)
    assert queue_order(scheduler) == [1, 2, 4, 3, 5]
