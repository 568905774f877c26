"""Whether a server is ready is answered in time, whatever the database does."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
from tests.helpers import MovableClock
from tests.storage.conftest import scheduler_on

from headway.domain import errors
from headway.http import health
from headway.http.health import Health, Readiness
from headway.storage.engine.store import Store
from headway.storage.postgres.database import PostgresDatabase

FROZEN = "LOCK TABLE events"
PATIENCE_S = 30


@pytest.fixture
def store(empty_postgres: str) -> Iterator[Store]:
    """A store on PostgreSQL."""
    store = Store(PostgresDatabase(empty_postgres, MovableClock()))
    yield store
    store.close()


@pytest.fixture
def checked(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Health:
    """The health of a server that waits for its database for a moment only."""
    monkeypatch.setattr(health, "WAIT_S", 0.2)
    return Health(scheduler_on(store, MovableClock(), tmp_path))


def ask(checked: Health, *, brief: bool = False) -> Readiness:
    return health.readiness(checked.problems(recovered=True, stopping=False), brief=brief)


def test_a_database_that_does_not_answer_a_read_makes_a_server_unready_in_time(
    checked: Health, empty_postgres: str
) -> None:
    with psycopg.connect(empty_postgres) as connection:
        connection.execute(FROZEN)
        for _ in range(2):
            assert ask(checked).problems == ["a read did not finish within 0.2 s"]
        (reader,) = _readers()
        connection.rollback()
        reader.join(PATIENCE_S)
    assert ask(checked).ready


def _readers() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "headway-health"]


def test_health_requests_during_a_check_share_its_result(
    checked: Health, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking, all_ask, looks = set(), threading.Event(), []

    def monotonic() -> float:
        moment = time.monotonic()
        asking.add(threading.get_ident())
        if len(asking) == 8:
            all_ask.set()
        return moment

    def look() -> list[health.Problem]:
        looks.append(1)
        assert all_ask.wait(PATIENCE_S)
        return [health.Problem("frozen", "frozen")]

    monkeypatch.setattr(health, "time", SimpleNamespace(monotonic=monotonic))
    monkeypatch.setattr(checked, "_try", look)
    threads = [threading.Thread(target=ask, args=(checked,)) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(PATIENCE_S)
    assert len(looks) == 1


def test_whatever_goes_wrong_is_a_reason(
    checked: Health, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise RuntimeError("something\nstrange")

    monkeypatch.setattr(store, "read", fail)
    monkeypatch.setattr(health, "_write", fail)
    assert ask(checked).problems == ["RuntimeError: something strange"]


def test_those_without_a_token_do_not_learn_where_the_database_is(
    checked: Health, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise errors.ConnectionLost('connection to server at "db.internal" failed')

    monkeypatch.setattr(store, "read", fail)
    monkeypatch.setattr(health, "_write", fail)
    assert "db.internal" in str(ask(checked).problems)
    brief = ask(checked, brief=True).problems
    assert [one.partition(";")[0] for one in brief] == [
        "the database cannot be read",
        "the database cannot be written",
    ]
    assert "db.internal" not in str(brief)
