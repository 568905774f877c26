"""Limits whose key comes from a param: each key has the size of its family, or its own."""

from typing import Any

import pytest
from tests.helpers import claim, finish, job, submit
from tests.scheduler.asking import submit_all

from headway.domain import errors
from headway.domain.requests.template_requests import TemplateRequest
from headway.scheduler.explain import why
from headway.scheduler.manage import limits, templates
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import verify

BY_TENANT = {"tenant:{tenant}": 1}


def put(scheduler: Scheduler, name: str, size: int | None = None, rate: str | None = None) -> None:
    scheduler.store.write(lambda tx: limits.put(scheduler, tx, name, size=size, rate=rate))


@pytest.fixture(autouse=True)
def family(scheduler: Scheduler) -> None:
    put(scheduler, "tenant:*", 1)


def of(tenant: Any, **fields: Any) -> dict[str, Any]:
    """A job of a tenant."""
    return {"params": {"tenant": tenant}, "limits": BY_TENANT, **fields}


def numbers(scheduler: Scheduler, count: int = 10) -> list[int]:
    return [one.number for one in claim(scheduler, count)]


def test_each_key_has_the_size_of_its_family(scheduler: Scheduler) -> None:
    submit_all(scheduler, *(of(tenant) for tenant in ("a", "a", "b", 7, 7)))
    started = claim(scheduler, 10)
    assert [one.number for one in started] == [1, 3, 4]
    assert job(scheduler, 4).limits == {"tenant:7": 1}
    assert numbers(scheduler) == []
    finish(scheduler, started[0])
    assert numbers(scheduler) == [2]
    assert verify.verify(scheduler) == []


def test_a_limit_of_its_own_goes_before_that_of_the_family(scheduler: Scheduler) -> None:
    put(scheduler, "tenant:big", 2)
    submit_all(scheduler, *(of("big") for _ in range(3)))
    assert numbers(scheduler) == [1, 2]


def test_a_family_within_a_family_goes_first(scheduler: Scheduler) -> None:
    put(scheduler, "tenant:eu:*", 2)
    submit_all(scheduler, *(of("eu:1") for _ in range(3)), *(of("us:1") for _ in range(3)))
    assert numbers(scheduler) == [1, 2, 4]


def test_a_new_size_of_the_family_holds_at_once(scheduler: Scheduler) -> None:
    submit_all(scheduler, *(of("a") for _ in range(4)))
    assert numbers(scheduler) == [1]
    put(scheduler, "tenant:*", 3)
    assert numbers(scheduler) == [2, 3]


def test_a_family_of_types_gives_each_type_its_size(scheduler: Scheduler) -> None:
    put(scheduler, "type:*", 1)
    for job_type in ("a", "a", "b"):
        submit(scheduler, job_type)
    assert numbers(scheduler) == [1, 3]


def test_why_names_the_limit_of_the_key_and_who_uses_it(scheduler: Scheduler) -> None:
    submit_all(scheduler, of("a"), of("a"))
    claim(scheduler)
    found = scheduler.store.read(lambda tx: why.why(scheduler, tx, 2))
    (gate,) = [one for one in found.gates if one.gate == "limits"]
    assert gate.detail == "tenant:a: used 1 + 1 > 1"
    assert [one.id for one in gate.blockers] == [job(scheduler, 1).job_id]


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({}, "is missing"),
        ({"tenant": None}, "must be a text or a whole number"),
        ({"tenant": ["a"]}, "must be a text or a whole number"),
        ({"tenant": ""}, "must be a text or a whole number"),
        ({"tenant": True}, "must be a text or a whole number"),
    ],
)
def test_a_job_without_the_key_is_refused_by_the_name_of_its_param(
    scheduler: Scheduler, params: dict[str, Any], problem: str
) -> None:
    with pytest.raises(errors.InvalidRequest, match=problem) as refusal:
        submit(scheduler, params=params, limits=BY_TENANT)
    assert list(refusal.value.fields) == ["params.tenant"]


def test_a_key_makes_no_other_name_than_that_of_a_limit(scheduler: Scheduler) -> None:
    with pytest.raises(errors.InvalidRequest, match="is a family"):
        submit(scheduler, **of("*"))
    with pytest.raises(errors.InvalidRequest, match="printable"):
        submit(scheduler, **of("a\n"))
    with pytest.raises(errors.InvalidRequest, match="is a family"):
        submit(scheduler, limits={"tenant:*": 1})


def test_an_unknown_family_is_refused_as_an_unknown_limit_is(scheduler: Scheduler) -> None:
    with pytest.raises(errors.UnknownLimit, match="user:7"):
        submit(scheduler, params={"user": 7}, limits={"user:{user}": 1})


def test_a_template_names_the_limit_and_its_jobs_the_key(scheduler: Scheduler) -> None:
    template = TemplateRequest(name="t", job_type="work", limits=BY_TENANT, params={"tenant": "a"})
    scheduler.store.write(lambda tx: templates.create(scheduler, tx, template, by_admin=True))
    submit(scheduler, None, template="t")
    submit(scheduler, None, template="t", params={"tenant": "b"})
    assert [job(scheduler, number).limits for number in (1, 2)] == [
        {"tenant:a": 1},
        {"tenant:b": 1},
    ]


def test_a_family_has_no_rate(scheduler: Scheduler) -> None:
    with pytest.raises(errors.InvalidRequest, match="size for each key only"):
        put(scheduler, "tenant:*", rate="5/s")


def test_a_family_whose_keys_are_in_use_stays(scheduler: Scheduler) -> None:
    submit(scheduler, **of("a"))
    with pytest.raises(errors.Conflict, match="named by active jobs"):
        scheduler.store.write(lambda tx: limits.remove(scheduler, tx, "tenant:*"))
    finish(scheduler, claim(scheduler))
    scheduler.store.write(lambda tx: limits.remove(scheduler, tx, "tenant:*"))


def test_a_starved_job_reserves_its_own_key_alone(scheduler: Scheduler, clock: Any) -> None:
    put(scheduler, "tenant:*", 2)
    submit(scheduler, **of("a"))
    submit(scheduler, params={"tenant": "a"}, limits={"tenant:{tenant}": 2})
    assert numbers(scheduler) == [1]
    clock.move(400)
    submit_all(scheduler, of("a", priority=9), of("b", priority=9))
    assert numbers(scheduler) == [4]
