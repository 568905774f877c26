"""Two servers on one PostgreSQL: what programs wait for comes while they begin or end to wait."""

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.helpers import WORKER, MovableClock, claim, finish, job, submit
from tests.scheduler.test_programs import (
    children,
    done,
    journal,
    lease_of,
    send,
    signal,
    sleep,
    suspend,
    suspended,
)

from headway.domain import errors
from headway.domain.states import JobStatus
from headway.domain.steps import Step
from headway.protocol.work_values import Started
from headway.scheduler.change import cancel, rewind
from headway.scheduler.programs import signals
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import verify
from headway.storage.engine.store import Store
from headway.storage.postgres.database import PostgresDatabase
from headway.workspace import Workspace

ROUNDS = 15


@pytest.fixture
def servers(
    empty_postgres: str, clock: MovableClock, tmp_path: Path
) -> Iterator[tuple[Scheduler, Scheduler]]:
    """Two schedulers on one database, which is sound in the end."""
    folder = tmp_path / "workspace"
    folder.mkdir(exist_ok=True)
    stores = [Store(PostgresDatabase(empty_postgres, clock)) for _ in range(2)]
    stores[0].database.migrate()
    one, two = (
        Scheduler(
            store=store,
            clock=clock,
            workspace=Workspace(folder),
            data=tmp_path / "data",
            chance=random.Random(seed),
        )
        for seed, store in enumerate(stores)
    )
    yield one, two
    assert verify.verify(one) == []
    for store in stores:
        store.close()


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Make all of these calls at the same moment."""
    start = threading.Barrier(len(calls))

    def begin(call: Callable[[], Any]) -> Any:
        start.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(begin, calls))


def end_all(scheduler: Scheduler) -> None:
    """Run what is ready until nothing is."""
    while started := claim(scheduler, 5):
        for one in started:
            finish(scheduler, one)


def cancelled(scheduler: Scheduler, number: int) -> None:
    scheduler.store.write(lambda tx: cancel.cancel(scheduler, tx, number))


def rewound(scheduler: Scheduler, number: int) -> bool:
    """Rewind a child, unless its parent goes on with its result."""
    try:
        scheduler.store.write(lambda tx: rewind.rewind(scheduler, tx, number, force=True))
    except errors.Conflict:
        return False
    return True


def taken(scheduler: Scheduler, started: Started) -> Step | None:
    """The next signal that was kept for a running job."""
    return scheduler.store.write(lambda tx: signals.take(tx, WORKER, lease_of(started), "go", None))


Pair = tuple[Scheduler, Scheduler]


def test_a_signal_comes_while_its_job_suspends(servers: Pair) -> None:
    one, two = servers
    for turn in range(ROUNDS):
        number = submit(one, "program").number
        (started,) = claim(one)
        at_once(
            partial(suspend, one, started, signal("go")), partial(send, two, number, "go", turn)
        )
        (again,) = claim(one)
        assert [step.result for step in again.steps or ()] == [turn]
        finish(one, again)


def test_two_signals_come_at_once(servers: Pair) -> None:
    one, two = servers
    for _ in range(ROUNDS):
        number = suspended(one, signal("go")).number
        at_once(partial(send, one, number, "go", 1), partial(send, two, number, "go", 2))
        (again,) = claim(one)
        kept = taken(one, again)
        assert kept is not None
        assert {kept.result, *(step.result for step in again.steps or ())} == {1, 2}
        finish(one, again)


def test_children_end_while_their_parent_is_cancelled(servers: Pair) -> None:
    one, two = servers
    for _ in range(ROUNDS):
        number = suspended(one, children("a", "a")).number
        first, second = claim(one, 2)
        at_once(
            partial(finish, one, first),
            partial(finish, two, second),
            partial(cancelled, two, number),
        )
        assert job(one, number).status is JobStatus.CANCELLED


def test_the_last_children_end_at_once(servers: Pair) -> None:
    one, two = servers
    for _ in range(ROUNDS):
        number = suspended(one, children("a", "a", "a")).number
        first, second, third = claim(one, 3)
        at_once(
            partial(finish, one, first), partial(finish, two, second), partial(finish, two, third)
        )
        assert job(one, number).status is JobStatus.QUEUED
        end_all(one)


def test_a_child_that_a_key_finds_ends_while_its_parent_suspends(servers: Pair) -> None:
    one, two = servers
    for turn in range(ROUNDS):
        submit(one, "a", unique_key=f"key {turn}")
        (found,) = claim(one)
        number = submit(one, "program").number
        (started,) = claim(one)
        wait = children("a", unique_key=f"key {turn}")
        at_once(partial(suspend, one, started, wait), partial(finish, two, found))
        end_all(one)
        assert job(one, number).status is JobStatus.SUCCEEDED


def test_a_step_is_recorded_beside_another_and_before_its_job_suspends(servers: Pair) -> None:
    one, two = servers
    for _ in range(ROUNDS):
        number = submit(one, "program").number
        (started,) = claim(one)
        answers = at_once(
            partial(done, one, started, "x"),
            partial(done, two, started, "y"),
            partial(suspend, two, started, sleep(0)),
        )
        recorded = sum(answer.created for answer in answers[:2])
        assert len(journal(one, number)) == recorded + 1
        end_all(one)


def test_a_child_is_rewound_while_its_last_sibling_ends(servers: Pair) -> None:
    one, two = servers
    for _ in range(ROUNDS):
        number = suspended(one, children("a", "b")).number
        (first,) = claim(one, job_types=("a",))
        finish(one, first)
        (second,) = claim(one)

        is_rewound, _ = at_once(partial(rewound, one, first.number), partial(finish, two, second))
        waits = JobStatus.SUSPENDED if is_rewound else JobStatus.QUEUED
        assert job(one, number).status is waits
        end_all(one)
        assert job(one, number).status is JobStatus.SUCCEEDED
