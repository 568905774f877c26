"""Limits: what may run at once, and how often."""

import dataclasses
from collections.abc import Mapping

import pytest
from tests.helpers import MovableClock, claim, finish, submit
from tests.scheduler.asking import submit_all, watch_queries

from headway.domain import errors
from headway.domain.jobs import Lane
from headway.scheduler.explain import status
from headway.scheduler.manage import limits
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import timekeeper
from headway.storage.engine.transaction import DUE, READY


def put(scheduler: Scheduler, name: str, size: int | None = None, rate: str | None = None) -> None:
    scheduler.store.write(lambda tx: limits.put(scheduler, tx, name, size=size, rate=rate))


def numbers(scheduler: Scheduler, count: int = 10) -> list[int]:
    return [one.number for one in claim(scheduler, count)]


def reason(scheduler: Scheduler, number: int) -> str | None:
    found = scheduler.store.read(lambda tx: status.view(scheduler, tx, number)).wait_reason
    return found.detail if found else None


def test_cost_units_fill_the_capacity(scheduler: Scheduler) -> None:
    for cost in (60, 30, 30):
        submit(scheduler, cost_units=cost)
    put(scheduler, "capacity", 70)
    started = claim(scheduler, 10)
    assert [one.number for one in started] == [1]
    assert reason(scheduler, 2) == "capacity: used 60 + 30 > 70"
    finish(scheduler, started)
    assert numbers(scheduler) == [2, 3]


def test_a_full_type_does_not_stop_jobs_behind_it(scheduler: Scheduler) -> None:
    put(scheduler, "type:story", 1)
    for job_type in ("story", "story", "research", "story"):
        submit(scheduler, job_type)
    assert numbers(scheduler) == [1, 3]


def test_a_resource_is_shared_between_types(scheduler: Scheduler) -> None:
    put(scheduler, "resource:ollama", 1)
    submit(scheduler, "story", limits={"resource:ollama": 1})
    submit(scheduler, "research", limits={"resource:ollama": 1})
    submit(scheduler, "mail")
    assert numbers(scheduler) == [1, 3]


def test_the_global_limit_holds_for_everything(scheduler: Scheduler) -> None:
    put(scheduler, "global", 2)
    for job_type in ("a", "b", "c"):
        submit(scheduler, job_type)
    assert numbers(scheduler) == [1, 2]


def test_a_job_that_names_an_undefined_limit_is_refused(scheduler: Scheduler) -> None:
    with pytest.raises(errors.UnknownLimit, match="headway limits set gpu SIZE"):
        submit(scheduler, limits={"gpu": 1})


@pytest.mark.parametrize("name", ["global", "type:work", "queue:default"])
def test_what_every_job_uses_anyway_is_named_only_where_it_is_defined(
    scheduler: Scheduler, name: str
) -> None:
    with pytest.raises(errors.UnknownLimit):
        submit(scheduler, limits={name: 2})
    first = submit(scheduler)
    put(scheduler, name, 3)
    second, third = (submit(scheduler, limits={name: 2}) for _ in range(2))
    assert numbers(scheduler) == [first.number, second.number]
    assert reason(scheduler, third.number) == f"{name}: used 3 + 2 > 3"


def test_a_rate_opens_again_when_its_window_has_passed(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    put(scheduler, "type:mail", rate="2/min")
    for _ in range(3):
        submit(scheduler, "mail")
    finish(scheduler, claim(scheduler, 10))
    assert numbers(scheduler) == []
    assert reason(scheduler, 3) == "type:mail: 2 of 2 started in 60 s"
    clock.move(61)
    assert numbers(scheduler) == [3]


class OnePerCustomer:
    """A policy of the user's own: the queue's name is the customer."""

    def uses(self, lane: Lane) -> Mapping[str, int]:
        """One of the customer's limit."""
        return {f"customer:{lane.queue}": 1}


def test_a_policy_of_ones_own_decides_what_a_job_uses(scheduler: Scheduler) -> None:
    own = dataclasses.replace(scheduler, concurrency=OnePerCustomer())
    put(own, "customer:acme", 1)
    for queue in ("acme", "acme", "other", "other"):
        submit(own, queue=queue)
    assert numbers(own) == [1, 3, 4]


def test_the_lane_of_a_full_limit_is_not_paged_through(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(scheduler, "type:story", 1)
    submit_all(scheduler, *({"job_type": "story"} for _ in range(100)))
    submit(scheduler, "mail", priority=-1)
    assert numbers(scheduler, 1) == [1]
    asked = watch_queries(monkeypatch)
    assert numbers(scheduler, 1) == [101]
    assert asked.count("lane_heads") == 2


def test_a_claim_reads_only_the_lanes_that_it_takes_from(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit_all(scheduler, *({"queue": f"q{n}", "priority": n % 7} for n in range(60)))
    asked = watch_queries(monkeypatch)
    assert numbers(scheduler, 3) == [7, 14, 21]
    assert asked.count("lane_heads") <= 4
    assert numbers(scheduler, 100) == sorted(
        set(range(1, 61)) - {7, 14, 21}, key=lambda number: (-((number - 1) % 7), number)
    )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that are run from now on."""
    return watch_queries(monkeypatch)


def test_a_claim_in_vain_does_not_judge_every_lane_again(
    scheduler: Scheduler, asked: list[str]
) -> None:
    put(scheduler, "type:story", 1)
    submit_all(scheduler, *({"job_type": "story"} for _ in range(3)))
    assert numbers(scheduler, 1) == [1]
    assert numbers(scheduler, 1) == []
    asked.clear()
    assert numbers(scheduler, 1) == []
    assert "workers" not in asked


def test_jobs_take_turns_at_a_full_limit_without_a_look_at_every_lease(
    scheduler: Scheduler, asked: list[str]
) -> None:
    put(scheduler, "type:story", 1)
    submit_all(scheduler, *({"job_type": "story"} for _ in range(3)))
    finish(scheduler, claim(scheduler))
    assert numbers(scheduler) == [2]
    assert "held_by_worker" not in asked


def test_a_claim_that_waits_for_a_rate_is_woken_when_it_opens(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    put(scheduler, "type:mail", rate="10/min")
    submit(scheduler, "mail", limits={"type:mail": 6})
    submit(scheduler, "mail", limits={"type:mail": 6})
    told: list[str] = []
    scheduler.store.wakeups.listen(DUE, lambda: told.append(DUE))
    finish(scheduler, claim(scheduler))
    told.clear()
    assert numbers(scheduler) == []
    assert told == [DUE]
    assert timekeeper.run_due(scheduler, clock.now()) == 60
    told.clear()
    scheduler.store.wakeups.listen(READY, lambda: told.append(READY))
    clock.move(60)
    timekeeper.run_due(scheduler, clock.now())
    assert READY in told
    assert numbers(scheduler) == [2]


def test_sizes_from_the_settings_leave_rates_as_they_are(scheduler: Scheduler) -> None:
    put(scheduler, "mail", 1, "60/min")
    scheduler.store.write(lambda tx: limits.set_sizes(scheduler, tx, {"mail": 5, "gpu": 2}))
    found = scheduler.store.read(lambda tx: limits.views(scheduler, tx))
    sizes = {one.name: (one.size, one.rate) for one in found}
    assert (sizes["mail"], sizes["gpu"]) == ((5, "60/min"), (2, None))


@pytest.mark.parametrize(("name", "size"), [("gpu", -5), ("gpu", 10**12), ("g\0pu", 1), (" ", 1)])
def test_a_size_from_the_settings_that_makes_no_sense_is_named_and_nothing_is_set(
    scheduler: Scheduler, name: str, size: int
) -> None:
    sizes = {"good": 1, name: size}
    with pytest.raises(errors.InvalidRequest) as caught:
        scheduler.store.write(lambda tx: limits.set_sizes(scheduler, tx, sizes))
    assert caught.value.detail.startswith(f"limits: {name!r}: ")
    found = scheduler.store.read(lambda tx: limits.views(scheduler, tx))
    assert {one.name for one in found}.isdisjoint(sizes)
