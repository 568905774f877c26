"""Locks: shared or exclusive, all or nothing, in queue order."""

from tests.helpers import claim, finish, job, submit
from tests.scheduler.asking import register, submit_all

from headway.domain.runs import RunStatus
from headway.domain.states import JobStatus
from headway.scheduler.change import cancel
from headway.scheduler.manage import limits
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import verify

SHARED = [{"key": "db", "mode": "shared"}]


def numbers(scheduler: Scheduler, count: int = 10) -> list[int]:
    return [one.number for one in claim(scheduler, count)]


def test_an_exclusive_lock_has_one_holder_at_a_time(scheduler: Scheduler) -> None:
    register(scheduler)
    submit_all(scheduler, {"locks": ["gpu"]}, {"locks": ["gpu"]}, {})
    first = claim(scheduler, 3)
    assert [one.number for one in first] == [1, 3]
    assert numbers(scheduler) == []
    assert job(scheduler, 2).status is JobStatus.WAITING_ON_LOCKS
    assert job(scheduler, 2).waited_on == ("locks",)
    finish(scheduler, first)
    assert job(scheduler, 2).wait_reason is None
    assert numbers(scheduler) == [2]


def test_shared_holders_run_side_by_side(scheduler: Scheduler) -> None:
    submit_all(scheduler, {"locks": SHARED}, {"locks": SHARED}, {"locks": ["db"]})
    assert numbers(scheduler) == [1, 2]


def test_all_locks_or_none_are_taken(scheduler: Scheduler) -> None:
    submit_all(scheduler, {"locks": ["a"]}, {"locks": ["a", "b"]}, {"locks": ["b"]})
    assert numbers(scheduler) == [1, 3]


def test_a_failed_job_lets_go_of_its_locks(scheduler: Scheduler) -> None:
    submit_all(
        scheduler, {"locks": ["gpu"], "retry_policy": {"max_attempts": 0}}, {"locks": ["gpu"]}
    )
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    assert numbers(scheduler) == [2]
    assert verify.verify(scheduler) == []


def test_waiters_go_in_queue_order(scheduler: Scheduler) -> None:
    submit(scheduler, locks=["gpu"])
    held = claim(scheduler)
    submit(scheduler, locks=["gpu"])
    submit(scheduler, locks=["gpu"], priority="HIGH")
    finish(scheduler, held)
    assert numbers(scheduler) == [3]


def test_a_waiting_exclusive_is_not_overtaken_by_later_shared_ones(scheduler: Scheduler) -> None:
    submit(scheduler, locks=SHARED)
    held = claim(scheduler)
    submit(scheduler, locks=["db"])
    submit(scheduler, locks=SHARED)
    assert numbers(scheduler) == []
    finish(scheduler, held)
    assert numbers(scheduler) == [2]


def test_nor_is_it_overtaken_inside_one_claim(scheduler: Scheduler) -> None:
    submit_all(scheduler, {"locks": SHARED}, {"locks": ["db"]}, {"locks": SHARED})
    assert numbers(scheduler) == [1]


def test_a_waiting_exclusive_that_is_cancelled_lets_the_shared_ones_pass(
    scheduler: Scheduler,
) -> None:
    submit(scheduler, locks=SHARED)
    claim(scheduler)
    exclusive = submit(scheduler, locks=["db"])
    submit(scheduler, locks=SHARED)
    scheduler.store.write(lambda tx: cancel.cancel(scheduler, tx, exclusive.number))
    assert numbers(scheduler) == [3]


def test_locks_are_listed_with_holders_and_waiters(scheduler: Scheduler) -> None:
    holder = submit(scheduler, locks=["gpu"])
    claim(scheduler)
    submit(scheduler, locks=["gpu"])
    (lock,) = scheduler.store.read(limits.locks)
    assert (lock.key, lock.waiting) == ("gpu", 1)
    assert [(one.job_id, one.mode) for one in lock.holders] == [(holder.job_id, "exclusive")]
