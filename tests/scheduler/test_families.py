"""Programs and their children when somebody rewinds, retries or cancels, or a key finds them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from tests.helpers import WORKER, claim, finish, job, run_next, runs_of, submit
from tests.scheduler.test_programs import children, lease_of, signal, suspend, suspended

from headway.domain import errors
from headway.domain.jobs import RetryPolicy
from headway.domain.requests.group_requests import GroupRequest
from headway.domain.requests.job_requests import BatchJobRequest
from headway.domain.runs import Outcome, RunStatus
from headway.domain.states import JobStatus
from headway.domain.steps import StepKind, Wait
from headway.protocol.work_values import Report, Started
from headway.scheduler.change import cancel, retry, rewind
from headway.scheduler.manage import groups
from headway.scheduler.programs import reports, steps
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import repair, verify

ONCE = RetryPolicy(max_attempts=0)


@pytest.fixture(autouse=True)
def _nothing_is_broken(scheduler: Scheduler) -> Any:
    yield
    assert verify.verify(scheduler) == []


def ends_of(scheduler: Scheduler, parent: Started) -> list[tuple[int, JobStatus, Any]]:
    """How the children ended, as the next run of their parent is told."""
    (waited,) = scheduler.store.read(lambda tx: steps.of_lease(tx, WORKER, lease_of(parent)))
    return [(one.number, one.status, one.result) for one in waited.result]


def rewound(scheduler: Scheduler, number: int, **how: Any) -> None:
    scheduler.store.write(lambda tx: rewind.rewind(scheduler, tx, number, force=True, **how))


def retried(scheduler: Scheduler, number: int) -> int:
    """A failed job is tried again by hand."""
    run_id = runs_of(scheduler, number)[0].run_id
    return scheduler.store.write(lambda tx: retry.retry_run(scheduler, tx, run_id))


def statuses(scheduler: Scheduler, *numbers: int) -> Sequence[str]:
    return [job(scheduler, number).status.value for number in numbers]


def test_a_parent_waits_for_a_child_that_is_rewound(scheduler: Scheduler) -> None:
    suspended(scheduler, children("a", "b"))
    run_next(scheduler, result="wrong")
    rewound(scheduler, 2)
    assert statuses(scheduler, 1, 2) == ["SUSPENDED", "QUEUED"]
    assert job(scheduler, 1).generation == 1
    (b,) = claim(scheduler, job_types=("b",))
    finish(scheduler, b, result="b")
    assert statuses(scheduler, 1) == ["SUSPENDED"]
    run_next(scheduler, result="right")
    (again,) = claim(scheduler)
    assert ends_of(scheduler, again) == [
        (2, JobStatus.SUCCEEDED, "right"),
        (3, JobStatus.SUCCEEDED, "b"),
    ]


def test_a_parent_waits_for_a_child_that_has_not_ended_and_is_rewound(scheduler: Scheduler) -> None:
    suspended(scheduler, children("a"))
    rewound(scheduler, 2)
    assert statuses(scheduler, 1, 2) == ["SUSPENDED", "QUEUED"]
    run_next(scheduler, result="a")
    (again,) = claim(scheduler)
    assert ends_of(scheduler, again) == [(2, JobStatus.SUCCEEDED, "a")]


def test_a_parent_waits_for_a_child_that_is_retried_by_hand(scheduler: Scheduler) -> None:
    suspended(scheduler, children("a", "b", retry_policy=ONCE))
    run_next(scheduler, RunStatus.FAILED)
    retried(scheduler, 2)
    (b,) = claim(scheduler, job_types=("b",))
    finish(scheduler, b)
    assert statuses(scheduler, 1) == ["SUSPENDED"]
    run_next(scheduler, result="a")
    (again,) = claim(scheduler)
    assert ends_of(scheduler, again)[0] == (2, JobStatus.SUCCEEDED, "a")


def test_the_result_that_a_parent_goes_on_with_does_not_change(scheduler: Scheduler) -> None:
    suspended(scheduler, children("a", retry_policy=ONCE), retry_policy=ONCE)
    run_next(scheduler, RunStatus.FAILED)
    with pytest.raises(errors.Conflict, match=r"is a child of job .* goes on with"):
        retried(scheduler, 2)
    with pytest.raises(errors.Conflict, match=r"is a child of job .* goes on with"):
        rewound(scheduler, 2)
    run_next(scheduler, RunStatus.FAILED)
    retried(scheduler, 2)
    with pytest.raises(errors.Conflict, match=r"goes on with the result of its child .* QUEUED"):
        retried(scheduler, 1)
    run_next(scheduler, result="mended")
    retried(scheduler, 1)
    (again,) = claim(scheduler)
    assert ends_of(scheduler, again) == [(2, JobStatus.SUCCEEDED, "mended")]


def test_a_rewind_that_keeps_steps_waits_for_the_children_in_them(scheduler: Scheduler) -> None:
    suspended(scheduler, children("a"))
    run_next(scheduler)
    (again,) = claim(scheduler)
    suspend(scheduler, again, signal("go"))
    with pytest.raises(errors.Conflict, match="is a child of job"):
        rewound(scheduler, 2)
    scheduler.store.write(lambda tx: cancel.cancel(scheduler, tx, 1))
    rewound(scheduler, 2)
    with pytest.raises(errors.Conflict, match="goes on with the result of its child"):
        rewound(scheduler, 1, from_step=("go", 0))
    run_next(scheduler, result="newer")
    rewound(scheduler, 1, from_step=("go", 0))
    (again,) = claim(scheduler)
    assert ends_of(scheduler, again) == [(2, JobStatus.SUCCEEDED, "newer")]


def test_a_job_that_a_key_found_is_waited_for_and_not_cancelled(scheduler: Scheduler) -> None:
    submit(scheduler, "other", unique_key="k")
    submit(scheduler, "program")
    (started,) = claim(scheduler, job_types=("program",))
    assert suspend(scheduler, started, children("other", unique_key="k")).status == "SUSPENDED"
    scheduler.store.write(lambda tx: cancel.cancel(scheduler, tx, 2))
    assert statuses(scheduler, 1, 2) == ["QUEUED", "CANCELLED"]


def test_a_job_that_a_key_found_is_no_reason_to_start_afresh(scheduler: Scheduler) -> None:
    submit(scheduler, "other", idempotency_key="k")
    submit(scheduler, "program")
    (started,) = claim(scheduler, job_types=("program",))
    suspend(scheduler, started, children("other", idempotency_key="k"))
    run_next(scheduler)
    rewound(scheduler, 1)
    (again,) = claim(scheduler, job_types=("program",))
    suspend(scheduler, again, children("other", idempotency_key="k"))
    rewound(scheduler, 2)
    assert statuses(scheduler, 1, 2) == ["QUEUED", "QUEUED"]


@pytest.mark.parametrize(
    "child",
    [
        {"unique_key": "own"},
        {"unique_key": "between"},
        {"after": (1,)},
        {"params": {"result": {"$result": 1}}},
    ],
)
def test_a_program_cannot_wait_for_one_that_waits_for_it(
    scheduler: Scheduler, child: dict[str, Any]
) -> None:
    submit(scheduler, "program", unique_key="own")
    submit(scheduler, "between", unique_key="between", after=[1])
    (started,) = claim(scheduler, job_types=("program",))
    wanted = (BatchJobRequest(job_type="a"), BatchJobRequest(job_type="between", **child))
    wait = Wait(kind=StepKind.CHILDREN, name="children", children=wanted)
    assert suspend(scheduler, started, wait).status is JobStatus.FAILED
    assert "would wait for a job that waits for it" in (job(scheduler, 1).error or "")
    with pytest.raises(errors.NotFound):
        job(scheduler, 4)


def test_a_child_that_is_refused_keeps_no_other_report_back(scheduler: Scheduler) -> None:
    submit(scheduler, "used", idempotency_key="k", params={"x": 1})
    submit(scheduler, "program")
    submit(scheduler, "program")
    started = claim(scheduler, 2, job_types=("program",))
    wrong = children("used", idempotency_key="k", params={"x": 2})
    waits = [wrong, Wait(kind=StepKind.SLEEP, name="sleep", delay_s=9)]
    wanted = [
        Report(lease_id=lease_of(one), outcome=Outcome(status=RunStatus.SUSPENDED, wait=wait))
        for one, wait in zip(started, waits, strict=True)
    ]
    ready = reports.prepared(scheduler, wanted)
    answers = scheduler.store.write_beside(lambda tx: reports.record(scheduler, tx, WORKER, ready))
    assert [one.status for one in answers] == [JobStatus.FAILED, JobStatus.SUSPENDED]
    assert "different request" in (job(scheduler, 2).error or "")


def test_children_are_made_all_or_none(scheduler: Scheduler) -> None:
    submit(scheduler, "program")
    (started,) = claim(scheduler)
    wanted = (
        BatchJobRequest(job_type="a"),
        BatchJobRequest(job_type="a", limits={"unknown": 1}),
    )
    wait = Wait(kind=StepKind.CHILDREN, name="children", children=wanted)
    assert suspend(scheduler, started, wait).status is JobStatus.FAILED
    with pytest.raises(errors.NotFound):
        job(scheduler, 2)


def test_cancelling_a_group_cancels_the_children_of_its_programs(scheduler: Scheduler) -> None:
    request = GroupRequest(name="g", jobs=[BatchJobRequest(job_type="program")])
    made = scheduler.store.write(lambda tx: groups.create(scheduler, tx, request))
    (started,) = claim(scheduler)
    suspend(scheduler, started, children("a", "b"))
    (running,) = claim(scheduler, job_types=("b",))
    scheduler.store.write(lambda tx: groups.cancel(scheduler, tx, made.group_id))
    assert statuses(scheduler, 1, 2, 3) == ["CANCELLED", "CANCELLED", "RUNNING"]
    assert job(scheduler, 3).cancel_requested
    finish(scheduler, running)


@pytest.mark.parametrize(
    "until",
    [
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
        datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-14))),
        datetime(9999, 12, 31, tzinfo=UTC),
    ],
)
def test_no_job_sleeps_until_a_moment_that_no_clock_shows(
    scheduler: Scheduler, until: datetime
) -> None:
    submit(scheduler)
    (started,) = claim(scheduler)
    with pytest.raises(errors.InvalidRequest, match="is out of range"):
        suspend(scheduler, started, Wait(kind=StepKind.SLEEP, name="sleep", until=until))


def test_a_program_whose_wait_is_lost_goes_on_after_a_repair(scheduler: Scheduler) -> None:
    submit(scheduler, "before")
    run_next(scheduler)
    suspended(scheduler, children("a", "b"), after=[1])
    run_next(scheduler)
    scheduler.store.write(lambda tx: tx.select("DELETE FROM steps RETURNING chain", {}))
    scheduler.store.write(lambda tx: repair.mend(scheduler, tx))
    assert statuses(scheduler, 2) == ["QUEUED"]
