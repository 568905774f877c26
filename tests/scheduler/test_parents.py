"""A parent that holds what its child needs is named as such."""

from functools import partial
from typing import Any

import msgspec
import pytest
from tests.helpers import WORKER, claim, finish, submit
from tests.scheduler.asking import closed_gate, keep_time, register, show, why

from headway.domain import errors
from headway.domain.gates import Blocker
from headway.domain.manage.tokens import Principal, Role
from headway.domain.requests.job_requests import JobRequest
from headway.domain.runs import RunStatus
from headway.operations.work import children
from headway.scheduler.manage import limits
from headway.scheduler.scheduler import Scheduler


def named(scheduler: Scheduler, number: int) -> dict[str, str | None]:
    """What is said of the jobs that block this one."""
    blockers: tuple[Blocker, ...] = closed_gate(why(scheduler, number)).blockers
    return {one.id: one.detail for one in blockers if one.kind == "job"}


def test_why_names_the_parent_that_has_the_slot(scheduler: Scheduler) -> None:
    register(scheduler, slots=2)
    parent, other = submit(scheduler), submit(scheduler)
    claim(scheduler, 2)
    child = submit(scheduler, parent_id=parent.number)
    assert child.parent_id == parent.job_id
    said = named(scheduler, child.number)
    assert said[parent.job_id] == f"its parent, has a slot of worker {WORKER}"
    assert said[other.job_id] == f"has a slot of worker {WORKER}"


def test_why_names_ancestors_and_a_retry_of_the_parent(scheduler: Scheduler) -> None:
    register(scheduler, slots=2)
    again = {"max_attempts": 1, "base_delay_s": 0}
    first = submit(scheduler, retry_policy=again)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    keep_time(scheduler)
    (retry,) = claim(scheduler)
    child = submit(scheduler, parent_id=first.job_id)
    claim(scheduler)
    grandchild = submit(scheduler, parent_id=child.job_id)
    said = named(scheduler, grandchild.number)
    assert (said[child.job_id] or "").startswith("its parent, ")
    assert (said[retry.job_id] or "").startswith("an ancestor, ")


def test_why_names_the_parent_that_fills_a_limit(scheduler: Scheduler) -> None:
    register(scheduler)
    scheduler.store.write(lambda tx: limits.put(scheduler, tx, "global", size=1, rate=None))
    parent = submit(scheduler)
    claim(scheduler)
    child = submit(scheduler, parent_id=parent.number)
    assert named(scheduler, child.number) == {parent.job_id: "its parent, uses 1 of global"}


def test_a_retry_keeps_its_parent(scheduler: Scheduler) -> None:
    parent = submit(scheduler, "parent")
    child = submit(scheduler, parent_id=parent.job_id)
    finish(scheduler, claim(scheduler, job_types=("work",)), RunStatus.FAILED)
    assert show(scheduler, child.number + 1).parent_id == parent.job_id


def test_the_parent_must_be_there(scheduler: Scheduler) -> None:
    with pytest.raises(errors.UnknownReference):
        submit(scheduler, parent_id=7)


def test_a_worker_submits_and_sees_only_children_of_what_it_runs(scheduler: Scheduler) -> None:
    register(scheduler, token_id="t")
    parent, other = submit(scheduler), submit(scheduler, "other", unique_key="theirs")
    claim(scheduler, job_types=("work",))
    worker = Principal(name="w", role=Role.WORK, token_id="t")

    def check(principal: Principal = worker, **fields: Any) -> None:
        request = msgspec.convert({"job_type": "child", **fields}, JobRequest)
        scheduler.store.read(lambda tx: children.check(scheduler, tx, principal, [request]))

    check(parent_id=parent.number)
    child = submit(scheduler, "child", parent_id=parent.number, unique_key="ours")
    check(parent_id=parent.job_id, after=[child.number], unique_key="ours")
    scheduler.store.read(lambda tx: children.check_own(tx, worker, child.job_id))
    stranger = Principal(name="s", role=Role.WORK, token_id="another")
    for wrong in (
        {},
        {"parent_id": other.number},
        {"parent_id": 10**6},
        {"parent_id": parent.number, "after": [other.number]},
        {"parent_id": parent.number, "needs": [f"job:{other.number}"]},
        {"parent_id": parent.number, "unique_key": "theirs"},
    ):
        with pytest.raises(errors.Forbidden):
            check(**wrong)
    with pytest.raises(errors.Forbidden):
        check(stranger, parent_id=parent.number)
    for reference in (other.job_id, str(10**6)):
        see = partial(children.check_own, principal=worker, reference=reference)
        with pytest.raises(errors.Forbidden):
            scheduler.store.read(see)
