"""Random play over small worlds: `why` names exactly what keeps each job from starting."""

import os
import random

import pytest
from tests.helpers import MovableClock
from tests.scheduler.asking import show, why
from tests.scheduler.taking_away import Experiment, Named, all_that_start, named, tried
from tests.scheduler.why_world import World

from headway.domain import states
from headway.domain.answers import GateRow, GateState, Why
from headway.domain.gates import Gate
from headway.scheduler import verify
from headway.scheduler.scheduler import Scheduler

FOUND = (220, 292, 587, 10014)
"""Each of these once found something."""

WORLDS = int(os.environ.get("HEADWAY_PLAY_WORLDS", "0"))
"""So many more are played, by hand."""

STEPS = 45


@pytest.mark.parametrize("seed", [*FOUND, *range(WORLDS)])
def test_a_job_starts_without_what_why_names_and_not_with_any_of_it(
    scheduler: Scheduler, clock: MovableClock, seed: int
) -> None:
    play(scheduler, clock, seed)
    assert verify.verify(scheduler) == []


def play(scheduler: Scheduler, clock: MovableClock, seed: int) -> None:
    """Play one world and check every few steps."""
    world = World(scheduler, clock, random.Random(seed))
    for step in range(STEPS):
        world.step()
        if step % 3 == 2:
            check(world)


def check(world: World) -> None:
    """What is said of each job that has not started is what then happens."""
    scheduler = world.scheduler
    started = all_that_start(scheduler)
    for one in world.jobs(*states.WAITING, *states.CLAIMS):
        answer = why(scheduler, one.number)
        those = named(answer)
        _check_words(scheduler, answer)
        if any(thing.gate is not Gate.WORKER for thing in those):
            assert one.number not in started, (one.number, those)
        assert _starts_without(scheduler, one.number, those), (one.number, those)
        for left in those:
            despite = _starts_despite(scheduler, one.number, left, those)
            assert not despite, (one.number, left, those)


def _check_words(scheduler: Scheduler, answer: Why) -> None:
    """Every closed gate says because of whom, and the job says the same in short."""
    shown = show(scheduler, answer.number)
    closed = [row for row in answer.gates if row.state is GateState.CLOSED]
    for row in closed:
        assert row.blockers or row.gate in (Gate.TIME, Gate.APPROVAL, Gate.WORKER), row
    reasons = [row.detail for row in closed if not _is_busy(row)]
    said = [shown.wait_reason.detail] if shown.wait_reason else []
    assert said == reasons[:1], (said, closed)
    assert answer.status is shown.status
    if shown.status in states.WAITING:
        assert shown.queue_position == answer.ahead + 1


def _is_busy(row: GateRow) -> bool:
    """Whether only a free slot is missing, which is no reason to wait."""
    return row.gate is Gate.WORKER and any(one.status == "full" for one in row.blockers)


def _starts_without(scheduler: Scheduler, number: int, those: list[Named]) -> bool:
    return bool(
        tried(scheduler, lambda tx: Experiment(scheduler, tx, number).starts_without(those))
    )


def _starts_despite(scheduler: Scheduler, number: int, left: Named, those: list[Named]) -> bool:
    return bool(
        tried(scheduler, lambda tx: Experiment(scheduler, tx, number).starts_despite(left, those))
    )
