"""What only PostgreSQL has: connections that are lost, and transactions of others."""

import contextlib
import itertools
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.conftest import Guest
from tests.helpers import MovableClock, claim, in_queue, run_next, submit
from tests.storage.conftest import scheduler_on

import headway
from headway.clock import SystemClock
from headway.domain import errors
from headway.domain.requests import JobRequest
from headway.scheduler import submit as submitting
from headway.storage import queries
from headway.storage.postgres import listener, session, statements
from headway.storage.postgres.clock import SharedClock
from headway.storage.postgres.connection import BorrowedConnection, RawConnection, connect
from headway.storage.postgres.database import MOST_READERS, PostgresDatabase
from headway.storage.postgres.session import PostgresSession
from headway.storage.store import Store
from headway.storage.transaction import EVENTS, READY, Manner, Transaction

PATIENCE_S = 30
END_THE_OTHERS = """
SELECT count(pg_terminate_backend(pid, 30000)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@pytest.fixture
def store(empty_postgres: str, clock: MovableClock) -> Iterator[Store]:
    """A store on PostgreSQL."""
    store = Store(PostgresDatabase(empty_postgres, clock))
    yield store
    store.close()


def end_every_connection(url: str) -> None:
    """What a restart of the server does to its clients."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(END_THE_OTHERS)


def test_a_lost_connection_is_made_anew_before_anything_is_written(
    store: Store, empty_postgres: str
) -> None:
    store.read(lambda tx: tx.rows("limits"))
    end_every_connection(empty_postgres)
    assert store.write(lambda tx: tx.do("set_fact", name="a", value="x")) == 1
    assert store.read(lambda tx: tx.row("fact", name="a")) == {"value": "x"}


def test_work_whose_connection_is_lost_is_answered_and_the_next_goes_on(
    store: Store, empty_postgres: str
) -> None:
    def lose(tx: Transaction) -> None:
        tx.do("set_fact", name="lost", value="x")
        end_every_connection(empty_postgres)
        tx.do("set_fact", name="lost too", value="x")

    with pytest.raises(errors.Unavailable):
        store.write(lose)
    assert store.problem
    assert store.write(lambda tx: tx.do("set_fact", name="next", value="x")) == 1
    assert store.problem is None
    assert store.read(lambda tx: tx.row("fact", name="lost")) is None


def test_a_connection_outlives_the_first_refusal_after_a_while(
    empty_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "READ_CLOCK_EVERY_S", 0.0)

    def refuse(tx: Transaction) -> None:
        tx.do("set_fact", name="refused", value="x")
        raise errors.InvalidRequest("a", "no")

    def keep(tx: Transaction) -> int:
        return tx.do("set_fact", name=str(next(numbers)), value="x")

    numbers = itertools.count()
    with contextlib.closing(
        Store(PostgresDatabase(empty_postgres, SharedClock(SystemClock())))
    ) as store:
        for _ in range(10):
            assert store.write(keep) == 1
        with pytest.raises(errors.InvalidRequest):
            store.write(refuse)
        assert store.write(keep) == 1


def test_a_statement_that_was_never_sent_is_prepared_the_next_time(store: Store) -> None:
    def refuse(tx: Transaction) -> None:
        tx.put("set_fact", name="a", value="refused")
        raise errors.InvalidRequest("a", "no")

    for _ in range(2):
        with pytest.raises(errors.InvalidRequest):
            store.write(refuse)
        futures = [store.write_later(work) for work in (refuse, lambda tx: tx.rows("limits"))]
        with pytest.raises(errors.InvalidRequest):
            futures[0].result(PATIENCE_S)
        futures[1].result(PATIENCE_S)
    store.write(lambda tx: tx.put("set_fact", name="a", value="kept"))
    assert store.read(lambda tx: tx.row("fact", name="a")) == {"value": "kept"}


def test_a_listener_that_was_cut_off_tells_everybody_to_look(
    store: Store, empty_postgres: str
) -> None:
    woken = threading.Event()
    store.wakeups.listen(EVENTS, woken.set)
    end_every_connection(empty_postgres)
    assert woken.wait(PATIENCE_S)


def test_a_listener_that_was_cut_off_listens_again(
    store: Store, empty_postgres: str, clock: MovableClock
) -> None:
    back, woken = threading.Event(), threading.Event()
    store.wakeups.listen(EVENTS, back.set)
    end_every_connection(empty_postgres)
    assert back.wait(PATIENCE_S)
    other = Store(PostgresDatabase(empty_postgres, clock))
    store.wakeups.listen(READY, woken.set)
    other.write(lambda tx: tx.wake(READY))
    assert woken.wait(PATIENCE_S)
    other.close()


@pytest.mark.parametrize("message", ["", " ", "\u2603", "nobody knows"])
def test_a_listener_outlives_whatever_anybody_sends(
    store: Store, empty_postgres: str, message: str
) -> None:
    woken = threading.Event()
    store.wakeups.listen(READY, woken.set)
    with psycopg.connect(empty_postgres, autocommit=True) as connection:
        connection.execute("SELECT pg_notify('headway', %s)", [message])
        connection.execute("SELECT pg_notify('headway', 'other ready')")
    assert woken.wait(PATIENCE_S)
    assert store.database.deaf_s == 0


def test_a_listener_that_is_refused_goes_on_trying_and_says_for_how_long(
    store: Store, empty_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused, may_listen, back = threading.Event(), threading.Event(), threading.Event()

    def refuse(url: str) -> RawConnection:
        if not may_listen.is_set():
            refused.set()
            raise psycopg.errors.ReadOnlySqlTransaction("cannot execute LISTEN during recovery")
        return connect(url)

    monkeypatch.setattr(listener, "connect", refuse)
    store.wakeups.listen(EVENTS, back.set)
    end_every_connection(empty_postgres)
    assert refused.wait(PATIENCE_S)
    refused.clear()
    assert refused.wait(PATIENCE_S)
    assert store.database.deaf_s > 0
    may_listen.set()
    assert back.wait(PATIENCE_S)
    assert store.database.deaf_s == 0


def test_work_that_hides_an_error_is_refused(store: Store) -> None:
    def hide(tx: Transaction) -> str:
        tx.do("set_fact", name="lost", value="x")
        try:
            tx.select("SELECT 1 / 0", {})
        except psycopg.Error:
            return "all is well"
        return "strange"

    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        store.write(hide)
    assert store.read(lambda tx: tx.row("fact", name="lost")) is None


def test_a_job_is_submitted_in_the_transaction_of_somebody_else(
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


def test_nobody_waits_for_somebody_elses_transaction(
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


def test_others_wait_while_somebody_elses_transaction_must_be_alone(
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


def test_a_submit_that_gets_no_numbers_holds_up_nobody(
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


def test_the_manual_shows_who_keeps_everybody_from_writing(
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
        wishes: list[dict[str, Any]] = [{"after": (first.job_id,)}, {"unique_key": "a"}]
        for more in wishes:
            with pytest.raises(errors.InvalidRequest, match=r"^connection: .*READ COMMITTED"):
                submitting.submit_in(scheduler, tx, JobRequest(job_type="work", **more))
        connection.commit()
    assert len(in_queue(store)) == 1


def test_a_dead_path_to_the_database_is_noticed_and_the_url_says_how_soon(
    empty_postgres: str,
) -> None:
    for more, expected in (("", "20000"), ("&tcp_user_timeout=5000", "5000")):
        with connect(empty_postgres + more) as raw:
            used = {one.keyword.decode(): (one.val or b"").decode() for one in raw.pgconn.info}
        assert used["tcp_user_timeout"] == expected
        assert used["keepalives_idle"] == "10"


def test_a_connection_without_a_transaction_is_not_borrowed(empty_postgres: str) -> None:
    with psycopg.connect(empty_postgres, autocommit=True) as connection:
        with pytest.raises(errors.InvalidRequest):
            BorrowedConnection(connection)
        with connection.transaction():
            BorrowedConnection(connection)


def test_a_database_that_is_not_there_is_unavailable(clock: MovableClock, tmp_path: Path) -> None:
    database = PostgresDatabase(f"postgresql:///nothing?host={tmp_path}", clock)
    with pytest.raises(errors.Unavailable):
        database.migrate()
    with pytest.raises(errors.Unavailable), database.reading():
        pass


def test_a_backup_is_left_to_the_tools_of_postgresql(store: Store, tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidRequest, match="pg_dump"):
        store.database.backup(tmp_path / "copy", lambda done, total: None)


def test_a_row_that_refers_to_nothing_is_named(
    store: Store, empty_postgres: str, tmp_path: Path, clock: MovableClock
) -> None:
    submit(scheduler_on(store, clock, tmp_path))
    assert store.database.integrity() == []
    with psycopg.connect(empty_postgres) as connection:
        connection.execute("UPDATE jobs SET lane_id = 99")
    assert store.database.integrity() == ["jobs row 1 refers to a missing lanes"]


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT :a, :b_2", b"SELECT %(a)s, %(b_2)s"),
        ("SELECT x::text, ':' FROM y", b"SELECT x::text, ':' FROM y"),
        ("SELECT 5 % 2", b"SELECT 5 %% 2"),
        ("-- What :this is.\nSELECT 1", b"SELECT 1"),
    ],
)
def test_parameters_are_written_as_psycopg_wants_them(sql: str, text: bytes) -> None:
    assert statements.statement(sql).text == text


def test_the_claim_goes_by_its_index_even_if_it_is_planned_for_an_empty_table(
    store: Store, empty_postgres: str
) -> None:
    with psycopg.connect(empty_postgres, autocommit=True) as connection:
        connection.execute("ANALYZE jobs")
    plan = store.read(
        lambda tx: tx.select(
            "EXPLAIN " + _CLAIM,
            {"lane_id": 1, "priority": 1, "position": 1, "number": 1, "count": 1},
        )
    )
    text = "\n".join(row["QUERY PLAN"] for row in plan)
    assert "jobs_ready" in text
    assert "Sort" not in text


_CLAIM = queries.load(statements.PACKAGE)["lane_heads"]


def test_a_statement_larger_than_all_buffers_on_its_way_is_sent(store: Store) -> None:
    text = "x" * 20_000_000
    store.write(lambda tx: tx.put("set_fact", name="large", value=text))
    assert store.read(lambda tx: tx.value("fact", name="large")) == text


def test_workers_wake_when_somebody_else_commits_what_was_submitted_on_his_connection(
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
    app.close()


def test_who_finds_every_reader_busy_waits_for_one(store: Store) -> None:
    begun, may_end = threading.Barrier(MOST_READERS + 1), threading.Event()

    def read_long(tx: Transaction) -> None:
        tx.rows("limits")
        begun.wait(PATIENCE_S)
        assert may_end.wait(PATIENCE_S)

    with ThreadPoolExecutor(MOST_READERS + 1) as pool:
        busy = [pool.submit(store.read, read_long) for _ in range(MOST_READERS)]
        begun.wait(PATIENCE_S)
        late = pool.submit(store.read, lambda tx: tx.rows("limits"))
        assert not late.done()
        may_end.set()
        assert late.result(PATIENCE_S)
        for one in busy:
            one.result(PATIENCE_S)


@pytest.mark.parametrize("lost", ["facts", "job_numbers"])
def test_a_right_that_is_lost_and_given_back_costs_what_was_asked_meanwhile(
    guest: Guest, clock: MovableClock, tmp_path: Path, lost: str
) -> None:
    guest.admin("GRANT ALL ON ALL TABLES IN SCHEMA public TO {guest}")
    guest.admin("GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {guest}")
    with contextlib.closing(Store(PostgresDatabase(guest.url, clock))) as store:
        scheduler = scheduler_on(store, clock, tmp_path)

        def use() -> None:
            submit(scheduler)
            store.write(lambda tx: tx.put("put_fact", name="a", value="x"))
            store.read(lambda tx: tx.row("fact", name="a"))

        use()
        guest.admin(f"REVOKE ALL ON {lost} FROM {{guest}}")
        with pytest.raises(errors.Unavailable, match=f"{lost}; GRANT SELECT"):
            use()
        guest.admin(f"GRANT ALL ON {lost} TO {{guest}}")
        use()
        assert store.problem is None


def test_a_database_that_takes_no_more_connections_is_unavailable_and_then_goes_on(
    guest: Guest, clock: MovableClock
) -> None:
    guest.admin("ALTER ROLE {guest} CONNECTION LIMIT 1")
    guest.admin("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {guest}")
    database = PostgresDatabase(guest.url, clock)
    with database.reading() as tx:
        tx.rows("limits")
        with pytest.raises(errors.Unavailable, match="too many connections"):
            database.session()
    with database.reading() as tx:
        assert tx.rows("limits")
    database.close()


FAIL_ONCE = """
CREATE SEQUENCE trouble;
CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF nextval('trouble') = 1 THEN
        RAISE EXCEPTION 'no space left on device' USING ERRCODE = 'disk_full';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER fail_once BEFORE INSERT ON facts FOR EACH ROW EXECUTE FUNCTION fail_once();
"""


def test_a_statement_that_fails_at_the_commit_is_done_again(
    store: Store, empty_postgres: str
) -> None:
    with psycopg.connect(empty_postgres, autocommit=True) as admin:
        admin.execute(FAIL_ONCE)
        try:
            store.write(lambda tx: tx.put("set_fact", name="a", value="x"), Manner.BESIDE)
        finally:
            admin.execute("DROP FUNCTION fail_once CASCADE; DROP SEQUENCE trouble")
    assert store.read(lambda tx: tx.row("fact", name="a")) == {"value": "x"}


def test_work_that_was_perhaps_written_is_not_written_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[list[str]] = []

    def together(tx: Transaction, items: Sequence[str]) -> Sequence[str]:
        written.append(list(items))
        return items

    def lose(self: PostgresSession, wakes: set[str]) -> None:
        if written:
            raise errors.Unavailable("the connection was lost, and perhaps this was written")
        commit(self, wakes)

    commit = PostgresSession.commit
    monkeypatch.setattr(PostgresSession, "commit", lose)
    begun, may_go_on = threading.Event(), threading.Event()

    def wait(tx: Transaction) -> bool:
        begun.set()
        return may_go_on.wait(PATIENCE_S)

    first = store.write_later(wait)
    assert begun.wait(PATIENCE_S)
    asked = [store.write_together(together, item) for item in ("a", "b")]
    may_go_on.set()
    assert first.result(PATIENCE_S)
    for one in asked:
        with pytest.raises(errors.Unavailable):
            one.result(PATIENCE_S)
    assert written == [["a", "b"]]


def test_an_answer_that_took_long_does_not_set_the_clock(clock: MovableClock) -> None:
    shared = SharedClock(clock)
    shared.agree(clock.now())
    shared.agree(clock.now() - timedelta(seconds=31), took_s=31)
    assert abs(shared.now() - clock.now()) < timedelta(seconds=1)
    shared.agree(clock.now() - timedelta(seconds=31))
    assert shared.now() < clock.now() - timedelta(seconds=30)


def test_a_lease_lasts_from_when_its_claim_had_its_turn(
    store: Store, empty_postgres: str, clock: MovableClock, tmp_path: Path
) -> None:
    scheduler = scheduler_on(store, clock, tmp_path)
    submit(scheduler)
    with psycopg.connect(empty_postgres) as other, ThreadPoolExecutor(1) as pool:
        other.execute("SELECT name FROM limits FOR UPDATE")
        claiming = pool.submit(claim, scheduler)
        _wait_for_lock(empty_postgres)
        clock.move(40)
        other.rollback()
        (started,) = claiming.result(PATIENCE_S)
    assert started.lease is not None
    assert started.lease.granted_at == clock.now()


def _wait_for_lock(url: str) -> None:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    give_up = time.monotonic() + PATIENCE_S
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute(waiting).fetchone() == (0,):
            assert time.monotonic() < give_up
