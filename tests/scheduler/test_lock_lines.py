"""Lines for locks: whatever happens, the next to start is the first that may, at once."""

import random
from typing import Any

import msgspec
import pytest
from tests.helpers import MovableClock, ask, ask_lease, claim, finish, job, newest_numbers, submit
from tests.scheduler.asking import register, show, submit_all, why

from headway.domain.jobs import Job, Mode
from headway.domain.requests.group_requests import GroupRequest
from headway.domain.requests.job_requests import JobPatch
from headway.domain.runs import RunStatus
from headway.domain.states import JobStatus
from headway.operations.jobs import list_jobs
from headway.protocol.jobs import JobQuery
from headway.protocol.work_values import Denied, Granted, Started
from headway.scheduler.admit import admit, lock_queues
from headway.scheduler.change import cancel, edit, pause, rewind
from headway.scheduler.manage import groups
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import timekeeper, verify
from headway.storage import job_views

TYPES = ("a", "b", "c")
KEYS = ("x", "y", "z")
SHARED = [{"key": "x", "mode": "shared"}]
WANTING = (JobStatus.QUEUED, JobStatus.WAITING_ON_LOCKS)
CLAIMED = (JobStatus.CLAIMED, JobStatus.PREPARING, JobStatus.LEASE_PENDING)

ENDS = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.SKIPPED)


def started(scheduler: Scheduler, *job_types: str) -> list[int]:
    return [one.number for one in claim(scheduler, 10, job_types=job_types or None)]


def test_a_shared_job_does_not_overtake_an_exclusive_one_of_a_busy_worker(
    scheduler: Scheduler,
) -> None:
    submit(scheduler, "a", locks=SHARED)
    held = claim(scheduler, job_types=("a",))
    exclusive = submit(scheduler, "b", locks=["x"])
    shared = submit(scheduler, "a", locks=SHARED)
    assert started(scheduler, "a") == []
    (blocker,) = [one for row in why(scheduler, shared.number).gates for one in row.blockers]
    assert (blocker.id, blocker.status) == (exclusive.job_id, JobStatus.WAITING_ON_LOCKS)
    assert blocker.detail == "waits for x (exclusive) and stands ahead"
    finish(scheduler, held)
    assert started(scheduler) == [exclusive.number]


def test_a_shared_job_overtakes_none_that_waits_behind_another_line(scheduler: Scheduler) -> None:
    submit(scheduler, "a", locks=["z"])
    claim(scheduler)
    first = submit(scheduler, "b", locks=["y", "z"])
    second = submit(scheduler, "b", locks=["x", {"key": "y", "mode": "shared"}])
    shared = submit(scheduler, "a", locks=SHARED)
    assert started(scheduler) == []
    for waiter, ahead in ((second, first), (shared, second)):
        (blocker,) = [one for row in why(scheduler, waiter.number).gates for one in row.blockers]
        assert blocker.id == ahead.job_id


def test_nor_one_that_is_ready_but_for_a_lock_taken_since(scheduler: Scheduler) -> None:
    exclusive = submit(scheduler, "b", locks=["x", "y"])
    submit(scheduler, "a", locks=["y"])
    held = claim(scheduler, job_types=("a",))
    shared = submit(scheduler, "a", locks=SHARED)
    assert started(scheduler, "a") == []
    assert show(scheduler, exclusive.number).status is JobStatus.WAITING_ON_LOCKS
    finish(scheduler, held)
    assert started(scheduler, "a") == [shared.number]


def test_who_stands_behind_one_that_lost_another_lock_goes_on(scheduler: Scheduler) -> None:
    submit(scheduler, "a", locks=["z"])
    held = claim(scheduler)
    first = submit(scheduler, "b", locks=["y", "z"])
    second = submit(scheduler, "b", locks=["z"])
    finish(scheduler, held)
    assert show(scheduler, first.number).status is JobStatus.QUEUED
    submit(scheduler, "a", locks=[{"key": "y", "mode": "shared"}], priority=1)
    assert started(scheduler) == [4]
    assert show(scheduler, first.number).status is JobStatus.WAITING_ON_LOCKS
    assert started(scheduler) == [second.number]


def test_every_exclusive_job_that_stands_ahead_is_named(scheduler: Scheduler) -> None:
    register(scheduler)
    held = submit(scheduler, locks=SHARED)
    claim(scheduler)
    ahead = [submit(scheduler, locks=["x"]) for _ in range(3)]
    shared = submit(scheduler, locks=SHARED)
    blockers = [one.id for row in why(scheduler, shared.number).gates for one in row.blockers]
    assert blockers == [one.job_id for one in ahead]
    assert held.job_id not in blockers


def test_nor_one_that_was_ready_before_the_lock_was_taken(scheduler: Scheduler) -> None:
    submit_all(scheduler, {"job_type": "a", "locks": SHARED, "priority": 1})
    submit_all(scheduler, {"job_type": "b", "locks": ["x"]}, {"job_type": "a", "locks": SHARED})
    assert started(scheduler, "a") == [1]
    assert show(scheduler, 2).status is JobStatus.WAITING_ON_LOCKS
    assert show(scheduler, 3).status is JobStatus.WAITING_ON_LOCKS


def test_a_paused_exclusive_waiter_blocks_no_other_job(scheduler: Scheduler) -> None:
    submit(scheduler, "a", locks=SHARED)
    claim(scheduler)
    submit(scheduler, "b", locks=["x"])
    submit(scheduler, "a", locks=SHARED)
    scheduler.store.write(lambda tx: pause.pause(scheduler, tx, None, "b"))
    assert started(scheduler) == [3]


def test_who_stands_behind_one_that_cannot_use_the_lock_goes_at_once(scheduler: Scheduler) -> None:
    submit_all(scheduler, {"locks": ["x"]}, {"locks": ["y"]})
    first, _ = claim(scheduler, 2)
    submit_all(scheduler, {"locks": ["x", "y"]}, {"locks": ["x"]})
    finish(scheduler, first)
    assert started(scheduler) == [4]


def test_who_stands_behind_one_that_was_put_off_goes_at_once(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, locks=["x"])
    held = claim(scheduler)
    submit_all(scheduler, {"locks": ["x"]}, {"locks": ["x"]})
    finish(scheduler, held)
    later = JobPatch(scheduled_for=clock.now().replace(year=2027))
    scheduler.store.write(lambda tx: edit.edit(scheduler, tx, 2, later))
    assert started(scheduler) == [3]


def test_a_claim_without_a_lease_holds_no_lock(scheduler: Scheduler) -> None:
    submit_all(scheduler, {"locks": ["x"]}, {"locks": ["x"]})
    assert [one.number for one in claim(scheduler, 10, lease=False)] == [1, 2]


def test_more_shared_jobs_than_try_at_once_all_run_side_by_side(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(lock_queues.AT_ONCE, Mode.SHARED, 2)
    submit(scheduler, locks=["x"])
    held = claim(scheduler)
    submit_all(scheduler, *({"locks": SHARED} for _ in range(9)))
    finish(scheduler, held)
    assert sorted(number for _ in range(9) for number in started(scheduler)) == list(range(2, 11))


def test_lock_waiters_behind_many_that_cannot_start_are_still_tried(
    scheduler: Scheduler,
) -> None:
    submit_all(scheduler, {"job_type": "a", "locks": ["x"]}, {"job_type": "b", "locks": ["z"]})
    held, _ = claim(scheduler, 2)
    submit(scheduler, "b", locks=["y", "z"])  # waits for z, and keeps shared ones from y
    both = [*SHARED, {"key": "y", "mode": "shared"}]
    in_vain = submit_all(scheduler, *({"locks": both} for _ in range(admit.MOST_TRIED + 100)))
    last = submit(scheduler, locks=SHARED)
    finish(scheduler, held)
    assert started(scheduler) == []
    timekeeper.run_due(scheduler, scheduler.clock.now())
    assert started(scheduler) == [last.number]
    assert job(scheduler, in_vain[-1]).status is JobStatus.WAITING_ON_LOCKS
    timekeeper.run_due(scheduler, scheduler.clock.now())
    assert not scheduler.store.read(lock_queues.is_put_off)


def test_nor_do_more_who_leave_the_line(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admit, "MOST_TRIED", 3)
    (scheduler.workspace.root / "file").touch()
    submit(scheduler, locks=["x"])
    held = claim(scheduler)
    submit_all(scheduler, *({"locks": ["x"], "needs": ["file:file"]} for _ in range(10)))
    submit(scheduler, locks=["x"])
    (scheduler.workspace.root / "file").unlink()
    finish(scheduler, held)
    assert started(scheduler) == []
    timekeeper.run_due(scheduler, scheduler.clock.now())
    assert started(scheduler) == [12]


def test_what_comes_free_while_a_long_line_is_tried_is_tried_for_afterwards(
    scheduler: Scheduler,
) -> None:
    def put_off(keys: str, tried: set[int], *, first: bool = False) -> None:
        scheduler.store.write(lambda tx: lock_queues.put_off(tx, {*keys}, tried, first=first))

    put_off("x", {1, 2})
    put_off("xy", {1, 3})
    put_off("z", {1, 4})
    assert scheduler.store.write(lock_queues.take_up) == ({"x"}, {1, 2})
    put_off("x", {1, 2, 5}, first=True)
    assert scheduler.store.write(lock_queues.take_up) == ({"x"}, {1, 2, 5})
    assert scheduler.store.write(lock_queues.take_up) == ({"x", "y", "z"}, {1})
    assert not scheduler.store.read(lock_queues.is_put_off)


def test_who_tried_in_vain_tries_again_when_the_one_ahead_ends_in_the_same_moment(
    scheduler: Scheduler,
) -> None:
    once = {"max_attempts": 0}
    submit(scheduler, "a", locks=["x"], retry_policy=once)
    submit(scheduler, "b", locks=["z"])
    held, _ = claim(scheduler, 2)
    #  job 4 stands ahead for y and waits for z; it is stopped with its group when 3 is blocked by 1
    members = [{"job_type": "c", "after": [1]}, {"job_type": "c", "locks": ["y", "z"]}]
    group = msgspec.convert(
        {"mode": "parallel", "on_failure": "stop", "jobs": members}, GroupRequest
    )
    scheduler.store.write(lambda tx: groups.create(scheduler, tx, group))
    submit(scheduler, locks=[*SHARED, {"key": "y", "mode": "shared"}])
    finish(scheduler, held, RunStatus.FAILED)
    assert job(scheduler, 4).status is JobStatus.CANCELLED
    assert started(scheduler) == [5]


def test_a_list_by_status_goes_by_the_status_that_is_shown(scheduler: Scheduler) -> None:
    submit(scheduler, "a", locks=SHARED, priority=1)
    submit(scheduler, "b", locks=["x"])
    submit(scheduler, "c", locks=SHARED)
    submit(scheduler, "d", locks=["y"])
    submit(scheduler, "e")
    claim(scheduler, job_types=("a",))

    def listed(status: str | None) -> dict[int, str]:
        page = ask(list_jobs, scheduler, query=JobQuery(status=status))
        return {job.number: job.status for job in page.items}

    everything = listed(None)
    assert [everything[number] for number in (2, 3)] == ["WAITING_ON_LOCKS"] * 2
    for status in ("QUEUED", "WAITING_ON_LOCKS", "RUNNING", "QUEUED,WAITING_ON_LOCKS"):
        words = status.split(",")
        assert listed(status) == {n: word for n, word in everything.items() if word in words}


@pytest.mark.parametrize("seed", range(12))
def test_the_next_to_start_is_the_first_that_may(
    scheduler: Scheduler, clock: MovableClock, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setitem(lock_queues.AT_ONCE, Mode.SHARED, 1)
    play = Play(scheduler, clock, random.Random(seed))
    for _ in range(60):
        play.step()
    assert verify.verify(scheduler) == []


class Play:
    """Does what people and workers do, in any order, and knows who must start next."""

    def __init__(self, scheduler: Scheduler, clock: MovableClock, chance: random.Random) -> None:
        self._scheduler = scheduler
        self._clock = clock
        self._chance = chance
        self._running: list[Started] = []

    def step(self) -> None:
        """One thing happens."""
        happens = [
            *[self._submit] * 4,
            *[self._start] * 5,
            *[self._finish] * 3,
            self._cancel,
            self._change,
            self._claim,
            self._rewind,
            self._wait,
        ]
        self._chance.choice(happens)()

    def _jobs(self, *statuses: JobStatus) -> list[Job]:
        numbers = self._scheduler.store.read(lambda tx: newest_numbers(tx))
        shown = self._scheduler.store.read(lambda tx: job_views.read(tx, numbers))
        return [one for one in shown if not statuses or one.status in statuses]

    def _submit(self) -> None:
        keys = self._chance.sample(KEYS, self._chance.choice((1, 1, 2)))
        locks: list[dict[str, Any]] = [
            {"key": key, "mode": self._chance.choice(("shared", "exclusive"))} for key in keys
        ]
        submit(
            self._scheduler,
            self._chance.choice(TYPES),
            locks=locks,
            priority=self._chance.choice((0, 0, 1)),
            retry_policy={"max_attempts": 0},
        )

    def _start(self) -> None:
        types = tuple(self._chance.sample(TYPES, self._chance.choice((1, 2, 3))))
        expected = self._first(types)
        got = claim(self._scheduler, 1, job_types=types)
        assert [one.number for one in got] == expected
        self._running += got

    def _finish(self) -> None:
        if self._running:
            one = self._running.pop(self._chance.randrange(len(self._running)))
            finish(self._scheduler, one, self._chance.choice(ENDS))

    def _cancel(self) -> None:
        if waiting := self._jobs(*WANTING, *CLAIMED):
            number = self._chance.choice(waiting).number
            self._scheduler.store.write(lambda tx: cancel.cancel(self._scheduler, tx, number))

    def _change(self) -> None:
        if waiting := self._jobs(*WANTING):
            number = self._chance.choice(waiting).number
            later = self._clock.now().replace(year=2027)
            patch = self._chance.choice((JobPatch(priority=1), JobPatch(scheduled_for=later)))
            self._scheduler.store.write(lambda tx: edit.edit(self._scheduler, tx, number, patch))

    def _claim(self) -> None:
        claim(self._scheduler, 2, lease=False)

    def _rewind(self) -> None:
        if ended := self._jobs(JobStatus.FAILED, JobStatus.CANCELLED):
            number = self._chance.choice(ended).number
            self._scheduler.store.write(lambda tx: rewind.rewind(self._scheduler, tx, number))

    def _wait(self) -> None:
        self._clock.move(61)
        for one in self._running:
            assert one.lease is not None
        timekeeper.run_due(self._scheduler, self._clock.now())
        self._running = [
            one for one in self._running if job(self._scheduler, one.number).status == "RUNNING"
        ]

    def _first(self, types: tuple[str, ...]) -> list[int]:
        """The first job in the queue that may start, by the rules as they are written down."""
        holds = [
            (lock.key, lock.mode) for one in self._jobs(JobStatus.RUNNING) for lock in one.locks
        ]
        line = sorted(
            (one for one in self._jobs(*WANTING, *CLAIMED) if self._is_due(one)),
            key=lambda one: (-one.priority, one.position, one.number),
        )
        waiting: list[Job] = []
        for one in line:
            if not _is_free(one, waiting, holds):
                if one.status in WANTING or _is_on_held(one, holds):
                    waiting.append(one)
            elif one.status in WANTING and one.job_type in types:
                return [one.number]
        return []

    def _is_due(self, one: Job) -> bool:
        return one.scheduled_for is None or one.scheduled_for <= self._clock.now()


Holds = list[tuple[str, Mode]]


def _is_free(one: Job, waiting: list[Job], holds: Holds) -> bool:
    """Nobody holds its locks against it, and no exclusive job that waits stands ahead of it."""
    return not _is_held_off(one, holds) and not any(
        lock.mode is Mode.SHARED and _wants_alone(other, lock.key)
        for lock in one.locks
        for other in waiting
    )


def _is_on_held(one: Job, holds: Holds) -> bool:
    """A claimed job that was not denied a lease waits for a lock only while that one is held."""
    held = {key for key, _ in holds}
    return all(lock.key in held for lock in one.locks)


def _is_held_off(one: Job, holds: Holds) -> bool:
    return any(
        key == lock.key and Mode.EXCLUSIVE in (mode, lock.mode)
        for lock in one.locks
        for key, mode in holds
    )


def _wants_alone(one: Job, key: str) -> bool:
    return any(lock.key == key and lock.mode is Mode.EXCLUSIVE for lock in one.locks)


def test_a_claimed_job_that_was_denied_its_lock_is_not_overtaken(scheduler: Scheduler) -> None:
    submit(scheduler, locks=["x"])
    claim(scheduler, lease=False)
    submit(scheduler, locks=SHARED)
    before = claim(scheduler)
    assert isinstance(ask_lease(scheduler, 1), Denied)
    submit(scheduler, locks=SHARED)
    finish(scheduler, before)
    assert started(scheduler) == []
    assert isinstance(ask_lease(scheduler, 1), Granted)
