"""Two who write at once on PostgreSQL: each test holds one transaction open in the middle."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import psycopg
import pytest
from tests.helpers import MovableClock, claim, event_kinds, finish, in_queue, job, submit
from tests.storage.conftest import scheduler_on

from headway.domain import errors, states
from headway.domain.requests.job_requests import BatchJobRequest, JobRequest
from headway.domain.runs import Outcome, RunStatus
from headway.domain.workers import Abilities
from headway.protocol.work_values import Report, ReportAnswer, Started
from headway.scheduler.claim import dispatch
from headway.scheduler.finish import finish as finishing
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import submit as submitting
from headway.storage import events
from headway.storage.engine.store import Store
from headway.storage.engine.transaction import Transaction
from headway.storage.postgres.database import PostgresDatabase

T = TypeVar("T")

PATIENCE_S = 30
WAITING = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


@pytest.fixture
def here(empty_postgres: str, clock: MovableClock, tmp_path: Path) -> Iterator[Scheduler]:
    """One server."""
    store = Store(PostgresDatabase(empty_postgres, clock))
    yield scheduler_on(store, clock, tmp_path)
    store.close()


@pytest.fixture
def there(empty_postgres: str, clock: MovableClock, tmp_path: Path) -> Iterator[Scheduler]:
    """Another server on the same database."""
    store = Store(PostgresDatabase(empty_postgres, clock))
    yield scheduler_on(store, clock, tmp_path)
    store.close()


@contextmanager
def held_open(
    scheduler: Scheduler,
    work: Callable[[Transaction], T],
    write: Callable[[Store, Callable[[Transaction], T]], "Future[T]"] = Store.write_beside_later,
) -> Iterator["Future[T]"]:
    """Do the work, and commit only at the end of the block."""
    done, may_end = threading.Event(), threading.Event()

    def wait(tx: Transaction) -> T:
        answer = work(tx)
        tx.write_notes()  # with the history, which is otherwise written at the commit
        tx.rows("limits")  # whatever was only sent is done with this answer
        done.set()
        assert may_end.wait(PATIENCE_S)
        return answer

    future = write(scheduler.store, wait)
    future.add_done_callback(lambda _: done.set())
    assert done.wait(PATIENCE_S)
    assert not future.done(), future.exception()
    try:
        yield future
    finally:
        may_end.set()
        future.exception(PATIENCE_S)


def wait_until_somebody_waits(scheduler: Scheduler) -> None:
    """Until a transaction waits for a lock of another."""
    give_up = time.monotonic() + PATIENCE_S
    with psycopg.connect(scheduler.store.database.url, autocommit=True) as connection:
        while connection.execute(WAITING).fetchone() == (0,):
            assert time.monotonic() < give_up
            time.sleep(0.005)


def claiming(scheduler: Scheduler, count: int) -> Callable[[Transaction], list[Started]]:
    request = dispatch.ClaimRequest(worker_id="w", abilities=Abilities(), max_jobs=count)
    return lambda tx: dispatch.claim(scheduler, tx, request)


def finishing_of(
    scheduler: Scheduler, started: Started, status: RunStatus = RunStatus.COMPLETED
) -> Callable[[Transaction], list[ReportAnswer]]:
    assert started.lease is not None
    outcome = Outcome(status=status, retry=False)
    report = Report(lease_id=started.lease.lease_id, outcome=outcome)
    worker_id = started.lease.worker_id
    return lambda tx: finishing.finish(scheduler, tx, worker_id, [report])


def submitting_of(scheduler: Scheduler, **fields: Any) -> Callable[[Transaction], Any]:
    request = JobRequest(job_type="work", **fields)
    submission = submitting.Submission(scheduler=scheduler, request=request)
    return lambda tx: submitting.submit_each(tx, [submission])[0]


def without_limits(scheduler: Scheduler) -> None:
    scheduler.store.write(lambda tx: tx.do("remove_limit", name="capacity"))


def test_two_concurrent_claims_take_different_jobs_without_waiting(
    here: Scheduler, there: Scheduler
) -> None:
    without_limits(here)
    for _ in range(5):
        submit(here)
    with held_open(here, claiming(here, 2), Store.write_apart_later) as first:
        assert [one.number for one in claim(there, 2)] == [3, 4]
    assert [one.number for one in first.result()] == [1, 2]
    assert [one.number for one in claim(there, 2)] == [5]


def test_a_claim_looks_behind_many_jobs_that_others_are_taking(
    here: Scheduler, there: Scheduler
) -> None:
    without_limits(here)
    for _ in range(8):
        submit(here)
    with held_open(here, claiming(here, 6), Store.write_apart_later):
        assert [one.number for one in claim(there, 1)] == [7]


def test_two_claims_at_once_cannot_both_take_the_last_unit_of_a_limit(
    here: Scheduler, there: Scheduler
) -> None:
    here.store.write(lambda tx: tx.do("put_limit", name="capacity", size=3, rate=None))
    for _ in range(5):
        submit(here)
    with held_open(here, claiming(here, 2), Store.write_apart_later):
        second = there.store.write_apart_later(claiming(there, 2))
        wait_until_somebody_waits(here)
        assert not second.done()
    assert [one.number for one in second.result(PATIENCE_S)] == [3]


def test_two_claims_at_once_respect_a_rate(here: Scheduler, there: Scheduler) -> None:
    here.store.write(lambda tx: tx.do("put_limit", name="capacity", size=None, rate="3/min"))
    for _ in range(5):
        submit(here)
    with held_open(here, claiming(here, 2), Store.write_apart_later):
        second = there.store.write_apart_later(claiming(there, 2))
        wait_until_somebody_waits(here)
    assert [one.number for one in second.result(PATIENCE_S)] == [3]


def test_two_predecessors_that_end_at_once_free_their_dependent_once(
    here: Scheduler, there: Scheduler
) -> None:
    one, two = submit(here), submit(here)
    last = submit(here, after=[one.job_id, two.job_id])
    first, second = claim(here, 2)
    with held_open(here, finishing_of(here, first)):
        other = there.store.write_beside_later(finishing_of(there, second))
        wait_until_somebody_waits(here)
    assert other.result(PATIENCE_S)[0].error is None
    assert job(here, last.number).status is states.QUEUED
    assert event_kinds(here).count("job.queued") == 1


def test_two_predecessors_that_fail_at_once_block_their_dependent_once(
    here: Scheduler, there: Scheduler
) -> None:
    one, two = submit(here), submit(here)
    last = submit(here, after=[one.job_id, two.job_id])
    first, second = claim(here, 2)
    with held_open(here, finishing_of(here, first, RunStatus.FAILED)):
        other = there.store.write_beside_later(finishing_of(there, second, RunStatus.FAILED))
        wait_until_somebody_waits(here)
    other.result(PATIENCE_S)
    assert job(here, last.number).status is states.BLOCKED_BY_DEPENDENCY
    assert event_kinds(here).count("job.finished") == 3
    totals = here.store.read(lambda tx: tx.rows("totals"))
    assert {row["status"]: row["count"] for row in totals} == {
        "FAILED": 2,
        "BLOCKED_BY_DEPENDENCY": 1,
    }


def test_a_run_that_is_reported_twice_at_once_ends_once(here: Scheduler, there: Scheduler) -> None:
    submit(here)
    (started,) = claim(here)
    with held_open(here, finishing_of(here, started)):
        other = there.store.write_beside_later(finishing_of(there, started))
        wait_until_somebody_waits(here)
    assert other.result(PATIENCE_S)[0].status is states.SUCCEEDED
    assert event_kinds(here).count("job.finished") == 1


@pytest.mark.parametrize("field", ["unique_key", "idempotency_key"])
def test_two_submits_at_once_with_one_key_make_one_job(
    here: Scheduler, there: Scheduler, field: str
) -> None:
    submit(here)
    with held_open(here, submitting_of(here, **{field: "k"})) as first:
        second = there.store.write_beside_later(submitting_of(there, **{field: "k"}))
        wait_until_somebody_waits(here)
    made, found = first.result(), second.result(PATIENCE_S)
    assert (made.created, found.created) == (True, False)
    assert found.job.job_id == made.job.job_id


@pytest.mark.parametrize("says", ["after", "params"])
def test_a_job_that_comes_after_another_is_submitted_alone(
    here: Scheduler, there: Scheduler, says: str
) -> None:
    first = submit(here)
    (started,) = claim(here)
    ways: dict[str, Any] = {"after": (first.job_id,), "params": {"x": [{"$result": first.job_id}]}}
    with held_open(here, finishing_of(here, started)):
        second = there.store.write_beside_later(submitting_of(there, **{says: ways[says]}))
        wait_until_somebody_waits(here)
    assert second.result(PATIENCE_S).job.status is states.QUEUED


@pytest.mark.parametrize("second", [{"after": ("ref:a",)}, {"params": {"x": {"$result": "ref:a"}}}])
def test_a_batch_that_names_a_job_it_finds_by_its_key_is_submitted_alone(
    here: Scheduler, there: Scheduler, second: dict[str, Any]
) -> None:
    submit(here, idempotency_key="k")
    (started,) = claim(here)
    batch = [
        BatchJobRequest(job_type="work", ref="a", idempotency_key="k"),
        BatchJobRequest(job_type="work", **second),
    ]
    with held_open(here, finishing_of(here, started)):
        other = there.store.write_beside_later(lambda tx: submitting.submit_all(there, tx, batch))
        wait_until_somebody_waits(here)
    found, made = other.result(PATIENCE_S)
    assert (found.number, found.created) == (started.number, False)
    assert job(here, made.number).status is states.QUEUED


def test_a_new_kind_of_job_is_submitted_alone(here: Scheduler, there: Scheduler) -> None:
    with held_open(here, lambda tx: tx.do("set_fact", name="a", value="x")):
        second = there.store.write_beside_later(submitting_of(there))
        wait_until_somebody_waits(here)
    assert second.result(PATIENCE_S).job.number == 1


def test_plain_submits_do_not_wait_for_each_other(here: Scheduler, there: Scheduler) -> None:
    submit(here)
    with held_open(here, submitting_of(here)) as first:
        assert submit(there).number == 3
    assert first.result().job.number == 2


def test_a_writer_alone_waits_for_all_others_and_they_for_it(
    here: Scheduler, there: Scheduler
) -> None:
    submit(here)
    with held_open(here, lambda tx: None, Store.write_later):
        other = there.store.write_beside_later(submitting_of(there))
        wait_until_somebody_waits(here)
        assert not other.done()
    other.result(PATIENCE_S)


def test_two_who_wait_for_each_other_both_get_through(here: Scheduler, there: Scheduler) -> None:
    both = threading.Barrier(2)
    tries: list[str] = []

    def write(first: str, second: str) -> Callable[[Transaction], None]:
        def work(tx: Transaction) -> None:
            tries.append(first)
            tx.do("set_fact", name=first, value=first)
            if len(tries) <= 2:
                both.wait(PATIENCE_S)
            tx.do("set_fact", name=second, value=first)

        return work

    waiting = [
        here.store.write_beside_later(write("a", "b")),
        there.store.write_beside_later(write("b", "a")),
    ]
    for one in waiting:
        one.result(PATIENCE_S)
    assert len(tries) == 3


def test_a_line_of_history_that_is_committed_late_is_not_missed(
    here: Scheduler, there: Scheduler
) -> None:
    submit(here)
    follower = events.Follower(0)

    def read() -> list[int]:
        return [one.seq for one in here.store.read(lambda tx: follower.read(tx, 100))]

    assert read() == [1]
    with held_open(there, submitting_of(there)):
        submit(here)
        assert [read(), read(), read()] == [[], [], []]
        assert follower.wait_s
    assert read() == [2, 3]


def test_a_line_of_history_that_was_never_committed_is_passed_over(
    here: Scheduler, there: Scheduler
) -> None:
    submit(here)
    follower = events.Follower(1)

    def refused(tx: Transaction) -> None:
        submitting_of(there)(tx)
        tx.write_notes()
        tx.rows("limits")
        raise errors.InvalidRequest("x", "no")

    with pytest.raises(errors.InvalidRequest):
        there.store.write_beside(refused)
    submit(here)
    assert [one.seq for one in events.settled(here.store.read, 1, 100)] == [3]
    assert here.store.read(lambda tx: follower.read(tx, 100)) == []
    with held_open(there, submitting_of(there)):  # whoever began later is not waited for
        assert [one.seq for one in here.store.read(lambda tx: follower.read(tx, 100))] == [3]


class Lost:
    """Loses the connection of a store's writer at its next commit, before or after it happens."""

    def __init__(self, store: Store, *, after: bool) -> None:
        session: Any = store.writer._session
        connection = session._connection
        flush = connection.flush

        def lose() -> Any:
            if not connection._sent or connection._sent[-1].text != b"COMMIT":
                return flush()
            if after:
                flush()
            connection.raw.close()
            raise psycopg.OperationalError("the connection is lost")

        connection.flush = lose


@pytest.mark.parametrize("after", [True, False])
def test_a_commit_whose_answer_is_lost_counts_once(here: Scheduler, after: bool) -> None:
    submit(here)
    Lost(here.store, after=after)
    made = submit(here)
    assert [number for number, _ in in_queue(here.store)] == [1, made.number]
    assert here.store.problem is None


def test_a_finish_whose_answer_is_lost_counts_once(here: Scheduler) -> None:
    submit(here)
    (started,) = claim(here)
    Lost(here.store, after=True)
    assert finish(here, started)[0].status is states.SUCCEEDED
    assert event_kinds(here).count("job.finished") == 1


def test_who_follows_the_history_from_now_on_is_told_what_is_committed_late(
    here: Scheduler, there: Scheduler
) -> None:
    submit(here)
    with held_open(there, submitting_of(there)) as opened:
        submit(here)
        follower = here.store.read(events.from_now)
        assert here.store.read(lambda tx: follower.read(tx, 100)) == []
    late = opened.result(PATIENCE_S).job.number
    found: list[int | None] = []
    while late not in found:
        found += [one.number for one in here.store.read(lambda tx: follower.read(tx, 100))]
    assert found == [late]
