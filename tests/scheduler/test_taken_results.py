"""Params that take the results of other jobs."""

import dataclasses
from typing import Any

import msgspec
import pytest
from tests.helpers import (
    MovableClock,
    ask,
    ask_lease,
    claim,
    finish,
    job,
    run_next,
    runs_of,
    submit,
)
from tests.scheduler.asking import damage, keep_time, rewound, submit_all, watch_queries

from headway.domain import errors
from headway.domain.handlers import Handler
from headway.domain.jobs import Policy, RetryState
from headway.domain.requests.job_requests import JobPatch
from headway.domain.requests.template_requests import TemplateRequest
from headway.domain.runs import RunStatus
from headway.domain.states import JobStatus
from headway.domain.workers import Abilities
from headway.operations import runs as operations
from headway.protocol.runs import RetryBody
from headway.protocol.work_values import Denied, Started
from headway.scheduler.change import edit
from headway.scheduler.claim import claims
from headway.scheduler.claim.dispatch import ClaimRequest
from headway.scheduler.manage import templates
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import retention, verify

FAILED = RunStatus.FAILED
NO_RETRY = {"max_attempts": 0}


def of(name: str | int, path: str | None = None) -> dict[str, Any]:
    return {"$result": name} if path is None else {"$result": name, "path": path}


def params(started: Started) -> Any:
    return msgspec.json.decode(started.params)


def start_next(scheduler: Scheduler) -> Started:
    (started,) = claim(scheduler)
    return started


def test_a_result_of_the_same_batch_is_filled_in_when_the_job_starts(scheduler: Scheduler) -> None:
    first, second = submit_all(
        scheduler,
        {"ref": "page"},
        {"params": {"page": of("ref:page"), "titles": [1, of("ref:page", "titles.0")], "n": 3}},
    )
    waiting = job(scheduler, second)
    assert waiting.status is JobStatus.WAITING_ON_DEPS
    assert [(one.number, one.policy) for one in waiting.after] == [(first, Policy.SUCCESS)]
    page_id = job(scheduler, first).job_id
    assert waiting.params == {
        "page": of(page_id),
        "titles": [1, of(page_id, "titles.0")],
        "n": 3,
    }
    result = {"titles": ["a", "b"]}
    run_next(scheduler, result=result)
    started = start_next(scheduler)
    filled = {"page": result, "titles": [1, "a"], "n": 3}
    assert params(started) == filled
    assert runs_of(scheduler, second)[0].params_snapshot == filled
    assert job(scheduler, second).params == waiting.params
    finish(scheduler, started)
    assert verify.verify(scheduler) == []


def test_an_earlier_job_is_named_by_number_or_id_and_may_have_ended(scheduler: Scheduler) -> None:
    first = submit(scheduler)
    run_next(scheduler, result=7)
    for name in (first.number, str(first.number), first.job_id, first.job_id.upper()):
        made = submit(scheduler, params={"x": of(name)})
        assert made.status is JobStatus.QUEUED
        assert made.params == {"x": of(first.job_id)}
        assert params(start_next(scheduler)) == {"x": 7}


def test_a_dependency_that_is_named_too_is_one_dependency(scheduler: Scheduler) -> None:
    first = submit(scheduler)
    made = submit(scheduler, after=[first.number], params={"x": of(1), "y": of(first.job_id, "a")})
    assert len(made.after) == 1


def test_no_result_and_a_skipped_job_give_null(scheduler: Scheduler) -> None:
    nothing, skipped = submit(scheduler), submit(scheduler)
    run_next(scheduler)
    run_next(scheduler, RunStatus.SKIPPED, error="no need")
    wanted = {"a": of(nothing.number), "b": of(skipped.number), "c": of(skipped.number, "x.y")}
    submit(scheduler, params=wanted)
    assert params(start_next(scheduler)) == {"a": None, "b": None, "c": None}


def test_a_path_that_does_not_exist_fails_the_job_for_good(scheduler: Scheduler) -> None:
    first, second, third = submit_all(
        scheduler,
        {"ref": "a"},
        {"ref": "b", "params": {"x": [of("ref:a", "lines.3")]}, "locks": ["gpu"]},
        {"after": ["ref:b"]},
    )
    run_next(scheduler, result={"lines": [1]})
    assert claim(scheduler) == []
    failed = job(scheduler, second)
    assert (failed.status, failed.retry_state) == (JobStatus.FAILED, RetryState.SUPPRESSED)
    assert failed.error == (
        f"params.x[0]: the result of job {job(scheduler, first).job_id} has no 'lines.3'"
    )
    (run,) = runs_of(scheduler, second)
    assert (run.status, run.error) == (FAILED, failed.error)
    assert job(scheduler, third).status is JobStatus.BLOCKED_BY_DEPENDENCY
    assert verify.verify(scheduler) == []
    submit(scheduler, locks=["gpu"])
    assert len(claim(scheduler)) == 1


def test_beside_one_that_cannot_start_others_do(scheduler: Scheduler) -> None:
    submit(scheduler)
    run_next(scheduler, result=[])
    bad, good = submit_all(
        scheduler, {"params": {"x": of(1, "0")}}, {"params": {"x": of(1)}, "tags": ["good"]}
    )
    assert [(one.number, params(one)) for one in claim(scheduler, 5)] == [(good, {"x": []})]
    assert job(scheduler, bad).status is JobStatus.FAILED


def test_a_job_that_failed_blocks_as_with_after(scheduler: Scheduler) -> None:
    submit_all(
        scheduler,
        {"ref": "a", "retry_policy": NO_RETRY},
        {"params": {"x": of("ref:a")}},
    )
    run_next(scheduler, FAILED)
    assert job(scheduler, 2).status is JobStatus.BLOCKED_BY_DEPENDENCY
    assert submit(scheduler, params={"x": of(1)}).status is JobStatus.BLOCKED_BY_DEPENDENCY


def test_the_result_is_that_of_the_chains_success(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit_all(scheduler, {"ref": "a"}, {"params": {"x": of("ref:a")}})
    run_next(scheduler, FAILED, result="wrong")
    clock.move(10)
    keep_time(scheduler)
    assert run_next(scheduler, result="right").attempt == 1
    assert params(start_next(scheduler)) == {"x": "right"}


def test_a_retry_is_filled_in_anew_and_one_by_hand_takes_the_snapshot(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit_all(
        scheduler,
        {"ref": "a"},
        {"params": {"x": of("ref:a")}, "retry_policy": {"max_attempts": 1}},
    )
    run_next(scheduler, result="old")
    run_next(scheduler, FAILED)
    clock.move(10)
    keep_time(scheduler)
    retry = start_next(scheduler)
    assert params(retry) == {"x": "old"}
    finish(scheduler, retry, FAILED)
    assert job(scheduler, retry.number).params["x"] == of(job(scheduler, 1).job_id)
    run_id = str(job(scheduler, retry.number).run_id)
    ask(operations.retry_run, scheduler, body=RetryBody(), id=run_id)
    by_hand = start_next(scheduler)
    assert params(by_hand) == {"x": "old"}
    assert job(scheduler, by_hand.number).params == {"x": "old"}


def test_a_rewind_fills_in_the_new_result(scheduler: Scheduler) -> None:
    submit_all(scheduler, {"ref": "a"}, {"params": {"x": of("ref:a")}})
    run_next(scheduler, result="old")
    assert run_next(scheduler).number == 2
    rewound(scheduler, 1, force=True)
    run_next(scheduler, result="new")
    assert params(start_next(scheduler)) == {"x": "new"}
    snapshots = [run.params_snapshot for run in runs_of(scheduler, 2)]
    assert snapshots == [{"x": "new"}, {"x": "old"}]


def test_a_cycle_is_refused_with_its_path_and_nothing_is_stored(scheduler: Scheduler) -> None:
    for wanted, path in (
        ([{"ref": "a", "params": {"x": of("ref:a")}}], "a -> a"),
        (
            [
                {"ref": "a", "params": {"x": of("ref:b")}},
                {"ref": "b", "params": {"x": [of("ref:a")]}},
            ],
            "a -> b -> a",
        ),
        (
            [{"ref": "a", "after": ["ref:b"]}, {"ref": "b", "params": {"x": of("ref:a", "y")}}],
            "a -> b -> a",
        ),
    ):
        with pytest.raises(errors.DependencyCycle) as refused:
            submit_all(scheduler, *wanted)
        assert refused.value.detail == f"dependency cycle: {path}"
    with pytest.raises(errors.NotFound):
        job(scheduler, 1)


def test_an_unknown_job_is_refused_with_the_param(scheduler: Scheduler) -> None:
    for name in (99, "ref:a", "0198c0de-0000-7000-8000-000000000000", "no such"):
        with pytest.raises(errors.UnknownReference) as refused:
            submit(scheduler, params={"x": [{"y": of(name)}]})
        assert list(refused.value.fields) == ["params.x[0].y"]
    with pytest.raises(errors.UnknownReference) as refused:
        submit_all(scheduler, {}, {"params": {"x": of("ref:a")}})
    assert list(refused.value.fields) == ["jobs[1].params.x"]


def test_params_with_a_reference_are_checked_as_far_as_they_are_known(
    scheduler: Scheduler,
) -> None:
    def resize(image: int, name: str = "", **others: int) -> None: ...

    scheduler = dataclasses.replace(scheduler, handlers={"resize": Handler.of(resize)})
    submit(scheduler)
    for wanted, field in (
        ({"image": of(1), "name": 3}, "params.name"),
        ({"name": of(1)}, "params.image"),
        ({"image": of(1), "more": "x"}, "params.more"),
    ):
        with pytest.raises(errors.InvalidParams) as refused:
            submit(scheduler, "resize", params=wanted)
        assert list(refused.value.fields) == [field]
    submit(scheduler, "resize", params={"image": of(1), "name": of(1, "x"), "more": 1})
    for wanted, field in (
        ({"argv": ["x", of(1)], "cwd": 7}, "params.cwd"),
        ({"arg": of(1)}, "params.arg"),
    ):
        with pytest.raises(errors.InvalidParams) as refused:
            submit(scheduler, "command", params=wanted)
        assert list(refused.value.fields) == [field]


def test_a_command_gets_results_as_text(scheduler: Scheduler) -> None:
    submit(scheduler)
    run_next(scheduler, result={"n": 7, "words": ["a", "b"]})
    command = {
        "argv": ["echo", of(1, "n"), of(1, "words.0")],
        "env": {"WORDS": of(1, "words")},
        "stdin": of(1),
    }
    submit(scheduler, "command", params=command)
    assert params(start_next(scheduler)) == {
        "argv": ["echo", "7", "a"],
        "env": {"WORDS": '["a","b"]'},
        "stdin": '{"n":7,"words":["a","b"]}',
    }


def test_params_that_become_too_large_fail_the_job(scheduler: Scheduler) -> None:
    submit(scheduler)
    run_next(scheduler, result="x" * 600_000)
    submit(scheduler, params={"x": of(1)})
    assert len(params(start_next(scheduler))["x"]) == 600_000
    submit(scheduler, params={"x": [of(1)] * 5000})
    assert claim(scheduler) == []
    assert "params.x[1]: params has 1" in str(job(scheduler, 3).error)


def test_a_result_that_looks_like_a_reference_is_none(scheduler: Scheduler) -> None:
    submit(scheduler)
    run_next(scheduler, result=of(1))
    submit(scheduler, params={"x": of(1)}, retry_policy=NO_RETRY)
    assert run_next(scheduler, FAILED).number == 2
    assert runs_of(scheduler, 2)[0].params_snapshot == {"x": of(1)}
    ask(operations.retry_run, scheduler, body=RetryBody(), id=str(job(scheduler, 2).run_id))
    assert params(start_next(scheduler)) == {"x": of(1)}


def test_a_claim_in_two_steps_shows_the_results_and_fails_at_the_lease(
    scheduler: Scheduler,
) -> None:
    submit(scheduler)
    run_next(scheduler, result={"a": 1})
    submit(scheduler, params={"x": of(1, "a")})
    (claimed,) = claim(scheduler, lease=False)
    assert params(claimed) == {"x": 1}
    ask_lease(scheduler, claimed.number)
    assert runs_of(scheduler, claimed.number)[0].params_snapshot == {"x": 1}
    submit(scheduler, params={"x": of(1, "b")}, locks=["gpu"])
    (claimed,) = claim(scheduler, lease=False)
    denied = ask_lease(scheduler, claimed.number)
    assert isinstance(denied, Denied)
    assert denied.reason.endswith("has no 'b'")
    assert job(scheduler, claimed.number).status is JobStatus.FAILED
    assert verify.verify(scheduler) == []


def test_a_lost_answer_is_given_again_with_the_results(scheduler: Scheduler) -> None:
    submit(scheduler)
    run_next(scheduler, result=1)
    submit(scheduler, params={"x": of(1)})
    lost = start_next(scheduler)
    request = ClaimRequest(
        worker_id=str(lost.lease and lost.lease.worker_id), abilities=Abilities()
    )
    (again,) = scheduler.store.write(lambda tx: claims.claim(scheduler, tx, request, holds=[]))
    assert (again.number, params(again)) == (lost.number, {"x": 1})


def test_an_error_does_not_quote_a_secret_that_was_filled_in(scheduler: Scheduler) -> None:
    submit(scheduler)
    run_next(scheduler, result="hunter22")
    submit(scheduler, params={"password": of(1)}, retry_policy=NO_RETRY)
    assert run_next(scheduler, FAILED, error="cannot log in with hunter22").error == (
        "cannot log in with ***"
    )


def test_changed_params_take_results_only_of_jobs_that_come_before(scheduler: Scheduler) -> None:
    first, other = submit(scheduler), submit(scheduler)
    waiting = submit(scheduler, after=[first.number])

    def change(**wanted: Any) -> None:
        patch = JobPatch(params=wanted)
        scheduler.store.write(lambda tx: edit.edit(scheduler, tx, waiting.number, patch))

    change(x=of(first.number))
    assert job(scheduler, waiting.number).params == {"x": of(first.job_id)}
    for name in (other.number, 99, "ref:a"):
        with pytest.raises(errors.InvalidRequest) as refused:
            change(x=of(name))
        assert list(refused.value.fields) == ["params.x"]
    run_next(scheduler, result="a")
    started = claim(scheduler, 2)
    assert params(started[-1]) == {"x": "a"}


def test_the_params_of_a_template_may_take_a_result(scheduler: Scheduler) -> None:
    submit(scheduler)
    template = TemplateRequest(name="t", job_type="work", params={"x": of(1), "y": 1})
    scheduler.store.write(lambda tx: templates.create(scheduler, tx, template, by_admin=True))
    assert [one.number for one in submit(scheduler, None, template="t").after] == [1]
    assert submit(scheduler, None, template="t", params={"x": 2}).after == ()
    bad = TemplateRequest(name="u", job_type="work", params={"x": of(1, "")})
    with pytest.raises(errors.InvalidRequest):
        scheduler.store.write(lambda tx: templates.create(scheduler, tx, bad, by_admin=True))


def test_the_same_reference_under_another_name_is_no_other_job(scheduler: Scheduler) -> None:
    first = submit(scheduler)
    submit(scheduler, params={"x": of(first.job_id)}, unique_key="k")
    again = submit(scheduler, params={"x": of(first.number)}, unique_key="k")
    assert (again.deduplicated, again.params_differ) == (True, False)
    again = submit(scheduler, params={"x": of(first.number, "a")}, unique_key="k")
    assert again.params_differ is True


def test_a_job_whose_result_is_still_wanted_is_not_collected(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler)
    run_next(scheduler, result=1)
    submit(scheduler, params={"x": of(1)}, delay_s=3600)
    clock.move(1000)
    assert retention.collect(scheduler, 1.0).jobs == 0
    clock.move(3600)
    keep_time(scheduler)
    assert params(start_next(scheduler)) == {"x": 1}


def test_the_params_of_a_run_go_with_it(scheduler: Scheduler, clock: MovableClock) -> None:
    submit(scheduler)
    run_next(scheduler, result=1)
    submit(scheduler, params={"x": of(1)})
    run_next(scheduler)
    clock.move(1000)
    assert retention.collect(scheduler, 1.0).jobs == 2
    left = scheduler.store.read(lambda tx: tx.select("SELECT payload_id FROM payloads", {}))
    assert [row["payload_id"] for row in left] == [0]


def test_a_result_that_is_lost_fails_the_job(scheduler: Scheduler) -> None:
    first = submit(scheduler)
    run_next(scheduler, result=1)
    submit(scheduler, params={"x": of(1)})
    damage(scheduler, "DELETE FROM jobs WHERE number = 1")
    assert claim(scheduler) == []
    assert job(scheduler, 2).error == f"params.x: job {first.job_id} has no result any more"


def test_results_are_read_together_and_plain_jobs_do_not_pay(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    refs = [f"s{place}" for place in range(90)]
    submit_all(
        scheduler,
        *({"ref": ref} for ref in refs),
        *({"params": {"all": [of(f"ref:{ref}") for ref in refs]}} for _ in range(3)),
    )
    names = watch_queries(monkeypatch)
    for place, one in enumerate(started := claim(scheduler, 90)):
        finish(scheduler, one, result=place)
    assert len(started) == 90
    assert not {"chain_results", "set_params_of_run", "insert_payload"} & set(names)
    names.clear()
    wide = claim(scheduler, 5)
    assert [params(one)["all"] for one in wide] == [[*range(90)]] * 3
    assert names.count("chain_results") == 1
    assert names.count("insert_payload") == names.count("set_params_of_run") == 1


def test_a_wide_fan_in_is_submitted_with_a_few_statements(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def statements(width: int) -> int:
        refs = [f"s{place}" for place in range(width)]
        names = watch_queries(monkeypatch)
        submit_all(
            scheduler,
            *({"ref": ref} for ref in refs),
            {"params": {"all": [of(f"ref:{ref}") for ref in refs]}},
        )
        return len(names)

    statements(1)
    assert statements(10) == statements(2000)
