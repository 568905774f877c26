"""What only PostgreSQL has: connections that are lost, statements on their way, and rights."""

import contextlib
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from tests.conftest import Guest
from tests.helpers import MovableClock, submit
from tests.storage.conftest import scheduler_on

from headway.clock import SystemClock
from headway.domain import errors
from headway.storage import queries
from headway.storage.engine.store import Store
from headway.storage.engine.transaction import Transaction
from headway.storage.postgres import session, statements
from headway.storage.postgres.clock import SharedClock
from headway.storage.postgres.connection import connect
from headway.storage.postgres.database import MOST_READERS, PostgresDatabase

PATIENCE_S = 30
END_THE_OTHERS = """
SELECT count(pg_terminate_backend(pid, 30000)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@pytest.fixture
def url(empty_postgres: str) -> str:
    """Only PostgreSQL."""
    return empty_postgres


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


def test_a_dead_path_to_the_database_is_noticed_and_the_url_says_how_soon(
    empty_postgres: str,
) -> None:
    for more, expected in (("", "20000"), ("&tcp_user_timeout=5000", "5000")):
        with connect(empty_postgres + more) as raw:
            used = {one.keyword.decode(): (one.val or b"").decode() for one in raw.pgconn.info}
        assert used["tcp_user_timeout"] == expected
        assert used["keepalives_idle"] == "10"


def test_a_database_that_is_not_there_is_unavailable(clock: MovableClock, tmp_path: Path) -> None:
    database = PostgresDatabase(f"postgresql:///nothing?host={tmp_path}", clock)
    with pytest.raises(errors.Unavailable):
        database.migrate()
    with pytest.raises(errors.Unavailable), database.reading():
        pass


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


def test_statements_and_results_larger_than_all_buffers_cross_each_other(store: Store) -> None:
    text = "x" * (2 << 20)

    def write(tx: Transaction) -> list[str]:
        for name in "abcde":
            tx.put("set_fact", name=name, value=text)
            tx._connection.expect("fact", {"name": name})
        return [tx.value("fact", name=name) for name in "abcde"]

    assert store.write(write) == [text] * 5


def test_a_statement_larger_than_all_buffers_on_its_way_is_sent(store: Store) -> None:
    text = "x" * 20_000_000
    store.write(lambda tx: tx.put("set_fact", name="large", value=text))
    assert store.read(lambda tx: tx.value("fact", name="large")) == text


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
