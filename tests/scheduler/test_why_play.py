"""Random play over small worlds: `why` names exactly what keeps each job from starting."""

import os
import random

import pytest
from tests.helpers import MovableClock
from tests.scheduler.asking import show, why
from tests.scheduler.taking_away import (
    Experiment,
    Named,
    free_workers,
    named,
    started_by,
    tried,
)
from tests.scheduler.why_world import World

from headway.domain import states
from headway.domain.answers import GateRow, GateState, Why
from headway.domain.gates import Gate
from headway.domain.jobs import Job, Lane
from headway.domain.workers import Worker
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import verify

FOUND = (292, 587, 10014, 40072)
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
    scheduler, ready = world.scheduler, list[Job]()
    workers = free_workers(scheduler)
    started = {number for one in workers for number in started_by(scheduler, one)}
    for one in world.jobs(*states.WAITING, *states.CLAIMS):
        answer = why(scheduler, one.number)
        those = named(answer)
        _check_words(scheduler, answer)
        if any(thing.gate is not Gate.WORKER for thing in those):
            assert one.number not in started, (one.number, those)
        elif one.status in states.WAITING:
            ready.append(one)
        assert _starts_without(scheduler, one.number, those), (one.number, those)
        for left in those:
            despite = _starts_despite(scheduler, one.number, left, those)
            assert not despite, (one.number, left, those)
    for worker in workers:
        assert started_by(scheduler, worker, 1) == _first(worker, ready), worker.worker_id


def _first(worker: Worker, ready: list[Job]) -> list[int]:
    """The first job in the queue that may start and that this worker takes."""
    line = sorted(ready, key=lambda one: (-one.priority, one.position, one.number))
    return [one.number for one in line if worker.abilities.refusal(_lane(one)) is None][:1]


def _lane(job: Job) -> Lane:
    return Lane(
        queue=job.queue, job_type=job.job_type, cost_units=job.cost_units, requires=job.requires
    )


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
