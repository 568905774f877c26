"""What a job waited on is kept: each kind that was its first closed gate, once, in order."""

import random
from collections.abc import Callable

import pytest
from tests.helpers import WORKER, claim, finish, submit
from tests.scheduler.asking import register, show

from headway.domain.jobs import Job
from headway.domain.states import JobStatus
from headway.protocol.work_shapes import Started
from headway.scheduler.admit import lane_waits
from headway.scheduler.change import cancel, queue_control
from headway.scheduler.claim import claims
from headway.scheduler.manage import limits
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import direct


def pause(scheduler: Scheduler, queue: str | None = None) -> None:
    scheduler.store.write(lambda tx: queue_control.pause(scheduler, tx, queue, None))


def resume(scheduler: Scheduler, queue: str | None = None) -> None:
    scheduler.store.write(lambda tx: queue_control.resume(scheduler, tx, queue, None))


def limit(scheduler: Scheduler, size: int, name: str = "capacity") -> None:
    scheduler.store.write(lambda tx: limits.put(scheduler, tx, name, size=size, rate=None))


def reserve(scheduler: Scheduler) -> str:
    held = scheduler.store.write(lambda tx: direct.reserve(scheduler, tx, "me", None))
    return held.reservation_id


def release(scheduler: Scheduler, reservation_id: str) -> None:
    scheduler.store.write(lambda tx: direct.release(scheduler, tx, reservation_id))


def run_all(scheduler: Scheduler) -> None:
    while started := claim(scheduler, 100):
        finish(scheduler, started)


def test_a_pause_is_kept_with_every_job_that_waited_for_it(scheduler: Scheduler) -> None:
    register(scheduler)
    early = [submit(scheduler).number for _ in range(3)]
    pause(scheduler)
    late = [submit(scheduler).number for _ in range(3)]
    resume(scheduler)
    after = submit(scheduler).number
    run_all(scheduler)
    for number in (*early, *late):
        assert show(scheduler, number).waited_on == ("paused",)
    assert show(scheduler, after).waited_on == ()


def test_a_full_limit_is_recorded_for_all_of_its_lane_without_a_claim(
    scheduler: Scheduler,
) -> None:
    register(scheduler)
    limit(scheduler, 1)
    first = submit(scheduler).number
    (running,) = claim(scheduler)
    waiting = [submit(scheduler).number for _ in range(3)]
    finish(scheduler, running)
    after = submit(scheduler, priority="low").number
    assert show(scheduler, after).waited_on == ()
    assert show(scheduler, first).waited_on == ()
    assert [show(scheduler, number).waited_on for number in waiting] == [("limits",)] * 3
    run_all(scheduler)
    assert [show(scheduler, number).waited_on for number in waiting] == [("limits",)] * 3


def test_a_worker_that_came_was_waited_for(scheduler: Scheduler) -> None:
    number = submit(scheduler, requires=["gpu"]).number
    register(scheduler, capabilities=("gpu",))
    assert show(scheduler, number).wait_reason is None
    assert show(scheduler, number).waited_on == ("worker",)
    assert show(scheduler, submit(scheduler, requires=["gpu"]).number).waited_on == ()


def test_a_reservation_that_ended_was_waited_for(scheduler: Scheduler) -> None:
    register(scheduler)
    number = submit(scheduler).number
    release(scheduler, reserve(scheduler))
    run_all(scheduler)
    assert show(scheduler, number).waited_on == ("reservation",)


def test_a_job_that_is_cancelled_keeps_what_it_waited_on(scheduler: Scheduler) -> None:
    register(scheduler)
    pause(scheduler)
    number = submit(scheduler).number
    scheduler.store.write(lambda tx: cancel.cancel(scheduler, tx, number))
    resume(scheduler)
    assert show(scheduler, number).waited_on == ("paused",)


def test_kinds_stand_in_the_order_in_which_they_came_first(scheduler: Scheduler) -> None:
    register(scheduler)
    limit(scheduler, 1)
    other = submit(scheduler, queue="other").number
    pause(scheduler, "default")
    number = submit(scheduler).number
    (running,) = claim(scheduler)
    assert running.number == other
    resume(scheduler)
    finish(scheduler, running)
    pause(scheduler)
    resume(scheduler)
    run_all(scheduler)
    assert show(scheduler, number).waited_on == ("paused", "limits")


def test_very_many_waits_of_different_kinds_leave_a_bounded_trace(scheduler: Scheduler) -> None:
    register(scheduler)
    submit(scheduler)
    for _ in range(lane_waits.MOST_WAITS):
        pause(scheduler)
        resume(scheduler)
        release(scheduler, reserve(scheduler))
    (kept,) = scheduler.store.read(
        lambda tx: tx.select("SELECT count(*) AS count FROM lane_waits", {})
    )
    assert kept["count"] <= lane_waits.MOST_WAITS + 1
    assert set(show(scheduler, 1).waited_on) == {"paused", "reservation"}


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_what_was_shown_as_the_reason_is_kept(
    scheduler: Scheduler, seed: int
) -> None:
    play = Play(scheduler, random.Random(seed))
    for _ in range(60):
        play.step()
        play.check()


class Play:
    """Jobs of two queues, two limits, pauses, reservations and workers that come and go."""

    def __init__(self, scheduler: Scheduler, chance: random.Random) -> None:
        self._scheduler = scheduler
        self._chance = chance
        self._running: list[Started] = []
        self._reservation: str | None = None
        self._seen: dict[int, dict[str, None]] = {}
        limit(scheduler, 2)
        limit(scheduler, 1, "type:mail")

    def step(self) -> None:
        """One thing happens."""
        happens: list[Callable[[], None]] = [
            *[self._submit] * 4,
            *[self._claim] * 4,
            *[self._finish] * 3,
            self._cancel,
            self._pause,
            self._resume,
            self._reserve,
            self._come,
            self._leave,
            self._resize,
        ]
        self._chance.choice(happens)()

    def check(self) -> None:
        """Every job says exactly what was ever shown as its reason."""
        for number, kinds in self._seen.items():
            job = show(self._scheduler, number)
            if job.wait_reason is not None and job.status is not JobStatus.CANCELLED:
                kinds[job.wait_reason.kind] = None
            assert job.waited_on == tuple(kinds), _story(job)

    def _submit(self) -> None:
        job = submit(
            self._scheduler,
            self._chance.choice(("work", "mail")),
            queue=self._chance.choice(("a", "b")),
            after=self._chance.sample(sorted(self._seen), 1)
            if self._seen and self._chance.random() < 0.2
            else [],
            priority=self._chance.choice(("low", "normal", "high")),
            requires=["gpu"] if self._chance.random() < 0.2 else [],
        )
        self._seen[job.number] = {}

    def _claim(self) -> None:
        if self._chance.random() < 0.7:
            register(self._scheduler)
            self._running += claim(self._scheduler, self._chance.choice((1, 1, 3)))
        else:
            register(self._scheduler, "strong", capabilities=("gpu",))
            self._running += claim(self._scheduler, worker_id="strong", capabilities=("gpu",))

    def _finish(self) -> None:
        if self._running:
            finish(self._scheduler, self._running.pop(self._chance.randrange(len(self._running))))

    def _cancel(self) -> None:
        running = {one.number for one in self._running}
        if waiting := sorted(self._seen.keys() - running):
            number = self._chance.choice(waiting)
            if show(self._scheduler, number).status is JobStatus.QUEUED:
                self._scheduler.store.write(lambda tx: cancel.cancel(self._scheduler, tx, number))

    def _pause(self) -> None:
        pause(self._scheduler, self._chance.choice(("a", None)))

    def _resume(self) -> None:
        resume(self._scheduler, self._chance.choice(("a", None)))

    def _reserve(self) -> None:
        held = self._reservation
        if held is None:
            self._reservation = reserve(self._scheduler)
        elif self._chance.random() < 0.5:
            self._scheduler.store.write(lambda tx: direct.mark_running(self._scheduler, tx, held))
        else:
            release(self._scheduler, held)
            self._reservation = None

    def _come(self) -> None:
        register(self._scheduler)

    def _leave(self) -> None:
        self._scheduler.store.write(lambda tx: claims.leave(self._scheduler, tx, WORKER))

    def _resize(self) -> None:
        limit(self._scheduler, self._chance.choice((1, 2, 3)))


def _story(job: Job) -> str:
    return f"job {job.number} is {job.status}, {job.wait_reason}"
