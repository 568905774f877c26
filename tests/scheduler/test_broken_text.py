"""No NUL and no half of a character comes in, on either store; what work reports is kept."""

from concurrent.futures import Future
from typing import Any

import msgspec
import pytest
from tests.helpers import claim, finish, runs_of, submit

from headway.domain import errors
from headway.domain.manage.tokens import Principal, Role
from headway.http import routes
from headway.operations import dispatch
from headway.scheduler.scheduler import Scheduler
from headway.storage import events

ASKED: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "params": ("POST", "/api/jobs", {"job_type": "x", "params": {"a": ["?"]}}, "params.a[0]"),
    "the name of a param": ("POST", "/api/jobs", {"job_type": "x", "params": {"?": 1}}, "params"),
    "a type": ("POST", "/api/jobs", {"job_type": "?"}, "job_type"),
    "a tag": ("POST", "/api/jobs", {"job_type": "x", "tags": ["?"]}, "tags"),
    "a URL": ("POST", "/api/jobs", {"job_type": "x", "webhook_url": "http://a/?"}, "webhook_url"),
    "an artifact": ("POST", "/api/jobs", {"job_type": "x", "needs": ["file:?"]}, "needs"),
    "changed params": ("PATCH", "/api/jobs/1", {"params": {"a": "?"}}, "params.a"),
    "a reason to cancel": ("POST", "/api/jobs/1/cancel", {"reason": "?"}, "reason"),
    "a reason to approve": ("POST", "/api/jobs/1/approve", {"reason": "?"}, "reason"),
    "a reason to reject": ("POST", "/api/jobs/1/reject", {"reason": "?"}, "reason"),
    "a reason to cancel a group": ("POST", "/api/job-groups/g/cancel", {"reason": "?"}, "reason"),
    "a description": (
        "POST",
        "/api/job-templates",
        {"name": "t", "job_type": "x", "description": "?"},
        "description",
    ),
    "params of a template": (
        "POST",
        "/api/job-templates",
        {"name": "t", "job_type": "x", "params": {"a": "?"}},
        "params.a",
    ),
    "the name of a token": ("POST", "/api/tokens", {"name": "?", "role": "read"}, "name"),
    "who reserves": ("POST", "/api/reservations", {"reserved_by": "?"}, "reserved_by"),
}


def ask(scheduler: Scheduler, method: str, path: str, body: Any) -> Any:
    """Perform an operation as an admin would."""
    bound, values = routes.find(method, path)
    made = msgspec.convert(body, bound.operation.body)
    admin = Principal(name="admin", role=Role.ADMIN)
    answer = dispatch.perform(scheduler, admin, bound, values, made, None)
    return answer.result() if isinstance(answer, Future) else answer


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"], ids=["NUL", "half a character"])
@pytest.mark.parametrize("what", ASKED)
def test_broken_text_is_refused_and_nothing_is_kept(
    scheduler: Scheduler, what: str, text: str
) -> None:
    submit(scheduler, approval=True)
    kept = scheduler.store.read(lambda tx: events.after(tx, 0, 100))
    method, path, body, field = ASKED[what]
    broken = _broken(body, text)
    with pytest.raises(errors.Invalid) as caught:
        ask(scheduler, method, path, broken)
    assert list(caught.value.fields) == [field]
    assert scheduler.store.read(lambda tx: events.after(tx, 0, 100)) == kept


def _broken(value: Any, text: str) -> Any:
    """The value with broken text where its question marks are."""
    if isinstance(value, str):
        return value.replace("?", text)
    if isinstance(value, list):
        return [_broken(one, text) for one in value]
    if isinstance(value, dict):
        return {_broken(key, text): _broken(one, text) for key, one in value.items()}
    return value


def test_a_result_with_a_nul_is_kept_as_it_is(scheduler: Scheduler) -> None:
    submit(scheduler)
    (started,) = claim(scheduler)
    finish(scheduler, started, result={"text": "a\0b"})
    (run,) = runs_of(scheduler, started.number)
    assert run.result == {"text": "a\0b"}
