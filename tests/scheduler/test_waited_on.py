"""What a job waited on is kept: each kind that was its first closed gate, once, in order."""

import random
from collections.abc import Callable

import pytest
from tests.helpers import WORKER, MovableClock, ask_lease, claim, finish, submit
from tests.scheduler.asking import keep_time, register, show

from headway.domain import states
from headway.domain.jobs import Job
from headway.domain.runs import Outcome, RunStatus
from headway.domain.states import JobStatus
from headway.protocol.work_values import Granted, Report, Started
from headway.scheduler.admit import lane_waits
from headway.scheduler.change import cancel
from headway.scheduler.change import pause as pauses
from headway.scheduler.claim import claims
from headway.scheduler.finish import finish as finishing
from headway.scheduler.manage import limits, markers
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import direct


def pause(scheduler: Scheduler, queue: str | None = None) -> None:
    scheduler.store.write(lambda tx: pauses.pause(scheduler, tx, queue, None))


def resume(scheduler: Scheduler, queue: str | None = None) -> None:
    scheduler.store.write(lambda tx: pauses.resume(scheduler, tx, queue, None))


def limit(scheduler: Scheduler, size: int, name: str = "capacity") -> None:
    scheduler.store.write(lambda tx: limits.put(scheduler, tx, name, size=size, rate=None))


def reserve(scheduler: Scheduler) -> str:
    held = scheduler.store.write(lambda tx: direct.reserve(scheduler, tx, "me", None))
    return held.reservation_id


def release(scheduler: Scheduler, reservation_id: str) -> None:
    scheduler.store.write(lambda tx: direct.release(scheduler, tx, reservation_id))


def put_marker(scheduler: Scheduler) -> None:
    scheduler.store.write(lambda tx: markers.put(scheduler, tx, "a", "b"))


def remove_marker(scheduler: Scheduler) -> None:
    scheduler.store.write(lambda tx: markers.remove(scheduler, tx, "a", "b"))


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


def test_a_lock_that_was_taken_and_released_was_waited_for(scheduler: Scheduler) -> None:
    register(scheduler)
    held, waiting = (submit(scheduler, locks=["gpu"]).number for _ in range(2))
    (running,) = claim(scheduler)
    assert running.number == held
    finish(scheduler, running)
    assert show(scheduler, waiting).wait_reason is None
    assert show(scheduler, waiting).waited_on == ("locks",)
    run_all(scheduler)
    assert show(scheduler, waiting).waited_on == ("locks",)


def test_a_lock_that_a_lease_took_was_waited_for(scheduler: Scheduler) -> None:
    register(scheduler)
    held, waiting = (submit(scheduler, locks=["gpu"]).number for _ in range(2))
    claim(scheduler, lease=False)
    granted = ask_lease(scheduler, held)
    assert isinstance(granted, Granted)
    assert show(scheduler, waiting).status is JobStatus.WAITING_ON_LOCKS
    scheduler.store.write(
        lambda tx: finishing.finish(
            scheduler,
            tx,
            WORKER,
            [Report(lease_id=granted.lease.lease_id, outcome=Outcome(status=RunStatus.COMPLETED))],
        )
    )
    assert show(scheduler, waiting).waited_on == ("locks",)


def test_what_came_before_a_lock_was_taken_is_kept_and_what_came_with_it_is_not(
    scheduler: Scheduler,
) -> None:
    register(scheduler, queues=("here",))
    limit(scheduler, 1)
    waiting = submit(scheduler, queue="elsewhere", locks=["gpu"]).number
    submit(scheduler, queue="here", locks=["gpu"])
    (running,) = claim(scheduler, queues=("here",))
    assert show(scheduler, waiting).status is JobStatus.WAITING_ON_LOCKS
    assert show(scheduler, waiting).waited_on == ("worker", "locks")
    finish(scheduler, running)
    assert show(scheduler, waiting).waited_on == ("worker", "locks")


def test_a_shared_lock_behind_one_that_waits_from_now_on_was_waited_for(
    scheduler: Scheduler,
) -> None:
    register(scheduler)
    submit(scheduler, "first", locks=[{"key": "a", "mode": "exclusive"}])
    submit(scheduler, "both", locks=["a", "b"])
    shared = submit(scheduler, "last", locks=[{"key": "b", "mode": "shared"}]).number
    (running,) = claim(scheduler, job_types=("first",))
    assert show(scheduler, shared).status is JobStatus.WAITING_ON_LOCKS
    finish(scheduler, running)
    assert show(scheduler, shared).waited_on == ("locks",)


def test_a_pause_is_kept_with_a_job_that_lost_what_it_needs(scheduler: Scheduler) -> None:
    register(scheduler)
    put_marker(scheduler)
    pause(scheduler)
    number = submit(scheduler, needs=["custom:a:b"], missing_producer="wait").number
    remove_marker(scheduler)
    resume(scheduler)
    assert show(scheduler, number).waited_on == ("paused", "dependencies")


def test_a_claimed_job_keeps_what_it_waited_on_before_its_lease(scheduler: Scheduler) -> None:
    register(scheduler)
    number = submit(scheduler, locks=["gpu"]).number
    claim(scheduler, lease=False)
    release(scheduler, reserve(scheduler))
    pause(scheduler)
    resume(scheduler)
    submit(scheduler, "other", locks=["gpu"])
    finish(scheduler, claim(scheduler))
    assert isinstance(ask_lease(scheduler, number), Granted)
    assert show(scheduler, number).waited_on == ("reservation", "paused", "locks")


def test_a_claimed_job_that_is_cancelled_keeps_what_it_waited_on(scheduler: Scheduler) -> None:
    register(scheduler)
    number = submit(scheduler).number
    claim(scheduler, lease=False)
    pause(scheduler)
    scheduler.store.write(lambda tx: cancel.cancel(scheduler, tx, number))
    resume(scheduler)
    assert show(scheduler, number).waited_on == ("paused",)


def test_a_claim_that_led_to_nothing_keeps_what_it_waited_on(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    register(scheduler)
    limit(scheduler, 1)
    number = submit(scheduler).number
    claim(scheduler, lease=False)
    submit(scheduler, "other", priority="high")
    running = claim(scheduler)
    clock.move(61)
    keep_time(scheduler)
    finish(scheduler, running)
    assert show(scheduler, number).waited_on == ("limits",)


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


@pytest.mark.parametrize("seed", range(10))
def test_whatever_happens_what_was_shown_as_the_reason_is_kept(
    scheduler: Scheduler, clock: MovableClock, seed: int
) -> None:
    play = Play(scheduler, random.Random(seed))
    for _ in range(60):
        clock.move(0.001)
        play.step()
        play.check()


class Play:
    """Jobs of two queues, with locks and needs; two limits, pauses, reservations, workers."""

    def __init__(self, scheduler: Scheduler, chance: random.Random) -> None:
        self._scheduler = scheduler
        self._chance = chance
        self._running: list[Started] = []
        self._reservation: str | None = None
        self._marked = False
        self._claimed: list[int] = []
        self._seen: dict[int, dict[str, None]] = {}
        limit(scheduler, 2)
        limit(scheduler, 1, "type:mail")

    def step(self) -> None:
        """One thing happens."""
        happens: list[Callable[[], None]] = [
            *[self._submit] * 4,
            *[self._claim] * 4,
            *[self._finish] * 3,
            *[self._take] * 2,
            *[self._ask] * 2,
            self._cancel,
            self._pause,
            self._resume,
            self._reserve,
            self._come,
            self._leave,
            self._resize,
            self._mark,
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
            locks=[
                {"key": key, "mode": self._chance.choice(("shared", "exclusive"))}
                for key in self._chance.sample("xy", self._chance.choice((0, 0, 1, 2)))
            ],
            needs=["custom:a:b"] if self._chance.random() < 0.2 else [],
            missing_producer="wait",
        )
        self._seen[job.number] = {}

    def _claim(self) -> None:
        if self._chance.random() < 0.7:
            register(self._scheduler)
            self._running += claim(self._scheduler, self._chance.choice((1, 1, 3)))
        else:
            register(self._scheduler, "strong", capabilities=("gpu",))
            self._running += claim(self._scheduler, worker_id="strong", capabilities=("gpu",))

    def _take(self) -> None:
        """Claim without a lease; a claim that leads to nothing ends by itself."""
        register(self._scheduler)
        self._claimed += [one.number for one in claim(self._scheduler, lease=False)]

    def _ask(self) -> None:
        while self._claimed:
            number = self._claimed.pop(self._chance.randrange(len(self._claimed)))
            if show(self._scheduler, number).status not in states.CLAIMS:
                continue
            answer = ask_lease(self._scheduler, number)
            if isinstance(answer, Granted):
                job = show(self._scheduler, number)
                self._running.append(
                    Started(
                        number=number,
                        job_id=job.job_id,
                        job_type=job.job_type,
                        attempt=job.attempt,
                        params="{}",
                        timeout_s=None,
                        lease=answer.lease,
                    )
                )
            else:
                self._claimed.append(number)
            return

    def _finish(self) -> None:
        if self._running:
            finish(self._scheduler, self._running.pop(self._chance.randrange(len(self._running))))

    def _cancel(self) -> None:
        running = {one.number for one in self._running}
        if waiting := sorted(self._seen.keys() - running):
            number = self._chance.choice(waiting)
            if show(self._scheduler, number).status in states.WAITING | states.CLAIMS:
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

    def _mark(self) -> None:
        if self._marked:
            remove_marker(self._scheduler)
        else:
            put_marker(self._scheduler)
        self._marked = not self._marked

    def _resize(self) -> None:
        limit(self._scheduler, self._chance.choice((1, 2, 3)))


def _story(job: Job) -> str:
    return f"job {job.number} is {job.status}, {job.wait_reason}"
