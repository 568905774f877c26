"""A job may come after a group: it waits until every member has ended."""

import msgspec
import pytest
from tests.helpers import MovableClock, claim, finish, job, submit
from tests.scheduler.asking import graph, rewound, show, why

from headway.domain import errors
from headway.domain.manage.groups import Group
from headway.domain.requests.group_requests import GroupRequest
from headway.domain.runs import RunStatus
from headway.operations import job_filters
from headway.protocol.jobs import JobSelection
from headway.scheduler.manage import groups
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import recovery, retention, verify
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import groups as kept

DAY = 86400.0
ONCE = {"job_type": "work", "retry_policy": {"max_attempts": 0}}


def made(scheduler: Scheduler, count: int = 2, name: str = "release") -> Group:
    """A group whose members run side by side, whatever becomes of the others."""
    body = {"name": name, "mode": "parallel", "on_failure": "continue", "jobs": [ONCE] * count}
    request = msgspec.convert(body, GroupRequest)
    return scheduler.store.write(lambda tx: groups.create(scheduler, tx, request))


def _end(scheduler: Scheduler, *outcomes: RunStatus) -> None:
    for started, outcome in zip(claim(scheduler, len(outcomes)), outcomes, strict=True):
        finish(scheduler, started, outcome)


def test_a_job_waits_until_the_whole_group_has_ended(scheduler: Scheduler) -> None:
    group = made(scheduler)
    waiting = submit(scheduler, after=[{"group": "release"}])
    assert (waiting.status, waiting.after_groups[0].group) == ("WAITING_ON_DEPS", group.group_id)
    assert waiting.wait_reason == show(scheduler, waiting.number).wait_reason
    assert waiting.wait_reason is not None
    assert waiting.wait_reason.detail == f"waiting on group {group.group_id}"
    first, second = claim(scheduler, 9)
    finish(scheduler, first)
    assert job(scheduler, waiting.number).status == "WAITING_ON_DEPS"
    finish(scheduler, second)
    assert [one.number for one in claim(scheduler, 9)] == [waiting.number]
    assert verify.examine(scheduler).broken == []


@pytest.mark.parametrize(
    ("outcomes", "policy", "status"),
    [
        ((RunStatus.COMPLETED, RunStatus.SKIPPED), "success", "QUEUED"),
        ((RunStatus.COMPLETED, RunStatus.FAILED), "success", "BLOCKED_BY_DEPENDENCY"),
        ((RunStatus.COMPLETED, RunStatus.FAILED), "failure", "QUEUED"),
        ((RunStatus.COMPLETED, RunStatus.COMPLETED), "failure", "BLOCKED_BY_DEPENDENCY"),
        ((RunStatus.FAILED, RunStatus.FAILED), "finished", "QUEUED"),
    ],
)
@pytest.mark.parametrize("is_before", [True, False])
def test_the_policy_says_which_end_of_the_group_is_wanted(
    scheduler: Scheduler,
    outcomes: tuple[RunStatus, ...],
    policy: str,
    status: str,
    is_before: bool,
) -> None:
    group = made(scheduler)
    after = [{"group": group.group_id, "policy": policy}]
    number = submit(scheduler, after=after).number if is_before else 0
    _end(scheduler, *outcomes)
    number = number or submit(scheduler, after=after).number
    assert job(scheduler, number).status == status
    if status == "BLOCKED_BY_DEPENDENCY":
        reason = job(scheduler, number).wait_reason
        assert reason is not None
        assert reason.detail.startswith(f"dependency failed for group {group.group_id} (")


def test_cancelled_members_make_a_failure_of_the_group(scheduler: Scheduler) -> None:
    group = made(scheduler)
    good, bad = (
        submit(scheduler, after=[{"group": "release", "policy": one}]).number
        for one in ("failure", "success")
    )
    scheduler.store.write(lambda tx: groups.cancel(scheduler, tx, "release"))
    assert job(scheduler, good).status == "QUEUED"
    assert job(scheduler, bad).status == "BLOCKED_BY_DEPENDENCY"
    assert groups_status(scheduler, group) == "CANCELLED"


def groups_status(scheduler: Scheduler, group: Group) -> str:
    """How the group is."""
    return scheduler.store.read(lambda tx: kept.find(tx, group.group_id)).status


def test_why_names_the_group_and_the_members_that_are_active(scheduler: Scheduler) -> None:
    group = made(scheduler, 3)
    waiting = submit(scheduler, after=[{"group": "release"}, group.members[0].number])
    _end(scheduler, RunStatus.COMPLETED)
    (row,) = [one for one in why(scheduler, waiting.number).gates if one.gate == "after"]
    assert [(one.kind, one.id) for one in row.blockers] == [
        ("group", group.group_id),
        *(("job", member.job_id) for member in group.members[1:]),
    ]
    (edge,) = [one for one in graph(scheduler).edges if one.group]
    assert (edge.to, edge.group, edge.state) == (f"group:{group.group_id}", "release", "running")


def test_a_group_that_is_not_there_is_refused_by_its_name(scheduler: Scheduler) -> None:
    with pytest.raises(errors.UnknownReference, match="nobody"):
        submit(scheduler, after=[{"group": "nobody"}])
    for wrong in ({"group": "a", "job": 1}, {"policy": "success"}):
        with pytest.raises(errors.InvalidRequest):
            submit(scheduler, after=[wrong])


def test_a_rewind_of_a_member_resets_what_comes_after_its_group(scheduler: Scheduler) -> None:
    group = made(scheduler)
    behind = submit(scheduler, after=[{"group": "release"}]).number
    _end(scheduler, RunStatus.COMPLETED, RunStatus.COMPLETED)
    _end(scheduler, RunStatus.COMPLETED)
    report = rewound(scheduler, group.members[0].number, force=True)
    assert len(report.retry_set) == 2
    assert job(scheduler, behind).status == "WAITING_ON_DEPS"
    _end(scheduler, RunStatus.COMPLETED)
    assert [one.number for one in claim(scheduler, 9)] == [behind]
    assert verify.examine(scheduler).broken == []


def test_a_retry_keeps_what_its_job_had_met(scheduler: Scheduler) -> None:
    made(scheduler)
    again = {"max_attempts": 1, "base_delay_s": 0}
    behind = submit(scheduler, after=[{"group": "release"}], retry_policy=again).number
    _end(scheduler, RunStatus.COMPLETED, RunStatus.COMPLETED)
    _end(scheduler, RunStatus.FAILED)
    assert job(scheduler, behind + 1).status == "QUEUED"


def test_a_group_that_an_active_job_comes_after_is_kept(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    made(scheduler)
    behind = submit(scheduler, after=[{"group": "release"}], approval=True).number
    _end(scheduler, RunStatus.COMPLETED, RunStatus.COMPLETED)
    clock.move(2 * DAY)
    assert retention.collect(scheduler, DAY).jobs == 0
    assert job(scheduler, behind).status == "WAITING_ON_APPROVAL"


def test_recovery_ends_a_group_for_those_who_wait_for_it(scheduler: Scheduler) -> None:
    group = made(scheduler, 1)
    behind = submit(scheduler, after=[{"group": "release"}]).number
    _end(scheduler, RunStatus.COMPLETED)

    def as_if_it_had_not_ended(tx: Transaction) -> None:
        for sql in (
            "UPDATE groups SET ended_at = NULL",
            "UPDATE dependencies SET met = 0",
            "UPDATE jobs SET open_deps = 1, status = 'WAITING_ON_DEPS' WHERE finished_at IS NULL",
        ):
            tx.select(f"{sql} RETURNING 1 AS one", {})

    scheduler.store.write(as_if_it_had_not_ended)
    assert group.members
    report = recovery.recover(scheduler, lambda _: True, lambda _: None)
    assert report.groups_recovered == 1
    assert [one.number for one in claim(scheduler, 9)] == [behind]


def test_jobs_of_a_group_are_listed_by_its_name(scheduler: Scheduler) -> None:
    group = made(scheduler)
    asked = JobSelection(group_id="release")
    wanted = scheduler.store.read(lambda tx: job_filters.read(tx, asked))
    assert wanted.group_id == group.group_id
