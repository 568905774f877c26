"""The same change of many jobs, by a filter or by their ids."""

from functools import partial
from typing import Any

import msgspec
import pytest
from tests.helpers import claim, finish, job, submit
from tests.scheduler.asking import keep_time, queue_order, submit_all

from headway.domain import errors
from headway.domain.manage.tokens import Principal, Role
from headway.domain.requests.action_requests import Action, Wanted
from headway.domain.runs import RunStatus
from headway.operations import actions
from headway.operations.bound import Call
from headway.protocol.jobs import ActionBody, ActionReport, JobSelection
from headway.protocol.operation import Nothing
from headway.scheduler.scheduler import Scheduler
from headway.storage.manage import audit

ADMIN = Principal(name="ann", role=Role.ADMIN)


def _act(scheduler: Scheduler, action: str, *, by: Principal = ADMIN, **said: Any) -> ActionReport:
    body = msgspec.convert({"action": action, **said}, ActionBody)
    call = Call(scheduler=scheduler, principal=by, body=body, query=Nothing())
    return actions.act_on_jobs(call)


def _came_of_it(report: ActionReport) -> tuple[int, int, list[str]]:
    return report.matched, report.changed, [one.code for one in report.refused]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices of two, so that several are needed."""
    monkeypatch.setattr(actions, "SLICE", 2)


def test_jobs_that_a_filter_names_are_cancelled_slice_by_slice(scheduler: Scheduler) -> None:
    numbers = submit_all(scheduler, *({"tags": ["red"]} for _ in range(5)), {})
    (started,) = claim(scheduler)
    assert started.number == numbers[0]
    said: dict[str, Any] = {"filter": {"tag": "red"}, "reason": "enough"}
    would = _act(scheduler, "cancel", **said, dry_run=True)
    assert _came_of_it(would) == (5, 5, [])
    assert job(scheduler, numbers[4]).status == "QUEUED"
    assert _came_of_it(_act(scheduler, "cancel", **said)) == (5, 5, [])
    statuses = [job(scheduler, number).status for number in numbers]
    assert statuses == ["RUNNING", *["CANCELLED"] * 4, "QUEUED"]
    assert job(scheduler, numbers[0]).cancel_requested
    assert job(scheduler, numbers[1]).wait_reason.detail == "enough"  # type: ignore[union-attr]
    assert _came_of_it(_act(scheduler, "cancel", **said)) == (1, 1, [])


def test_a_job_in_another_state_is_refused_by_its_code_and_the_others_change(
    scheduler: Scheduler,
) -> None:
    first, second = submit_all(scheduler, {}, {})
    finish(scheduler, claim(scheduler))
    ids = [first, job(scheduler, second).job_id, 99]
    report = _act(scheduler, "cancel", ids=ids)
    assert (report.matched, report.changed, report.refused_count) == (2, 1, 2)
    assert {one.job_id: one.code for one in report.refused} == {
        "99": "not_found",
        job(scheduler, first).job_id: "not_active",
    }


def test_a_request_works_for_so_long_and_the_next_one_goes_on(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit_all(scheduler, *({} for _ in range(5)))
    monkeypatch.setattr(actions, "MOST_S", 0.0)
    ways: tuple[dict[str, Any], ...] = ({"filter": {}}, {"ids": [1, 2, 3, 4, 5]})
    for said in ways:
        matched, cursor = [], None
        while True:
            report = _act(scheduler, "approve", **said, cursor=cursor)
            matched.append(report.matched)
            if (cursor := report.next_cursor) is None:
                break
        assert matched == ([0] if "filter" in said else [2, 2, 1])


def test_jobs_that_wait_for_a_person_are_approved(scheduler: Scheduler) -> None:
    submit_all(scheduler, *({"approval": True} for _ in range(3)), {})
    assert _came_of_it(_act(scheduler, "approve", filter={})) == (3, 3, [])
    assert {one.number for one in claim(scheduler, 9)} == {1, 2, 3, 4}


def test_jobs_go_to_the_tail_of_another_priority_in_their_order(scheduler: Scheduler) -> None:
    numbers = submit_all(scheduler, *({"tags": ["red"]} for _ in range(3)), {"priority": 10})
    said: dict[str, Any] = {"filter": {"tag": "red"}, "priority": "high"}
    assert _came_of_it(_act(scheduler, "reprioritise", **said)) == (3, 3, [])
    assert queue_order(scheduler)[0] == numbers[3]
    assert {job(scheduler, number).priority for number in numbers} == {10}


def test_each_chain_is_retried_once_at_its_last_failure(scheduler: Scheduler) -> None:
    once = {"max_attempts": 1, "base_delay_s": 0}
    twice, good = submit_all(scheduler, *({"retry_policy": once} for _ in range(2)))
    for outcome in (*[RunStatus.FAILED] * 3, RunStatus.COMPLETED):
        finish(scheduler, claim(scheduler), outcome)
        keep_time(scheduler)
    last = good + 1
    assert [job(scheduler, one).status for one in (twice, good, last)] == ["FAILED"] * 3
    would = _act(scheduler, "retry", filter={}, dry_run=True)
    report = _act(scheduler, "retry", filter={})
    assert _came_of_it(report) == _came_of_it(would) == (2, 1, ["run_not_failed"])
    (again,) = claim(scheduler, 9)
    assert job(scheduler, again.number).retry_of == job(scheduler, last).job_id
    assert _came_of_it(_act(scheduler, "retry", ids=[twice])) == (1, 0, ["conflict"])


def test_a_retry_that_still_waits_for_its_time_makes_way(scheduler: Scheduler) -> None:
    made = submit(scheduler)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    assert _came_of_it(_act(scheduler, "retry", filter={})) == (1, 1, [])
    assert _came_of_it(_act(scheduler, "retry", filter={})) == (1, 0, ["conflict"])
    assert [one.number for one in claim(scheduler, 9)] == [made.number + 2]


def test_below_admin_commands_are_refused_in_bulk_too(scheduler: Scheduler) -> None:
    by = Principal(name="sue", role=Role.SUBMIT)
    command = {"job_type": "command", "params": {"argv": ["true"]}}
    submit_all(scheduler, {**command, "approval": True}, {"approval": True}, command)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    assert _came_of_it(_act(scheduler, "approve", by=by, filter={})) == (2, 1, ["forbidden"])
    assert _came_of_it(_act(scheduler, "retry", by=by, filter={})) == (1, 0, ["forbidden"])
    said: dict[str, Any] = {"filter": {"job_type": "command"}, "priority": 5}
    assert _came_of_it(_act(scheduler, "reprioritise", by=by, **said))[1:] == (0, ["forbidden"] * 2)


def test_each_slice_is_an_entry_of_the_audit_log(scheduler: Scheduler) -> None:
    submit_all(scheduler, {}, {}, {})
    _act(scheduler, "cancel", filter={}, dry_run=True)
    _act(scheduler, "cancel", filter={})
    entries = scheduler.store.read(
        lambda tx: audit.page(tx, before=None, actor="ann", action="act_on_jobs", count=9)
    )
    assert [one.target for one in entries] == ["cancel jobs 1", "cancel jobs 2-3"]


@pytest.mark.parametrize(
    "said",
    [
        {"action": "cancel"},
        {"action": "cancel", "filter": {}, "ids": [1]},
        {"action": "cancel", "ids": []},
        {"action": "cancel", "filter": {}, "priority": 1},
        {"action": "retry", "filter": {}, "reason": "again"},
        {"action": "reprioritise", "filter": {}},
        {"action": "reprioritise", "filter": {}, "priority": "soon"},
        {"action": "approve", "filter": {"status": "tired"}},
    ],
)
def test_what_makes_no_sense_is_refused(scheduler: Scheduler, said: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidRequest):
        _act(scheduler, **said)


def test_a_job_that_has_gone_on_since_it_was_found_is_left_alone(scheduler: Scheduler) -> None:
    submit_all(scheduler, {}, {})
    asked = JobSelection(status="queued")
    body = ActionBody(action=Action.CANCEL, filter=asked)
    call = Call(scheduler=scheduler, principal=ADMIN, body=body, query=Nothing())
    source = actions.ByFilter(call, asked)
    found = scheduler.store.read(lambda tx: source.read(tx, None))
    (started,) = claim(scheduler)
    wanted = Wanted(action=Action.CANCEL)
    scheduler.store.write(partial(actions._do, call, wanted, source, found.numbers))
    assert [job(scheduler, number).status for number in (1, 2)] == ["RUNNING", "CANCELLED"]
    assert not job(scheduler, started.number).cancel_requested
