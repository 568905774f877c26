"""An error says which job of a batch is wrong, and nothing of the batch is kept."""

import dataclasses
from typing import Any

import msgspec
import pytest
from tests.helpers import job, submit
from tests.scheduler.asking import queue_order, submit_all

from headway.domain import errors
from headway.domain.handlers import Handler
from headway.domain.requests.group_requests import GroupRequest
from headway.domain.requests.template_requests import TemplateRequest
from headway.scheduler.manage import groups, limits, templates
from headway.scheduler.scheduler import Scheduler


def story(genre: str) -> str:
    """A handler whose signature is checked at submit."""
    return genre


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a field that no job can have": ({"timeout_s": -1}, "timeout_s"),
    "params that do not fit": ({"job_type": "story", "params": {"genre": 5}}, "params.genre"),
    "params that are no JSON": ({"params": {"a": [float("nan")]}}, "params.a[0]"),
    "a folder outside": ({"job_type": "command", "params": {"cwd": "../.."}}, "params.cwd"),
    "an unknown template": ({"job_type": None, "template": "nope"}, "template"),
    "an unknown limit": ({"limits": {"nope": 1}}, "limits"),
    "an unknown priority": ({"priority": "SOON"}, "priority"),
    "too many words": ({"requires": [f"{n:0200}" for n in range(10)]}, "requires"),
    "an unknown artifact": ({"needs": ["nonsense"]}, "needs"),
    "an empty id": ({"after": [""]}, "after"),
    "an unknown job": ({"after": [99]}, "after"),
    "an unknown ref": ({"after": ["ref:nobody"]}, "after"),
    "a ref that is taken": ({"ref": "first"}, "ref"),
    "a key that is taken": ({"unique_key": "one"}, "unique_key"),
}


@pytest.mark.parametrize("what", WRONG)
def test_the_job_of_a_batch_that_is_wrong_is_named(scheduler: Scheduler, what: str) -> None:
    scheduler = dataclasses.replace(scheduler, handlers={"story": Handler.of(story)})
    fields, field = WRONG[what]
    wrong = {"ref": "wrong", **fields}
    with pytest.raises(errors.Invalid) as caught:
        submit_all(scheduler, {"ref": "first", "unique_key": "one"}, {}, wrong, {})
    assert list(caught.value.fields) == [f"jobs[2].{field}"]
    assert str(caught.value).startswith(f"jobs[2] (ref {wrong['ref']!r}): ")
    assert queue_order(scheduler) == []


def test_a_member_of_a_group_that_is_wrong_is_named(scheduler: Scheduler) -> None:
    body = {"jobs": [{"job_type": "work"}, {"job_type": "work", "cost_units": -1}]}
    request = msgspec.convert(body, GroupRequest)
    with pytest.raises(errors.Invalid, match=r"^jobs\[1\]: cost_units: ") as caught:
        scheduler.store.write(lambda tx: groups.create(scheduler, tx, request))
    assert list(caught.value.fields) == ["jobs[1].cost_units"]


def test_an_error_without_a_field_names_the_job(scheduler: Scheduler) -> None:
    submit(scheduler, idempotency_key="k", params={"a": 1})
    with pytest.raises(errors.IdempotencyMismatch) as caught:
        submit_all(scheduler, {}, {"idempotency_key": "k"})
    assert list(caught.value.fields) == ["jobs[1]"]


def test_a_circle_of_jobs_without_refs_names_their_places(scheduler: Scheduler) -> None:
    made = {"produces": ["custom:x:a"], "needs": ["custom:x:b"]}
    with pytest.raises(errors.DependencyCycle, match=r"jobs\[1\] -> jobs\[2\] -> jobs\[1\]"):
        submit_all(scheduler, {}, made, {"produces": ["custom:x:b"], "needs": ["custom:x:a"]})


def test_the_error_of_a_single_job_names_no_place(scheduler: Scheduler) -> None:
    with pytest.raises(errors.Invalid) as caught:
        submit(scheduler, timeout_s=-1)
    assert list(caught.value.fields) == ["timeout_s"]


NONSENSE: dict[str, dict[str, Any]] = {
    "a circle": {"after": ["ref:second"]},
    "an unknown ref": {"after": ["ref:nobody"]},
    "an unknown job": {"after": [99]},
    "an unknown artifact": {"needs": ["nonsense:x"]},
    "a path that leads out": {"needs": ["file:../../secret"]},
}


@pytest.mark.parametrize("what", NONSENSE)
def test_a_job_that_is_not_made_because_of_its_unique_key_must_make_sense_too(
    scheduler: Scheduler, what: str
) -> None:
    there = submit(scheduler, unique_key="one")
    asked = {"ref": "first", "unique_key": "one", **NONSENSE[what]}
    with pytest.raises(errors.Invalid):
        submit_all(scheduler, asked, {"ref": "second", "after": ["ref:first"]})
    assert queue_order(scheduler) == [there.number]


def test_jobs_of_a_batch_that_differ_in_what_they_need_to_start_do_so_in_the_store(
    scheduler: Scheduler,
) -> None:
    scheduler.store.write(lambda tx: limits.put(scheduler, tx, "gpu", size=4, rate=None))
    template = TemplateRequest(name="heavy", job_type="work", limits={"gpu": 2}, requires=("a",))
    scheduler.store.write(lambda tx: templates.create(scheduler, tx, template, by_admin=True))
    heavy: dict[str, Any] = {"job_type": None, "template": "heavy"}
    wanted: list[tuple[dict[str, Any], tuple[Any, ...]]] = [
        ({"limits": {"gpu": 1}}, ({"gpu": 1}, (), 1)),
        ({}, ({}, (), 1)),
        ({"constraints": {"gpu_required": True}}, ({}, ("gpu",), 1)),
        ({"cost_units": 3}, ({}, (), 3)),
        (heavy, ({"gpu": 2}, ("a",), 1)),
        (heavy | {"limits": {}}, ({}, ("a",), 1)),
        (heavy | {"requires": []}, ({"gpu": 2}, (), 1)),
        (heavy, ({"gpu": 2}, ("a",), 1)),
        ({}, ({}, (), 1)),
    ]
    made = [job(scheduler, one) for one in submit_all(scheduler, *(asked for asked, _ in wanted))]
    found = [(one.limits, one.requires, one.cost_units) for one in made]
    assert found == [expected for _, expected in wanted]
