"""Groups: members in order, and what one member's end means for the rest."""

from functools import partial
from typing import Any

import pytest
from tests.helpers import MovableClock, ask, claim, event_kinds, finish, job, run_next, submit
from tests.scheduler.asking import watch_queries

from headway.domain import errors, events
from headway.domain.jobs import RetryPolicy
from headway.domain.manage.groups import Group, GroupMode, GroupStatus, OnFailure
from headway.domain.manage.tokens import Role
from headway.domain.requests.group_requests import GroupRequest
from headway.domain.requests.job_requests import AfterRequest, BatchJobRequest
from headway.domain.runs import RunStatus
from headway.domain.states import JobStatus
from headway.operations.manage import groups as operations
from headway.protocol.groups import GroupOrder
from headway.protocol.jobs import CancelBody
from headway.protocol.operation import Paging
from headway.scheduler.change import cancel as cancelling
from headway.scheduler.change import rewind
from headway.scheduler.manage import groups
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import timekeeper, verify

NO_RETRY = RetryPolicy(max_attempts=0)
FAILED = RunStatus.FAILED


def member(ref: str, **fields: Any) -> BatchJobRequest:
    return BatchJobRequest(job_type=ref, ref=ref, **{"retry_policy": NO_RETRY, **fields})


def make(
    scheduler: Scheduler,
    *members: BatchJobRequest,
    mode: GroupMode = GroupMode.SEQUENTIAL,
    on_failure: OnFailure = OnFailure.STOP,
) -> Group:
    jobs = list(members) or [member("a"), member("b"), member("c")]
    request = GroupRequest(name="night", jobs=jobs, mode=mode, on_failure=on_failure)
    return scheduler.store.write(lambda tx: groups.create(scheduler, tx, request))


def read(scheduler: Scheduler, group: Group) -> Group:
    found: Group = ask(operations.get_group, scheduler, Role.READ, id=group.group_id)
    return found


def statuses(scheduler: Scheduler, group: Group) -> list[str]:
    return [one.status for one in read(scheduler, group).members]


def cancel(scheduler: Scheduler, group: Group) -> Group:
    return scheduler.store.write(
        lambda tx: groups.cancel(scheduler, tx, group.group_id, reason="no need")
    )


def reorder(scheduler: Scheduler, group: Group, *places: int) -> Group:
    """Ask for another order, by places in the order as it was made."""
    order = [group.members[place].job_id for place in places]
    return scheduler.store.write(lambda tx: groups.reorder(scheduler, tx, group.group_id, order))


def run_all(scheduler: Scheduler) -> list[str]:
    """Run what there is, one at a time; answers the job types in order."""
    types = []
    while started := claim(scheduler):
        types += [one.job_type for one in started]
        finish(scheduler, started)
    return types


def test_members_of_a_sequential_group_run_one_after_the_other(scheduler: Scheduler) -> None:
    group = make(scheduler)
    assert group.status is GroupStatus.QUEUED
    assert [one.job_type for one in claim(scheduler, 5)] == ["a"]
    assert read(scheduler, group).status is GroupStatus.RUNNING
    waiting = job(scheduler, group.members[1].number)
    assert waiting.wait_reason is not None
    assert waiting.wait_reason.detail == f"waiting on job {group.members[0].job_id}"


def test_members_of_a_parallel_group_run_at_once(scheduler: Scheduler) -> None:
    group = make(scheduler, mode=GroupMode.PARALLEL)
    finish(scheduler, claim(scheduler, 5))
    assert read(scheduler, group).status is GroupStatus.COMPLETED
    assert events.GROUP_ENDED in event_kinds(scheduler)


@pytest.mark.parametrize(
    ("on_failure", "rest", "status"),
    [
        (OnFailure.STOP, ["CANCELLED", "CANCELLED"], GroupStatus.PARTIAL),
        (OnFailure.SKIP, ["SKIPPED", "SKIPPED"], GroupStatus.PARTIAL),
        (OnFailure.CONTINUE, ["SUCCEEDED", "SUCCEEDED"], GroupStatus.PARTIAL),
    ],
)
def test_a_final_failure_means_what_the_groups_maker_said(
    scheduler: Scheduler, on_failure: OnFailure, rest: list[str], status: GroupStatus
) -> None:
    group = make(scheduler, on_failure=on_failure)
    run_next(scheduler, FAILED)
    run_all(scheduler)
    assert statuses(scheduler, group) == ["FAILED", *rest]
    assert read(scheduler, group).status is status


def test_a_member_that_succeeds_at_its_second_try_is_a_success(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    group = make(scheduler, member("a", retry_policy=RetryPolicy(max_attempts=1)), member("b"))
    run_next(scheduler, FAILED)
    assert claim(scheduler) == []
    assert statuses(scheduler, group) == ["QUEUED", "WAITING_ON_DEPS"]
    clock.move(10)
    timekeeper.run_due(scheduler, clock.now())
    assert run_all(scheduler) == ["a", "b"]
    shown = read(scheduler, group)
    assert shown.status is GroupStatus.COMPLETED
    assert [one.job_id for one in shown.members] == [one.job_id for one in group.members]


def test_a_group_without_members_is_refused(scheduler: Scheduler) -> None:
    request = GroupRequest(jobs=[])
    with pytest.raises(errors.InvalidRequest):
        scheduler.store.write(lambda tx: groups.create(scheduler, tx, request))


def test_a_member_that_cannot_be_submitted_leaves_nothing_behind(scheduler: Scheduler) -> None:
    with pytest.raises(errors.UnknownReference):
        make(scheduler, member("a"), member("b", after=("999",)))
    submit(scheduler, "taken", unique_key="k")
    with pytest.raises(errors.Conflict, match="exists already"):
        make(scheduler, member("a"), member("b", unique_key="k"))
    assert ask(operations.list_groups, scheduler, query=Paging()).items == []


def test_cancelling_a_group_ends_what_waits_and_asks_what_runs(scheduler: Scheduler) -> None:
    group = make(scheduler)
    (running,) = claim(scheduler)
    cancelled = cancel(scheduler, group)
    assert [one.status for one in cancelled.members] == ["RUNNING", "CANCELLED", "CANCELLED"]
    assert job(scheduler, running.number).cancel_requested
    finish(scheduler, running)
    assert read(scheduler, group).status is GroupStatus.CANCELLED
    with pytest.raises(errors.Conflict):
        cancel(scheduler, group)


def test_cancelling_a_group_starts_and_blocks_nothing_on_the_way(scheduler: Scheduler) -> None:
    group = make(scheduler, member("a"), member("b", after=("ref:a",)))
    before = len(event_kinds(scheduler))
    body = CancelBody(reason="no need")
    shown = ask(operations.cancel_group, scheduler, body=body, id=group.group_id)
    assert shown.status is GroupStatus.CANCELLED
    assert event_kinds(scheduler)[before:] == [events.FINISHED] * 2 + [events.GROUP_ENDED]


def test_cancelling_a_group_cancels_a_retry_that_waits(scheduler: Scheduler) -> None:
    group = make(scheduler, member("a", retry_policy=RetryPolicy(max_attempts=1)), member("b"))
    run_next(scheduler, FAILED)
    cancel(scheduler, group)
    assert statuses(scheduler, group) == ["CANCELLED", "CANCELLED"]


def test_a_reordered_sequential_group_runs_in_the_new_order(scheduler: Scheduler) -> None:
    group = make(scheduler)
    shown = reorder(scheduler, group, 2, 0, 1)
    assert [one.number for one in shown.members] == [3, 1, 2]
    assert [one.status for one in shown.members] == ["QUEUED", *["WAITING_ON_DEPS"] * 2]
    assert run_all(scheduler) == ["c", "a", "b"]
    assert read(scheduler, group).status is GroupStatus.COMPLETED


def test_a_member_that_has_started_stays_where_it_is(scheduler: Scheduler) -> None:
    group = make(scheduler)
    (running,) = claim(scheduler)
    with pytest.raises(errors.InvalidRequest, match="has already started"):
        reorder(scheduler, group, 1, 0, 2)
    shown = reorder(scheduler, group, 2, 1)
    assert [one.status for one in shown.members][1:] == ["WAITING_ON_DEPS"] * 2
    finish(scheduler, running)
    assert run_all(scheduler) == ["c", "b"]


def test_a_member_moved_behind_one_that_ended_may_start_at_once(scheduler: Scheduler) -> None:
    group = make(scheduler)
    run_next(scheduler)
    reorder(scheduler, group, 2, 1)
    assert job(scheduler, group.members[2].number).status is JobStatus.QUEUED
    assert run_all(scheduler) == ["c", "b"]


def test_a_reordered_parallel_group_is_dispatched_in_the_new_order(scheduler: Scheduler) -> None:
    group = make(scheduler, mode=GroupMode.PARALLEL)
    other = submit(scheduler, "later")
    reorder(scheduler, group, 1, 2, 0)
    assert run_all(scheduler) == ["b", "c", "a", "later"]
    assert job(scheduler, other.number).status is JobStatus.SUCCEEDED


def test_an_order_names_every_waiting_member_once(scheduler: Scheduler) -> None:
    group = make(scheduler)
    for places in ((0, 1), (0, 1, 1, 2)):
        with pytest.raises(errors.InvalidRequest):
            reorder(scheduler, group, *places)
    body = GroupOrder(order=["nobody"])
    with pytest.raises(errors.UnknownReference):
        ask(operations.reorder_group, scheduler, body=body, id=group.group_id)
    assert run_all(scheduler) == ["a", "b", "c"]


def test_an_order_against_the_members_own_dependencies_is_refused(scheduler: Scheduler) -> None:
    group = make(scheduler, member("a"), member("b"), member("c", after=("ref:a",)))
    with pytest.raises(errors.DependencyCycle):
        reorder(scheduler, group, 2, 0, 1)
    assert run_all(scheduler) == ["a", "b", "c"]


def cancel_member(scheduler: Scheduler, number: int) -> None:
    scheduler.store.write(lambda tx: cancelling.cancel(scheduler, tx, number))


def waits_on(scheduler: Scheduler, number: int) -> str | None:
    reason = job(scheduler, number).wait_reason
    return reason.detail if reason else None


@pytest.mark.parametrize("cancelled", [(2,), (2, 3), (3, 2)])
def test_who_follows_a_cancelled_member_waits_for_the_one_before_it(
    scheduler: Scheduler, cancelled: tuple[int, ...]
) -> None:
    group = make(scheduler, member("a"), member("b"), member("c"), member("d"))
    (running,) = claim(scheduler)
    for number in cancelled:
        cancel_member(scheduler, number)
    follower = 4 if 3 in cancelled else 3
    assert claim(scheduler, 5) == []
    assert waits_on(scheduler, follower) == f"waiting on job {group.members[0].job_id}"
    finish(scheduler, running)
    assert run_all(scheduler) == ["c", "d"][len(cancelled) - 1 :]
    assert verify.verify(scheduler) == []


def test_who_follows_a_blocked_member_waits_for_the_one_before_it(scheduler: Scheduler) -> None:
    outside = submit(scheduler, "outside", priority=-1, retry_policy={"max_attempts": 0})
    after = (AfterRequest(job=outside.number),)
    both = [member("b", after=after), member("c", after=after)]
    group = make(scheduler, member("a"), *both, member("d"), on_failure=OnFailure.CONTINUE)
    running, other = claim(scheduler, 2)
    finish(scheduler, other, FAILED)
    blocked = ["BLOCKED_BY_DEPENDENCY"] * 2
    assert statuses(scheduler, group) == ["RUNNING", *blocked, "WAITING_ON_DEPS"]
    assert waits_on(scheduler, 5) == f"waiting on job {group.members[0].job_id}"
    finish(scheduler, running)
    assert run_all(scheduler) == ["d"]


def test_a_failure_before_a_cancelled_member_stops_who_follows_it(scheduler: Scheduler) -> None:
    group = make(scheduler)
    (running,) = claim(scheduler)
    cancel_member(scheduler, 2)
    finish(scheduler, running, FAILED)
    assert statuses(scheduler, group) == ["FAILED", "CANCELLED", "CANCELLED"]


def test_a_cancelled_member_that_is_rewound_takes_its_place_again(scheduler: Scheduler) -> None:
    make(scheduler)
    (running,) = claim(scheduler)
    cancel_member(scheduler, 2)
    scheduler.store.write(lambda tx: rewind.rewind(scheduler, tx, 2))
    finish(scheduler, running)
    assert run_all(scheduler) == ["b", "c"]
    assert verify.verify(scheduler) == []


def test_a_reordered_group_keeps_its_order_past_a_cancelled_member(scheduler: Scheduler) -> None:
    group = make(scheduler, member("a"), member("b"), member("c"), member("d"))
    (running,) = claim(scheduler)
    cancel_member(scheduler, 2)
    reorder(scheduler, group, 3, 2)
    assert claim(scheduler, 5) == []
    finish(scheduler, running)
    assert run_all(scheduler) == ["d", "c"]
    assert verify.verify(scheduler) == []


def test_members_around_a_cancelled_one_may_change_places(scheduler: Scheduler) -> None:
    group = make(scheduler)
    cancel_member(scheduler, 2)
    reorder(scheduler, group, 2, 0)
    assert run_all(scheduler) == ["c", "a"]
    assert verify.verify(scheduler) == []


def test_groups_are_listed_page_by_page(scheduler: Scheduler) -> None:
    made = {make(scheduler).group_id for _ in range(3)}
    first = ask(operations.list_groups, scheduler, query=Paging(limit=2))
    second = ask(operations.list_groups, scheduler, query=Paging(cursor=first.next_cursor))
    assert {one.group_id for one in (*first.items, *second.items)} == made
    assert all(len(one.members) == 3 for one in first.items)


def test_below_admin_no_command_is_put_into_a_group(scheduler: Scheduler) -> None:
    request = GroupRequest(jobs=[BatchJobRequest(job_type="command", params={"argv": ["ls"]})])
    with pytest.raises(errors.Forbidden):
        ask(operations.create_group, scheduler, Role.SUBMIT, body=request)


@pytest.mark.parametrize("mode", list(GroupMode))
def test_the_cost_of_an_end_does_not_grow_with_the_group(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch, mode: GroupMode
) -> None:
    asked = watch_queries(monkeypatch)
    counts = []
    for size in (5, 20):
        jobs = [BatchJobRequest(job_type="work") for _ in range(size)]
        request = GroupRequest(jobs=jobs, mode=mode)
        group = scheduler.store.write(partial(groups.create, scheduler, request=request))
        asked.clear()
        finish(scheduler, claim(scheduler))
        assert "group_members" not in asked
        asked.clear()
        scheduler.store.write(partial(groups.cancel, scheduler, group_id=group.group_id))
        counts.append(len(asked))
    assert counts[0] == counts[1]
