"""What is expensive about a request is done before its transaction begins."""

from typing import Any

import pytest
from tests.helpers import ask, job, submit
from tests.scheduler.asking import watch_queries

from headway.domain import errors
from headway.domain.requests import job_requests
from headway.domain.requests.group_requests import GroupRequest
from headway.domain.requests.job_requests import BatchJobRequest
from headway.domain.values import plain_json
from headway.operations import jobs
from headway.operations.manage import groups
from headway.protocol.jobs import Batch
from headway.scheduler.manage import limits
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine import codec


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
        (jobs.create_jobs, Batch(jobs=[GOOD, BAD])),
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
    ask(jobs.create_jobs, scheduler, body=Batch(jobs=[GOOD, GOOD]))
    assert walked == [False, False]


@pytest.mark.usefixtures("no_transaction")
def test_a_batch_that_names_too_much_never_reaches_a_transaction(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_requests, "MOST_NAMED", 9)
    one = BatchJobRequest(job_type="work", after=(1, 2), tags=("a",), locks=("b",))
    for operation, body in (
        (jobs.create_jobs, Batch(jobs=[one, GOOD, one, one])),
        (groups.create_group, GroupRequest(jobs=[one, one, one])),
    ):
        with pytest.raises(errors.InvalidRequest, match=r"name 12 other jobs, .* may name 9"):
            ask(operation, scheduler, body=body)


def test_what_a_batch_has_in_common_is_looked_up_once(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduler.store.write(lambda tx: limits.put(scheduler, tx, "gpu", size=4, rate=None))
    earlier = [submit(scheduler, limits={"gpu": 1}).number for _ in range(20)]
    asked = watch_queries(monkeypatch)
    noted: list[list[str]] = []
    for count in (2, 20):
        batch = [
            BatchJobRequest(
                job_type="work",
                after=(number,),
                needs=(f"job:{number}",),
                limits={"gpu": 1},
                unique_key=f"{count}-{number}",
            )
            for number in earlier[:count]
        ]
        for _ in ("new", "again"):
            asked.clear()
            made = ask(jobs.create_jobs, scheduler, body=Batch(jobs=batch))
            noted.append(list(asked))
        assert len({one.number for one in made.jobs}) == count
    assert noted[:2] == noted[2:]


def test_params_are_written_as_json_once(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    dumped: list[Any] = []
    dump = codec.dump

    def noted(value: Any) -> str:
        dumped.append(value)
        return dump(value)

    monkeypatch.setattr(codec, "dump", noted)
    made = ask(jobs.create_jobs, scheduler, body=Batch(jobs=[GOOD])).jobs[0]
    assert GOOD.params not in dumped
    assert job(scheduler, made.number).params == GOOD.params
