"""The audit log: who changed what, written with the change itself."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from tests.helpers import MovableClock, ask

from headway.domain import errors
from headway.domain.manage import audit
from headway.domain.manage.tokens import Principal, Role
from headway.domain.requests.job_requests import JobRequest
from headway.operations import jobs as job_operations
from headway.operations.manage import audit as operations
from headway.operations.manage import tokens as token_operations
from headway.protocol.jobs import CancelBody
from headway.protocol.tokens import AuditQuery, TokenRequest
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import submit
from headway.scheduler.upkeep import retention


def entries(scheduler: Scheduler, **query: Any) -> list[tuple[str, str | None, str, str | None]]:
    found = ask(operations.list_audit, scheduler, query=AuditQuery(**query)).items
    return [(one.actor, one.role, one.action, one.target) for one in found]


def test_a_change_is_noted_with_its_actor_role_and_target(scheduler: Scheduler) -> None:
    token = ask(
        token_operations.create_token,
        scheduler,
        body=TokenRequest(name="ci", role=Role.SUBMIT),
    )
    ask(token_operations.revoke_token, scheduler, id=token.token_id)
    assert sorted(entries(scheduler)) == [
        ("somebody", "admin", "create_token", f"token {token.token_id}"),
        ("somebody", "admin", "revoke_token", f"token {token.token_id}"),
    ]
    assert [one[2] for one in entries(scheduler, action="revoke_token")] == ["revoke_token"]
    assert entries(scheduler, actor="nobody") == []
    rows = scheduler.store.read(lambda tx: tx.select("SELECT * FROM audit", {}))
    assert str(token.token) not in str(rows)


def test_what_is_refused_changes_nothing_and_is_not_noted(scheduler: Scheduler) -> None:
    with pytest.raises(errors.NotFound):
        ask(token_operations.revoke_token, scheduler, id="unknown")
    with pytest.raises(errors.NotFound):
        ask(job_operations.cancel_job, scheduler, body=CancelBody(), id="17")
    assert entries(scheduler) == []


def test_jobs_that_are_submitted_together_share_an_entry_for_each_caller(
    scheduler: Scheduler,
) -> None:
    ann, bob = (Principal(name=name, role=Role.SUBMIT, token_id=name) for name in ("ann", "bob"))
    held, go = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        held.set()
        assert go.wait(30)

    holding = scheduler.store.write_later(hold)
    assert held.wait(30)
    made = [
        submit.submit_later(
            submit.Submission(scheduler=scheduler, request=JobRequest(job_type="x"), by=by)
        )
        for by in (ann, ann, bob, ann)
    ]
    go.set()
    holding.result(30)
    numbers = [one.result(30).job.number for one in made]
    noted = {actor: target for actor, _, _, target in entries(scheduler)}
    assert noted == {
        "ann": f"job {audit.ranges([*numbers[:2], numbers[3]])}",
        "bob": f"job {numbers[2]}",
    }


def test_a_job_that_was_found_by_its_key_is_no_change(scheduler: Scheduler) -> None:
    body = JobRequest(job_type="x", idempotency_key="once")
    for _ in range(2):
        ask(job_operations.create_job, scheduler, body=body)
    assert entries(scheduler) == [("somebody", "admin", "create_job", "job 1")]


def test_the_log_outlives_what_is_collected(scheduler: Scheduler, clock: MovableClock) -> None:
    ask(job_operations.create_job, scheduler, body=JobRequest(job_type="x"))
    clock.move(timedelta(days=audit.KEPT_DAYS).total_seconds() - 1)
    retention.collect(scheduler, 60)
    assert len(entries(scheduler)) == 1
    clock.move(2)
    retention.collect(scheduler, 60)
    assert entries(scheduler) == []


def test_numbers_are_shown_as_ranges() -> None:
    assert audit.ranges([3, 1, 2, 9, 5, 6]) == "1-3, 5-6, 9"
    assert audit.ranges([]) == ""
