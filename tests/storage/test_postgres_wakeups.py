"""Wake-ups on PostgreSQL: who is told of a commit, and what the connection for it survives."""

import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterator

import psycopg
import pytest
from tests.conftest import Guest
from tests.helpers import MovableClock
from tests.storage.test_postgres import end_every_connection

from headway.storage.engine.store import Store
from headway.storage.engine.transaction import EVENTS, READY
from headway.storage.postgres import messenger
from headway.storage.postgres.connection import RawConnection, connect
from headway.storage.postgres.database import PostgresDatabase

PATIENCE_S = 30


@pytest.fixture
def url(empty_postgres: str) -> str:
    """Only PostgreSQL."""
    return empty_postgres


@pytest.fixture
def other(store: Store, url: str, clock: MovableClock) -> Iterator[Store]:
    """The same database, opened as another process would."""
    with contextlib.closing(Store(PostgresDatabase(url, clock))) as opened:
        yield opened


def test_a_process_that_ends_at_once_has_told_the_others(store: Store, other: Store) -> None:
    woken = threading.Event()
    store.wakeups.listen(READY, woken.set)
    other.write(lambda tx: tx.wake(READY))
    other.close()
    assert woken.wait(PATIENCE_S)


def test_many_commits_are_told_with_few_messages(
    store: Store, other: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messenger, "SEND_EVERY_S", PATIENCE_S)
    heard: list[set[str]] = []
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("LISTEN headway")
        for _ in range(50):
            other.write(lambda tx: tx.wake(READY))
        other.write(lambda tx: tx.wake(EVENTS))
        other.close()
        connection.execute("NOTIFY headway, 'the end'")
        for note in connection.notifies(timeout=PATIENCE_S):
            if note.payload == "the end":
                break
            heard.append(set(note.payload.split()[1:]))
    assert heard[-1] >= {EVENTS}
    assert set().union(*heard) == {READY, EVENTS}
    assert len(heard) <= 2  # the first at once, the rest together


def test_a_program_that_ends_without_closing_anything_has_told_the_others(
    store: Store, url: str
) -> None:
    woken = threading.Event()
    store.wakeups.listen(READY, woken.set)
    program = (
        "from headway.clock import SystemClock\n"
        "from headway.storage.postgres.database import PostgresDatabase\n"
        "from headway.storage.engine.store import Store\n"
        f"Store(PostgresDatabase({url!r}, SystemClock())).write(lambda tx: tx.wake('{READY}'))"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=PATIENCE_S)
    assert woken.wait(PATIENCE_S)


def test_one_who_may_not_tell_goes_on_listening_and_stops_at_once(
    store: Store, url: str, guest: Guest, clock: MovableClock, caplog: pytest.LogCaptureFixture
) -> None:
    guest.admin("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {guest}")
    guest.admin("REVOKE EXECUTE ON FUNCTION pg_notify FROM PUBLIC")
    woken = threading.Event()
    try:
        with contextlib.closing(Store(PostgresDatabase(guest.url, clock))) as silent:
            silent.wakeups.listen(READY, woken.set)
            silent.write(lambda tx: tx.wake(EVENTS))
            store.write(lambda tx: tx.wake(READY))
            assert woken.wait(PATIENCE_S)
            assert silent.database.deaf_s == 0
    finally:
        guest.admin("GRANT EXECUTE ON FUNCTION pg_notify TO PUBLIC")
    told = [line for line in caplog.messages if "other servers cannot be woken" in line]
    assert len(told) == 1


def test_a_server_that_hangs_is_not_waited_for_at_the_end(
    url: str, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messenger, "_SETTINGS", b"SELECT 'no time limit'")
    monkeypatch.setattr(messenger, "_NOTIFY", b"SELECT pg_sleep(600), $1::text, $2::text")
    monkeypatch.setattr(messenger, "LONGEST_STOP_S", 0.1)
    one = messenger.Messenger(url, "one", lambda topics: None)
    one.send({READY})
    one.stop()
    assert one._thread.is_alive()
    end_every_connection(url)
    one._thread.join(PATIENCE_S)


def test_what_was_to_be_told_while_the_connection_was_gone_is_told_later(
    store: Store, other: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused, may_connect = threading.Event(), threading.Event()

    def refuse(url: str) -> RawConnection:
        if not may_connect.is_set():
            refused.set()
            raise psycopg.OperationalError("no")
        return connect(url)

    monkeypatch.setattr(messenger, "connect", refuse)
    end_every_connection(url)
    assert refused.wait(PATIENCE_S)
    other.write(lambda tx: tx.wake(READY))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("LISTEN headway")
        may_connect.set()
        heard = next(connection.notifies(timeout=PATIENCE_S))
    assert heard.payload.split()[1:] == [READY]


def test_a_messenger_that_was_disconnected_wakes_every_listener(
    store: Store, empty_postgres: str
) -> None:
    woken = threading.Event()
    store.wakeups.listen(EVENTS, woken.set)
    end_every_connection(empty_postgres)
    assert woken.wait(PATIENCE_S)


def test_a_messenger_that_was_cut_off_listens_again(
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
def test_a_messenger_survives_any_message_on_its_channel(
    store: Store, empty_postgres: str, message: str
) -> None:
    woken = threading.Event()
    store.wakeups.listen(READY, woken.set)
    with psycopg.connect(empty_postgres, autocommit=True) as connection:
        connection.execute("SELECT pg_notify('headway', %s)", [message])
        connection.execute("SELECT pg_notify('headway', 'other ready')")
    assert woken.wait(PATIENCE_S)
    assert store.database.deaf_s == 0


def test_a_messenger_that_is_refused_goes_on_trying_and_says_for_how_long(
    store: Store, empty_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused, may_listen, back = threading.Event(), threading.Event(), threading.Event()

    def refuse(url: str) -> RawConnection:
        if not may_listen.is_set():
            refused.set()
            raise psycopg.errors.ReadOnlySqlTransaction("cannot execute LISTEN during recovery")
        return connect(url)

    monkeypatch.setattr(messenger, "connect", refuse)
    store.wakeups.listen(EVENTS, back.set)
    end_every_connection(empty_postgres)
    assert refused.wait(PATIENCE_S)
    refused.clear()
    assert refused.wait(PATIENCE_S)
    assert store.database.deaf_s > 0
    may_listen.set()
    assert back.wait(PATIENCE_S)
    assert store.database.deaf_s == 0
