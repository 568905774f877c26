"""Verify: a sound store has nothing to say, a damaged one says what is wrong."""

import pytest
from tests.scheduler.asking import damage

from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import verify


def test_a_sound_store_has_nothing_to_say(busy: Scheduler) -> None:
    assert verify.verify(busy) == []


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("DELETE FROM leases", "job 3 is RUNNING without a lease"),
        ("DELETE FROM runs WHERE status IS NULL", "job 3 is RUNNING without an open run"),
        ("UPDATE jobs SET open_deps = 0", "job 5 counts its open dependencies wrongly"),
        (
            "INSERT INTO locks VALUES ('gpu', 6, 'shared', 0)",
            "lock gpu is held exclusively and by another job",
        ),
        ("UPDATE locks SET job_number = 1", "lock gpu is held by a job that is not running"),
        ("UPDATE jobs SET worker_id = NULL", "job 6 is claimed without a worker or a time"),
        (
            "UPDATE jobs SET chain = 4 WHERE number = 5",
            "the chain of job 4 has more than one active link",
        ),
        ("DELETE FROM lock_waiters", "job 4 waits for locks but stands in no line"),
        ("UPDATE lock_waiters SET position = 0", "job 4 stands wrongly in the line for a lock"),
        (
            "UPDATE jobs SET status = 'SUCCEEDED' WHERE number = 2",
            "job 2 ended otherwise than its run",
        ),
    ],
)
def test_damage_is_named(busy: Scheduler, sql: str, problem: str) -> None:
    damage(busy, sql)
    assert problem in verify.verify(busy)
