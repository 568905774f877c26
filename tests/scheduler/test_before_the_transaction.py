"""What is expensive about a request is done before its transaction begins."""

from typing import Any

import pytest
from tests.helpers import ask

from headway.api import groups, jobs
from headway.domain import errors, plain_json
from headway.domain.group_requests import GroupRequest
from headway.domain.requests import BatchJobRequest
from headway.scheduler.scheduler import Scheduler


@pytest.fixture
def no_transaction(scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for a transaction fails the test."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a transaction was asked for")

    monkeypatch.setattr(scheduler.store, "write_later", refuse)
    monkeypatch.setattr(scheduler.store, "write_together", refuse)


BAD = BatchJobRequest(job_type="work", params={"a": [1, "\0"]})
GOOD = BatchJobRequest(job_type="work", params={"a": [1]})


@pytest.mark.usefixtures("no_transaction")
def test_bad_params_never_reach_a_transaction(scheduler: Scheduler) -> None:
    for operation, body in (
        (jobs.create_job, BAD),
        (jobs.create_jobs, jobs.Batch(jobs=[GOOD, BAD])),
        (groups.create_group, GroupRequest(jobs=[GOOD, BAD])),
    ):
        with pytest.raises(errors.InvalidRequest, match=r"params.a\[1\]: contains a NUL"):
            ask(operation, scheduler, body=body)


def test_good_params_are_not_walked_in_a_transaction(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    walked: list[bool] = []
    inside: list[str] = []
    look, write = plain_json._is_suspicious, scheduler.store.write_later

    def write_later(work: Any, *rest: Any) -> Any:
        inside.append("transaction")
        return write(work, *rest)

    def noted(value: Any, text: bytes) -> bool:
        walked.append(bool(inside))
        return look(value, text)

    monkeypatch.setattr(scheduler.store, "write_later", write_later)
    monkeypatch.setattr(plain_json, "_is_suspicious", noted)
    ask(jobs.create_jobs, scheduler, body=jobs.Batch(jobs=[GOOD, GOOD]))
    assert walked == [False, False]
