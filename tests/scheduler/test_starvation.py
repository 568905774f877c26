"""Starvation: a job that a full limit has kept waiting for too long keeps back what comes free."""

from datetime import timedelta

from tests.helpers import MovableClock, ask_lease, claim, finish, submit
from tests.scheduler.asking import register, show, submit_all, why

from headway.domain.gates import Gate
from headway.domain.requests.job_requests import JobPatch
from headway.domain.states import JobStatus
from headway.protocol.work_values import Denied, Granted
from headway.scheduler.change import cancel, edit, pause
from headway.scheduler.manage import limits
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import timekeeper


def put(scheduler: Scheduler, name: str, size: int | None = None, rate: str | None = None) -> None:
    scheduler.store.write(lambda tx: limits.put(scheduler, tx, name, size=size, rate=rate))


def numbers(scheduler: Scheduler, count: int = 10) -> list[int]:
    return [one.number for one in claim(scheduler, count)]


def reason(scheduler: Scheduler, number: int) -> str | None:
    found = show(scheduler, number).wait_reason
    return found.detail if found else None


def keepers(scheduler: Scheduler, number: int) -> list[str]:
    """Which jobs keep a limit from this one."""
    (row,) = [row for row in why(scheduler, number).gates if row.gate is Gate.LIMITS]
    return [one.id for one in row.blockers if one.detail and one.detail.endswith("starved")]


def test_a_starved_job_gets_what_comes_free(scheduler: Scheduler, clock: MovableClock) -> None:
    put(scheduler, "capacity", 10)
    for _ in range(10):
        submit(scheduler)
    running = claim(scheduler, 10)
    submit(scheduler, cost_units=10)
    assert numbers(scheduler) == []
    clock.move(301)
    for _ in range(20):
        submit(scheduler, priority="HIGH")
    finish(scheduler, running[:9])
    assert numbers(scheduler) == []
    finish(scheduler, running[9:])
    assert numbers(scheduler) == [11]


def test_a_lease_is_denied_from_what_a_starved_job_keeps_back(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    put(scheduler, "capacity", 10)
    for _ in range(10):
        submit(scheduler)
    running = claim(scheduler, 10)
    submit(scheduler, cost_units=10)
    assert numbers(scheduler) == []
    clock.move(301)
    register(scheduler)
    submit(scheduler, "small")
    claim(scheduler, lease=False, job_types=("small",))
    finish(scheduler, running[:9])
    denied = ask_lease(scheduler, 12)
    assert isinstance(denied, Denied)
    assert denied.reason == "capacity: used 1 + 10 kept for a starved job + 1 > 10"
    finish(scheduler, running[9:])
    assert numbers(scheduler) == [11]


def test_a_starved_job_that_is_claimed_gets_its_lease_before_others_start(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    put(scheduler, "capacity", 10)
    for _ in range(10):
        submit(scheduler)
    running = claim(scheduler, 10)
    submit(scheduler, "large", cost_units=10)
    claim(scheduler, lease=False)
    assert isinstance(ask_lease(scheduler, 11), Denied)
    for _ in range(6):  # its worker asks again and again, as it was told to
        clock.move(55)
        assert isinstance(ask_lease(scheduler, 11), Denied)
    submit(scheduler, "small")
    finish(scheduler, running)
    assert numbers(scheduler) == []
    assert isinstance(ask_lease(scheduler, 11), Granted)


def test_a_starved_job_that_waits_for_a_lock_keeps_nothing_back(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    put(scheduler, "capacity", 10)
    submit(scheduler, "other", cost_units=5)
    claim(scheduler)
    large = submit(scheduler, "large", cost_units=10, locks=["x"])
    assert numbers(scheduler) == []
    submit(scheduler, "other", cost_units=0, locks=["x"])
    assert numbers(scheduler) == [3]
    clock.move(301)
    register(scheduler)
    small = submit(scheduler, "small")
    assert reason(scheduler, small.number) is None
    assert reason(scheduler, large.number) == "waiting on locks"
    assert numbers(scheduler) == [small.number]


def test_a_starved_job_keeps_its_place_behind_what_fits_beside_it(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    put(scheduler, "capacity", 10)
    submit(scheduler, cost_units=10)
    running = claim(scheduler)
    starved = submit(scheduler, "large", cost_units=6)
    assert numbers(scheduler) == []
    clock.move(301)
    beside = submit(scheduler, cost_units=4, priority="HIGH")
    too_large = submit(scheduler, cost_units=5, priority="URGENT")
    finish(scheduler, running)
    assert numbers(scheduler, 1) == [beside.number]
    assert numbers(scheduler, 2) == [starved.number]
    assert reason(scheduler, too_large.number) is not None


def test_the_second_job_of_a_lane_starves_as_well_as_the_first(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    put(scheduler, "capacity", 10)
    submit_all(scheduler, {"cost_units": 5}, {"cost_units": 5})
    held = claim(scheduler, 2)
    submit_all(
        scheduler, {"job_type": "large", "cost_units": 5}, {"job_type": "large", "cost_units": 5}
    )
    assert numbers(scheduler) == []
    clock.move(301)
    submit(scheduler, cost_units=5, priority="HIGH")
    finish(scheduler, held)
    assert numbers(scheduler, 1) == [3]
    assert numbers(scheduler, 1) == [4]


def test_nor_does_the_next_begin_anew_when_the_first_has_started(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    put(scheduler, "capacity", 10)
    submit(scheduler, cost_units=10)
    held = claim(scheduler)
    submit_all(scheduler, *({"job_type": "large", "cost_units": 10} for _ in range(2)))
    assert numbers(scheduler) == []
    clock.move(200)
    finish(scheduler, held)
    first = claim(scheduler)
    clock.move(101)
    submit(scheduler, cost_units=1, priority="HIGH")
    finish(scheduler, first)
    assert numbers(scheduler, 1) == [3]


def test_a_starved_job_keeps_the_starts_of_a_rate(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    put(scheduler, "mail", rate="4/h")
    for _ in range(3):
        submit(scheduler, limits={"mail": 1})
    finish(scheduler, claim(scheduler, 3))
    starved = submit(scheduler, "large", limits={"mail": 2})
    assert numbers(scheduler) == []
    clock.move(301)
    register(scheduler)
    small = submit(scheduler, limits={"mail": 1}, priority="HIGH")
    assert numbers(scheduler) == []
    said = "mail: 3 + 2 kept for a starved job of 4 started in 3600 s"
    assert reason(scheduler, small.number) == said
    clock.move(3600)
    assert numbers(scheduler) == [small.number, starved.number]


def test_without_starvation_small_jobs_go_first(scheduler: Scheduler) -> None:
    put(scheduler, "capacity", 10)
    for _ in range(10):
        submit(scheduler)
    running = claim(scheduler, 10)
    submit(scheduler, cost_units=10)
    submit(scheduler)
    assert numbers(scheduler) == []
    finish(scheduler, running[:9])
    assert numbers(scheduler) == [12]


def test_a_claim_of_many_hands_on_how_long_the_lane_has_waited(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    put(scheduler, "capacity", 10)
    submit(scheduler, cost_units=10)
    held = claim(scheduler)
    submit_all(scheduler, *({"job_type": "large", "cost_units": 10} for _ in range(2)))
    assert numbers(scheduler) == []
    clock.move(200)
    finish(scheduler, held)
    first = claim(scheduler, 10)
    assert [one.number for one in first] == [2]
    clock.move(101)
    submit(scheduler, cost_units=1, priority="HIGH")
    finish(scheduler, first)
    assert numbers(scheduler, 1) == [3]


def test_nor_does_it_when_the_first_is_cancelled(scheduler: Scheduler, clock: MovableClock) -> None:
    put(scheduler, "capacity", 10)
    submit(scheduler, cost_units=10)
    held = claim(scheduler)
    submit_all(scheduler, *({"job_type": "large", "cost_units": 10} for _ in range(2)))
    assert numbers(scheduler) == []
    clock.move(200)
    scheduler.store.write(lambda tx: cancel.cancel(scheduler, tx, 2))
    clock.move(101)
    submit(scheduler, cost_units=1, priority="HIGH")
    finish(scheduler, held)
    assert numbers(scheduler, 1) == [3]


def test_a_claim_that_led_to_nothing_does_not_begin_the_wait_anew(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    put(scheduler, "capacity", 10)
    submit(scheduler, cost_units=10)
    held = claim(scheduler)
    large = submit(scheduler, "large", cost_units=10)
    assert numbers(scheduler) == []
    clock.move(200)
    assert [one.number for one in claim(scheduler, lease=False)] == [large.number]
    clock.move(101)
    timekeeper.run_due(scheduler, clock.now())
    assert show(scheduler, large.number).status is JobStatus.QUEUED
    submit(scheduler, cost_units=1, priority="HIGH")
    finish(scheduler, held)
    assert numbers(scheduler, 1) == [large.number]


def test_a_job_whose_lock_was_taken_does_not_wait_for_a_limit(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    register(scheduler)
    put(scheduler, "capacity", 10)
    large = submit(scheduler, "large", cost_units=10, locks=["x"])
    submit(scheduler, "other", cost_units=5, locks=["x"])
    held = claim(scheduler, job_types=("other",))
    assert numbers(scheduler) == []
    found = show(scheduler, large.number)
    assert (found.status, found.waited_on) == (JobStatus.WAITING_ON_LOCKS, ("locks",))
    clock.move(301)
    submit(scheduler, "small")
    finish(scheduler, held)
    assert numbers(scheduler, 1) == [large.number]


def test_a_starved_job_leaves_alone_the_limits_that_have_room_for_it(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    put(scheduler, "capacity", 10)
    put(scheduler, "gpu", 1)
    submit(scheduler, cost_units=10)
    held = claim(scheduler)
    large = submit(scheduler, "large", cost_units=10, limits={"gpu": 1})
    assert numbers(scheduler) == []
    clock.move(301)
    register(scheduler)
    beside = submit(scheduler, cost_units=0, limits={"gpu": 1})
    assert reason(scheduler, beside.number) is None
    finish(scheduler, held)
    assert keepers(scheduler, beside.number) == [large.job_id]
    assert numbers(scheduler) == [large.number]


def test_a_job_that_uses_nothing_of_a_limit_is_not_kept_from_it(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    put(scheduler, "capacity", 10)
    submit(scheduler, cost_units=10)
    claim(scheduler)
    free = submit(scheduler, "free", cost_units=0)
    assert numbers(scheduler) == [free.number]
    large = submit(scheduler, "large", cost_units=10)
    assert numbers(scheduler) == []
    clock.move(301)
    register(scheduler)
    small = submit(scheduler, "small")
    (row,) = [row for row in why(scheduler, small.number).gates if row.gate is Gate.LIMITS]
    assert large.job_id in {one.id for one in row.blockers}
    assert free.job_id not in {one.id for one in row.blockers}
    assert numbers(scheduler) == []
    assert numbers(scheduler) == []
    another = submit(scheduler, "free", cost_units=0)
    assert numbers(scheduler) == [another.number]


def test_one_that_no_worker_takes_keeps_nothing_back(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    put(scheduler, "capacity", 10)
    submit(scheduler, "large", cost_units=9)
    held = claim(scheduler)
    large = submit(scheduler, "large", cost_units=10)
    assert numbers(scheduler) == []
    clock.move(301)
    small = submit(scheduler, "small")
    register(scheduler, "little", job_types=("small",))
    assert reason(scheduler, small.number) is None
    register(scheduler, "big", slots=1, job_types=("large",))
    assert keepers(scheduler, small.number) == [large.job_id]
    assert claim(scheduler, job_types=("small",)) == []
    finish(scheduler, held)
    assert numbers(scheduler) == [large.number]


def test_a_starved_job_that_is_paused_sees_what_it_will_see_when_it_goes_on(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    put(scheduler, "capacity", 10)
    submit(scheduler, cost_units=10)
    held = claim(scheduler)
    paused = submit(scheduler, "paused", cost_units=10)
    assert numbers(scheduler) == []
    clock.move(1)
    submit(scheduler, "later", cost_units=10)
    assert numbers(scheduler) == []
    clock.move(301)
    register(scheduler)
    scheduler.store.write(lambda tx: pause.pause(scheduler, tx, None, "paused"))
    finish(scheduler, held)
    assert keepers(scheduler, paused.number) == []
    assert reason(scheduler, paused.number) == "job type paused is paused"
    scheduler.store.write(lambda tx: pause.resume(scheduler, tx, None, "paused"))
    assert numbers(scheduler) == [paused.number]


def test_one_that_was_postponed_has_not_waited_for_the_limit_meanwhile(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    put(scheduler, "capacity", 10)
    submit(scheduler, cost_units=10)
    held = claim(scheduler)
    submit_all(scheduler, *({"job_type": "large", "cost_units": 10} for _ in range(2)))
    assert numbers(scheduler) == []
    later = JobPatch(scheduled_for=clock.now() + timedelta(seconds=301))
    scheduler.store.write(lambda tx: edit.edit(scheduler, tx, 3, later))
    clock.move(302)
    timekeeper.run_due(scheduler, clock.now())
    small = submit(scheduler, cost_units=1, priority="HIGH")
    finish(scheduler, held)
    assert numbers(scheduler, 1) == [2]
    scheduler.store.write(lambda tx: cancel.cancel(scheduler, tx, 2, force=True))
    assert keepers(scheduler, small.number) == []


def test_a_mark_that_is_handed_on_says_how_long_the_lane_has_waited(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    put(scheduler, "capacity", 10)
    submit(scheduler, cost_units=10)
    held = claim(scheduler)
    submit_all(scheduler, *({"job_type": "large", "cost_units": 10} for _ in range(2)))
    assert numbers(scheduler) == []
    clock.move(301)
    newer = submit(scheduler, "large", cost_units=10, priority=1)
    scheduler.store.write(lambda tx: cancel.cancel(scheduler, tx, 2))
    finish(scheduler, held)
    assert newer.number == 4
    assert numbers(scheduler, 1) == [3]
