"""What a busy queue leaves behind on PostgreSQL is cleaned up before long."""

import contextlib
import threading
import time
from collections.abc import Callable

import psycopg
import pytest
from tests.conftest import Guest

from headway.storage.engine.store import Store
from headway.storage.postgres import sweeper
from headway.storage.postgres.connection import RawConnection
from headway.storage.postgres.sweeper import Sweeper

PATIENCE_S = 30
MANY = 2 * sweeper.MOST_DEAD["leases"]


@pytest.fixture
def url(empty_postgres: str) -> str:
    """Only PostgreSQL."""
    return empty_postgres


def leave_dead_leases(url: str) -> None:
    """Leases that came and went."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO leases (job_number, lease_id, lane_id, worker_id, ttl_ms, granted_at,"
            " expires_at) SELECT n, 'lease-' || n, 1, 'w', 1, 1, 1 FROM generate_series(1, %s) n",
            [MANY],
        )
        connection.execute("DELETE FROM leases")
        connection.execute("SELECT pg_stat_force_next_flush()")


def times_cleaned(url: str) -> int:
    """How often somebody asked for `leases` to be cleaned up."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT vacuum_count FROM pg_stat_user_tables WHERE relname = 'leases'"
        ).fetchone()
    assert row is not None
    return int(row[0])


def wait_until(is_so: Callable[[], bool]) -> None:
    """Look again and again: what PostgreSQL counts is seen a little later."""
    give_up = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < give_up
        time.sleep(0.05)


def test_dead_leases_are_cleaned_up_while_something_is_written(store: Store, url: str) -> None:
    leave_dead_leases(url)
    before = times_cleaned(url)

    def is_clean_after_a_write() -> bool:
        store.write(lambda tx: tx.do("set_fact", name="a", value="x"))
        return times_cleaned(url) > before

    wait_until(is_clean_after_a_write)


def test_while_nothing_is_written_the_sweeper_does_not_look(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = threading.Event()
    monkeypatch.setattr(sweeper, "LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(Sweeper, "_sweep", lambda self: looked.set())
    with contextlib.closing(_Running(url)) as idle:
        assert not looked.wait(0.2)
        idle.poke()
        assert looked.wait(PATIENCE_S)


def test_who_does_not_own_the_tables_leaves_them_alone(
    store: Store, url: str, guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest.admin("GRANT SELECT, DELETE ON leases, jobs TO {guest}")
    leave_dead_leases(url)
    before = times_cleaned(url)
    looked, look = threading.Event(), Sweeper._sweep

    def look_and_tell(self: Sweeper) -> None:
        look(self)
        looked.set()

    monkeypatch.setattr(Sweeper, "_sweep", look_and_tell)
    with contextlib.closing(_Running(guest.url)) as strange:
        strange.poke()
        assert looked.wait(PATIENCE_S)
    assert times_cleaned(url) == before


def test_a_cleaning_in_vain_is_not_soon_tried_again(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeper, "LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(sweeper, "REST_IN_VAIN_S", 600.0)
    leave_dead_leases(url)
    looked, look = threading.Semaphore(0), Sweeper._sweep

    def look_and_tell(self: Sweeper) -> None:
        look(self)
        looked.release()

    monkeypatch.setattr(Sweeper, "_sweep", look_and_tell)
    cleaned: list[str] = []
    clean = Sweeper._clean

    def note(self: Sweeper, raw: RawConnection, table: str, dead: int) -> None:
        cleaned.append(table)
        clean(self, raw, table, dead)

    monkeypatch.setattr(Sweeper, "_clean", note)
    with psycopg.connect(url) as somebody, contextlib.closing(_Running(url)) as running:
        somebody.execute("LOCK TABLE leases IN SHARE UPDATE EXCLUSIVE MODE")
        for _ in range(3):
            running.poke()
            assert looked.acquire(timeout=PATIENCE_S)
    assert cleaned == ["leases"]


def test_a_cleaning_that_takes_long_is_given_up_at_the_end(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeper, "MOST_DEAD", {"leases": -1, "jobs": -1})
    monkeypatch.setattr(sweeper, "CLEAN", "SELECT pg_sleep(600) -- {}")
    running = _Running(url)
    running.poke()
    wait_until(lambda: _sleepers(url) == 1)
    running.stop()
    assert _sleepers(url) == 0


def _sleepers(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND wait_event = 'PgSleep'"
        ).fetchone()
    assert row is not None
    return int(row[0])


class _Running(Sweeper):
    """One that is stopped at the end of a `with`."""

    close = Sweeper.stop
