"""Statements that fail at the commit, answers that are lost or late: nothing is lost or doubled."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from tests.helpers import MovableClock, claim, submit
from tests.storage.conftest import scheduler_on

from headway.domain import errors
from headway.storage.engine.store import Store
from headway.storage.engine.transaction import Transaction
from headway.storage.postgres.clock import SharedClock
from headway.storage.postgres.session import PostgresSession

PATIENCE_S = 30


@pytest.fixture
def url(empty_postgres: str) -> str:
    """Only PostgreSQL."""
    return empty_postgres


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
            store.write_beside(lambda tx: tx.put("set_fact", name="a", value="x"))
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
