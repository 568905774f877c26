"""A group may have a job that is made when it ends, with a summary of it."""

import json
from typing import Any

import msgspec
import pytest
from tests.helpers import MovableClock, claim, finish, job, submit
from tests.scheduler.asking import keep_time, rewound

from headway.domain import errors
from headway.domain.manage.groups import Group
from headway.domain.manage.tokens import Principal, Role
from headway.domain.requests.group_requests import GroupRequest
from headway.domain.runs import RunStatus
from headway.operations import dispatch
from headway.operations.bound import Call
from headway.protocol import groups as protocol
from headway.protocol.operation import Nothing
from headway.scheduler.manage import groups
from headway.scheduler.scheduler import Scheduler
from headway.storage.manage import groups as kept

ONCE = {"job_type": "work", "retry_policy": {"max_attempts": 0}}


def made(scheduler: Scheduler, count: int = 2, **on_complete: Any) -> Group:
    """A group of jobs side by side that makes a job at its end."""
    body = {
        "name": "release",
        "mode": "parallel",
        "on_failure": "continue",
        "jobs": [ONCE] * count,
        "on_complete": {"job_type": "tell", **on_complete},
    }
    request = msgspec.convert(body, GroupRequest)
    return scheduler.store.write(lambda tx: groups.create(scheduler, tx, request))


def shown(scheduler: Scheduler, group: Group) -> Group:
    return scheduler.store.read(lambda tx: kept.find(tx, group.group_id))


def test_the_job_is_made_with_the_end_and_knows_how_the_group_ended(scheduler: Scheduler) -> None:
    group = made(scheduler, params={"channel": "ops", "name": "own"}, priority="high", name="Tell")
    good, bad = claim(scheduler, 9)
    finish(scheduler, good)
    assert shown(scheduler, group).on_complete_job is None
    finish(scheduler, bad, RunStatus.FAILED)
    told = job(scheduler, str(shown(scheduler, group).on_complete_job))
    assert (told.status, told.job_type, told.priority, told.name) == ("QUEUED", "tell", 10, "Tell")
    assert told.params == {
        "channel": "ops",
        "group_id": group.group_id,
        "name": "release",
        "status": "PARTIAL",
        "counts": {"succeeded": 1, "failed": 1},
        "failed": [
            {
                "job_id": group.members[1].job_id,
                "number": group.members[1].number,
                "status": "FAILED",
            }
        ],
    }
    assert told.group_id is None
    assert [one.number for one in claim(scheduler, 9)] == [told.number]


def test_it_is_made_once_however_often_the_group_ends(scheduler: Scheduler) -> None:
    group = made(scheduler)
    for started in claim(scheduler, 9):
        finish(scheduler, started)
    first = shown(scheduler, group).on_complete_job
    (told,) = claim(scheduler, 9)
    finish(scheduler, told)
    rewound(scheduler, group.members[0].number, force=True)
    (again,) = claim(scheduler, 9)
    finish(scheduler, again)
    assert shown(scheduler, group).status == "COMPLETED"
    assert shown(scheduler, group).on_complete_job == first
    assert claim(scheduler, 9) == []


def test_it_is_made_for_a_cancelled_group_too_and_waits_for_its_delay(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    group = made(scheduler, delay_s=60)
    clock.move(1000)
    scheduler.store.write(lambda tx: groups.cancel(scheduler, tx, "release"))
    told = job(scheduler, str(shown(scheduler, group).on_complete_job))
    assert told.params["status"] == "CANCELLED"
    assert claim(scheduler, 9) == []
    clock.move(60)
    keep_time(scheduler)
    assert [one.number for one in claim(scheduler, 9)] == [told.number]


def test_a_program_reads_the_summary_from_its_standard_input(scheduler: Scheduler) -> None:
    group = made(scheduler, 1, job_type="command", params={"argv": ["tell"]})
    finish(scheduler, claim(scheduler))
    told = job(scheduler, str(shown(scheduler, group).on_complete_job))
    assert told.params["argv"] == ["tell"]
    assert json.loads(told.params["stdin"])["counts"] == {"succeeded": 1}


@pytest.mark.parametrize(
    "wrong",
    [
        {"after": [1]},
        {"unique_key": "one"},
        {"idempotency_key": "one"},
        {"limits": {"nobody": 1}},
        {"timeout_s": -1},
        {"job_type": None, "template": "nobody"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_what_could_not_be_made_at_the_end_is_refused_at_the_start(
    scheduler: Scheduler, wrong: dict[str, Any]
) -> None:
    submit(scheduler)
    with pytest.raises(errors.HeadwayError) as caught:
        made(scheduler, **wrong)
    assert caught.value.http_status == 422
    with pytest.raises(errors.NotFound):
        scheduler.store.read(lambda tx: kept.find(tx, "release"))


def test_below_admin_it_is_no_command(scheduler: Scheduler) -> None:
    body = {"jobs": [ONCE], "on_complete": {"job_type": "command", "params": {"argv": ["true"]}}}
    call = Call(
        scheduler=scheduler,
        principal=Principal(name="sue", role=Role.SUBMIT),
        body=msgspec.convert(body, GroupRequest),
        query=Nothing(),
    )
    with pytest.raises(errors.Forbidden):
        dispatch.find(protocol.create_group).perform(call).result()
