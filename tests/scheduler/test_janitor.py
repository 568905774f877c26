"""Retention by itself: what ended long ago goes, a little at a time, in one server at a time."""

import dataclasses
import re
from collections.abc import Iterator

import pytest
from tests.helpers import MovableClock, claim, finish, submit
from tests.scheduler.asking import submit_all

from headway.domain.runs import RunStatus
from headway.files import log_files
from headway.http.metrics import Metrics
from headway.scheduler.explain import status
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import janitor
from headway.scheduler.upkeep.janitor import EVERY_S, FIRST_AFTER_S, HELD_S, Passes

DAY = 86400.0


class Passed:
    """Time that passes as the clock goes, unless the clock alone is set."""

    def __init__(self, clock: MovableClock) -> None:
        self._clock = clock
        self.set_by_s = 0.0

    def __call__(self) -> float:
        return self._clock.now().timestamp() - self.set_by_s


@pytest.fixture
def passed(clock: MovableClock) -> Passed:
    return Passed(clock)


@pytest.fixture
def old(scheduler: Scheduler, clock: MovableClock) -> Scheduler:
    """Three jobs that ended eight days ago, and one that ended now."""
    submit_all(scheduler, *({"retry_policy": {"max_attempts": 0}} for _ in range(3)))
    for started in claim(scheduler, 3):
        finish(scheduler, started, RunStatus.FAILED)
    clock.move(8 * DAY)
    submit(scheduler)
    finish(scheduler, claim(scheduler))
    return scheduler


def _passes(scheduler: Scheduler, passed: Passed, server: str = "server-1") -> Passes:
    return Passes(dataclasses.replace(scheduler, server=server), 7 * DAY, passed)


def _steps(passes: Passes) -> Iterator[float]:
    """The rests after the steps of one pass."""
    while (rest_s := passes.run()) < EVERY_S:
        yield rest_s


def _jobs(scheduler: Scheduler) -> int:
    rows = scheduler.store.read(lambda tx: tx.select("SELECT count(*) AS n FROM jobs", {}))
    return int(rows[0]["n"])


def test_nothing_is_removed_before_the_server_has_run_for_a_while(
    old: Scheduler, clock: MovableClock, passed: Passed
) -> None:
    passes = _passes(old, passed)
    assert passes.run() == FIRST_AFTER_S
    clock.move(FIRST_AFTER_S - 1)
    assert passes.run() == 1
    assert _jobs(old) == 4
    clock.move(1)
    assert len(list(_steps(passes))) > 5
    assert _jobs(old) == 1


def test_what_is_removed_goes_a_little_at_a_time_and_is_told(
    old: Scheduler, clock: MovableClock, passed: Passed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(janitor, "BATCH", 1)
    passes = _passes(old, passed)
    clock.move(FIRST_AFTER_S)
    left = [_jobs(old) for rest_s in _steps(passes) if rest_s > 0]
    assert {4, 3, 2, 1} >= set(left) >= {3, 2, 1}
    told = old.store.read(lambda tx: status.status(old, tx)).cleaned
    assert told is not None
    assert (told.at, told.kept_s, told.jobs, told.runs) == (clock.now(), 7 * DAY, 3, 3)
    shown = Metrics(old).render().decode()
    assert 'headway_removed_total{kind="jobs"} 3.0' in shown
    (line,) = re.findall(r"(?m)^headway_retention_ended_timestamp_seconds (.*)$", shown)
    assert float(line) == clock.now().timestamp()


def test_the_next_pass_comes_an_hour_later_whichever_server_does_it(
    old: Scheduler, clock: MovableClock, passed: Passed
) -> None:
    first, second = _passes(old, passed), _passes(old, passed, "server-2")
    clock.move(FIRST_AFTER_S)
    assert list(_steps(first))
    before = old.store.read(lambda tx: status.status(old, tx)).cleaned
    assert not list(_steps(second))
    assert old.store.read(lambda tx: status.status(old, tx)).cleaned == before
    clock.move(EVERY_S)
    assert list(_steps(second))
    after = old.store.read(lambda tx: status.status(old, tx)).cleaned
    assert after is not None
    assert after.at == clock.now()


def test_one_server_at_a_time_removes_and_the_work_of_a_dead_one_goes_on(
    old: Scheduler, clock: MovableClock, passed: Passed
) -> None:
    first, second = _passes(old, passed), _passes(old, passed, "server-2")
    clock.move(FIRST_AFTER_S)
    first.run()
    assert not list(_steps(second))
    clock.move(HELD_S)
    third = _passes(old, passed, "server-3")
    clock.move(FIRST_AFTER_S)
    assert list(_steps(third))
    assert _jobs(old) == 1
    assert len(list(_steps(first))) <= 1, "it finds another at its work"


def test_a_server_beside_another_removes_folders_of_its_own_that_belong_to_nothing(
    old: Scheduler, clock: MovableClock, passed: Passed
) -> None:
    folder = old.data / log_files.folder("01890000-0000-7000-8000-000000000000")
    folder.mkdir(parents=True)
    first, second = _passes(old, passed), _passes(old, passed, "server-2")
    clock.move(30 * 365 * DAY)  # as folders are as old as the machine says
    passed.set_by_s += 30 * 365 * DAY - FIRST_AFTER_S
    first._offset = second._offset = first._offset_now()
    first.run()
    assert list(_steps(second))
    assert not folder.exists()


def test_a_clock_that_was_set_is_not_believed_at_once(
    old: Scheduler, clock: MovableClock, passed: Passed
) -> None:
    passes = _passes(old, passed)
    clock.move(365 * DAY)
    passed.set_by_s += 365 * DAY - FIRST_AFTER_S
    assert not list(_steps(passes))
    assert _jobs(old) == 4
    clock.move(EVERY_S)
    assert list(_steps(passes))
    assert _jobs(old) == 0
