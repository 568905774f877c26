"""Jobs that are submitted in a transaction of somebody else, on PostgreSQL."""

import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.helpers import MovableClock, claim, in_queue, run_next, submit
from tests.storage.conftest import scheduler_on

import headway
from headway.domain import errors
from headway.domain.requests.job_requests import JobRequest
from headway.scheduler.submit import submit as submitting
from headway.storage.engine.store import Store
from headway.storage.engine.transaction import READY, Transaction
from headway.storage.postgres.connection import BorrowedConnection

PATIENCE_S = 30


@pytest.fixture
def url(empty_postgres: str) -> str:
    """Only PostgreSQL."""
    return empty_postgres


def test_a_job_is_submitted_in_a_borrowed_transaction(
    store: Store, empty_postgres: str, tmp_path: Path, clock: MovableClock
) -> None:
    scheduler = scheduler_on(store, clock, tmp_path)
    request = JobRequest(job_type="work", params={"a": 1})
    with psycopg.connect(empty_postgres) as connection:
        for keep in (False, True):
            tx = Transaction(BorrowedConnection(connection), clock.now())
            submitting.submit_in(scheduler, tx, request)
            assert in_queue(store) == []
            if keep:
                connection.commit()
            else:
                connection.rollback()
    assert [one.number for one in claim(scheduler, 9)] == [2]  # a number once taken is gone


def test_no_writer_waits_for_a_borrowed_transaction(
    store: Store, empty_postgres: str, tmp_path: Path, clock: MovableClock
) -> None:
    scheduler = scheduler_on(store, clock, tmp_path)
    submit(scheduler)
    with psycopg.connect(empty_postgres) as connection:
        tx = Transaction(BorrowedConnection(connection), clock.now())
        submitting.submit_in(scheduler, tx, JobRequest(job_type="work"))
        alone = store.write_later(lambda tx: tx.do("set_fact", name="a", value="x"))
        assert alone.result(PATIENCE_S) == 1
        assert [one.number for one in claim(scheduler, 9)] == [1]
        connection.commit()
    assert [one.number for one in claim(scheduler, 9)] == [2]


def test_others_wait_while_a_borrowed_transaction_must_be_alone(
    store: Store, empty_postgres: str, tmp_path: Path, clock: MovableClock
) -> None:
    scheduler = scheduler_on(store, clock, tmp_path)
    with psycopg.connect(empty_postgres) as connection:
        tx = Transaction(BorrowedConnection(connection), clock.now())
        first = submitting.submit_in(scheduler, tx, JobRequest(job_type="work"))
        second = store.write_later(
            lambda tx: submitting.submit_in(scheduler, tx, JobRequest(job_type="work"))
        )
        assert not second.done()
        connection.commit()
    assert (first.number, second.result(PATIENCE_S).number) == (1, 2)


def test_a_submit_that_gets_no_numbers_blocks_no_other(
    store: Store, empty_postgres: str, tmp_path: Path, clock: MovableClock
) -> None:
    scheduler = scheduler_on(store, clock, tmp_path)
    submit(scheduler)
    with psycopg.connect(empty_postgres) as connection:
        connection.execute("SET TRANSACTION READ ONLY")
        tx = Transaction(BorrowedConnection(connection), clock.now())
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction, match="nextval"):
            submitting.submit_in(scheduler, tx, JobRequest(job_type="work"))
        connection.rollback()
        work = JobRequest(job_type="work")
        second = store.write_later(lambda tx: submitting.submit_in(scheduler, tx, work))
        assert second.result(PATIENCE_S).number == 2


def test_the_manual_shows_which_session_blocks_all_writers(
    store: Store, empty_postgres: str, tmp_path: Path, clock: MovableClock
) -> None:
    manual = Path(__file__).parents[2] / "docs" / "operations.md"
    blocks = [one.partition("```")[0] for one in manual.read_text().split("```sql")[1:]]
    (query,) = [one for one in blocks if "pg_locks" in one]
    scheduler = scheduler_on(store, clock, tmp_path)
    with psycopg.connect(empty_postgres) as connection:
        tx = Transaction(BorrowedConnection(connection), clock.now())
        submitting.submit_in(scheduler, tx, JobRequest(job_type="work", unique_key="a"))
        with psycopg.connect(empty_postgres) as admin:
            found = [row[0] for row in admin.execute(query.encode())]
        assert found == [connection.info.backend_pid]


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_transaction_that_cannot_see_others_takes_plain_jobs_only(
    store: Store, empty_postgres: str, tmp_path: Path, clock: MovableClock, level: str
) -> None:
    scheduler = scheduler_on(store, clock, tmp_path)
    first = submit(scheduler)
    with psycopg.connect(empty_postgres) as connection:
        connection.execute(f"SET TRANSACTION ISOLATION LEVEL {level}".encode())
        tx = Transaction(BorrowedConnection(connection), clock.now())
        submitting.submit_in(scheduler, tx, JobRequest(job_type="work"))
        run_next(scheduler)  # the open transaction will never see this
        submissions: list[dict[str, Any]] = [{"after": (first.job_id,)}, {"unique_key": "a"}]
        for more in submissions:
            with pytest.raises(errors.InvalidRequest, match=r"^connection: .*READ COMMITTED"):
                submitting.submit_in(scheduler, tx, JobRequest(job_type="work", **more))
        connection.commit()
    assert len(in_queue(store)) == 1


def test_a_connection_without_a_transaction_is_not_borrowed(empty_postgres: str) -> None:
    with psycopg.connect(empty_postgres, autocommit=True) as connection:
        with pytest.raises(errors.InvalidRequest):
            BorrowedConnection(connection)
        with connection.transaction():
            BorrowedConnection(connection)


def test_workers_wake_when_a_borrowed_transaction_with_a_submit_is_committed(
    store: Store, empty_postgres: str, tmp_path: Path
) -> None:
    app = headway.App(db=empty_postgres, data=str(tmp_path))

    @app.job
    def mail(to: str) -> None: ...

    woken = threading.Event()
    mail.submit(to="a")
    with psycopg.connect(empty_postgres) as connection:
        mail.submit_on(connection, to="b")
        store.wakeups.listen(READY, woken.set)
        assert not woken.is_set()
        connection.commit()
    assert woken.wait(PATIENCE_S)
    noted = app.send(headway.protocol.tokens.list_audit).items
    assert [(one.action, one.target) for one in noted] == [
        ("create_job", "job 2"),
        ("create_job", "job 1"),
    ]
    app.close()
