"""On PostgreSQL, too, an acknowledged write is on disk."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.postgres import OwnServer
from tests.tracing import needs_strace, syncs

from headway.clock import SystemClock
from headway.storage.engine.store import Store
from headway.storage.engine.transaction import Transaction
from headway.storage.postgres.database import PostgresDatabase

WRITES = 5
SETTING = "SELECT current_setting('synchronous_commit') AS value"
FLUSHED = "SELECT pg_current_wal_flush_lsn() > %s"
# The server writes out by itself what no commit waited for, but not while a test looks.
LAZY = "-c synchronous_commit=off -c wal_writer_delay=10s -c autovacuum=off"


@pytest.fixture(scope="module")
def lazy_postgres() -> Iterator[OwnServer]:
    """A server that syncs to disk, but by default lets no commit wait for that."""
    directory = Path(tempfile.mkdtemp(prefix="headway-pg-", dir="/tmp"))
    server = OwnServer(directory, LAZY)
    PostgresDatabase(server.url, SystemClock()).migrate()
    yield server
    server.stop()
    shutil.rmtree(directory)


def opened(url: str) -> "contextlib.closing[Store]":
    return contextlib.closing(Store(PostgresDatabase(url, SystemClock())))


def setting(tx: Transaction) -> str:
    return str(tx.select(SETTING, {})[0]["value"])


def put(tx: Transaction) -> str:
    """Write, and return a place in the log before that of the commit."""
    tx.do("put_fact", name="x", value="x")
    return str(tx.select("SELECT pg_current_wal_insert_lsn() AS place", {})[0]["place"])


@pytest.mark.parametrize(
    ("given", "used"), [("off", "on"), ("on", "on"), ("local", "local"), ("remote_apply",) * 2]
)
def test_commits_wait_for_the_disk_whatever_the_default_is(
    empty_postgres: str, given: str, used: str
) -> None:
    with opened(f"{empty_postgres}&options=-csynchronous_commit%3D{given}") as store:
        writes = (store.write_later, store.write_beside_later, store.write_apart_later)
        assert [write(setting).result(30) for write in writes] == [used] * 3


def test_a_connection_that_was_made_anew_waits_for_the_disk(empty_postgres: str) -> None:
    with opened(empty_postgres) as store, psycopg.connect(empty_postgres, autocommit=True) as other:
        store.write(setting)
        other.execute(
            "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        assert store.write(setting) == "on"


def test_what_was_acknowledged_was_flushed(lazy_postgres: OwnServer) -> None:
    with (
        opened(lazy_postgres.url) as store,
        psycopg.connect(lazy_postgres.url, autocommit=True) as other,
    ):
        for _ in range(WRITES):
            place = store.write(put)
            assert other.execute(FLUSHED, [place]).fetchone() == (True,)


@needs_strace
def test_the_log_is_synced_before_each_acknowledgement(
    lazy_postgres: OwnServer, tmp_path: Path
) -> None:
    with (
        syncs(lazy_postgres.pid, r"/pg_wal/\w+", tmp_path / "trace") as count,
        opened(lazy_postgres.url) as store,
    ):
        for _ in range(WRITES):
            before = count()
            store.write(put)
            assert count() > before


def test_a_server_that_does_not_sync_is_named(
    empty_postgres: str, lazy_postgres: OwnServer
) -> None:
    unsafe = PostgresDatabase(empty_postgres, SystemClock()).doubts()
    assert [doubt.split(":")[0] for doubt in unsafe] == [
        "the PostgreSQL server runs with fsync = off",
        "the PostgreSQL server runs with full_page_writes = off",
    ]
    assert PostgresDatabase(lazy_postgres.url, SystemClock()).doubts() == []
