"""Both dialects have the same tables, columns, indexes and queries."""

import contextlib
import os
import re
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
from tests.helpers import MovableClock, claim, finish, job, submit
from tests.storage.conftest import open_database, scheduler_on

from headway.domain import errors
from headway.domain.states import JobStatus
from headway.scheduler.lease import leases
from headway.storage import queries
from headway.storage.engine.columns import COLUMNS
from headway.storage.engine.store import Store
from headway.storage.postgres import database as postgres_database
from headway.storage.postgres.database import PostgresDatabase

SQLITE = "headway.storage.sqlite"
POSTGRES = "headway.storage.postgres"
HEAD = re.compile(r"-- name: (\w+)")
PATIENCE_S = 30
PARAMETER = re.compile(r"(?<![:\w]):([a-z]\w*)")


@pytest.fixture(params=["sqlite", "postgres"])
def new_url(
    request: pytest.FixtureRequest, tmp_path: Path, fresh_database: Callable[[], str]
) -> str:
    """Where a database will be that has no tables yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'headway.db'}"
    return fresh_database()


def test_migrations_are_applied_once(new_url: str, clock: MovableClock) -> None:
    database = open_database(new_url, clock)
    steps = database.pending_migrations()
    assert steps[0] == "0001 first_tables"
    assert database.migrate() == steps
    assert database.pending_migrations() == []
    assert database.migrate() == []
    assert open_database(new_url, clock).pending_migrations() == []
    database.close()


def test_a_new_database_is_made_in_one_go_or_not_at_all(
    new_url: str, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = open_database(new_url, clock)
    assert database.is_new()
    package = SQLITE if new_url.startswith("sqlite") else POSTGRES
    known = queries.migrations(package)
    with monkeypatch.context() as broken:
        more = (9999, "more", "ALTER TABLE nobody ADD COLUMN more TEXT;")
        broken.setattr(queries, "migrations", lambda _: [*known, more])
        with pytest.raises((sqlite3.Error, psycopg.Error)):
            database.migrate()
    assert database.is_new()
    assert len(database.migrate()) == len(known)
    assert not database.is_new()


def test_to_look_for_pending_migrations_changes_nothing(tmp_path: Path, new_url: str) -> None:
    clock = MovableClock()
    file = tmp_path / "headway.db"
    database = open_database(new_url, clock)
    assert database.pending_migrations()
    assert not file.exists()
    if new_url.startswith("sqlite"):
        file.touch()
        assert database.pending_migrations()
        assert (file.stat().st_size, os.listdir(tmp_path)) == (0, ["headway.db"])
    else:
        with psycopg.connect(new_url) as connection:
            assert connection.execute(POSTGRES_COLUMNS).fetchall() == []
    database.migrate()
    before = file.read_bytes() if file.exists() else b""
    assert database.pending_migrations() == []
    assert (file.read_bytes() if file.exists() else b"") == before
    database.close()


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more migration, which needs the whole of a table that others use."""
    known = queries.migrations(POSTGRES)
    more = (9999, "more", "ALTER TABLE jobs ADD COLUMN more TEXT")
    monkeypatch.setattr(queries, "migrations", lambda package: [*known, more])


@pytest.mark.usefixtures("step")
def test_a_migration_that_waits_for_a_table_lets_others_write(
    fresh_database: Callable[[], str], clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = PostgresDatabase(fresh_database(), clock)
    database.migrate(to=9998)
    waits, written = threading.Event(), threading.Event()

    def pause(_: float) -> None:
        waits.set()
        assert written.wait(PATIENCE_S)

    monkeypatch.setattr(postgres_database, "time", SimpleNamespace(sleep=pause))
    with (
        contextlib.closing(Store(database)) as store,
        psycopg.connect(database.url) as reader,
        ThreadPoolExecutor(1) as pool,
    ):
        reader.execute("SELECT 1 FROM jobs")
        migrating = pool.submit(database.migrate)
        assert waits.wait(PATIENCE_S)
        writing = store.write_later(lambda tx: tx.do("set_fact", name="a", value="x"))
        assert writing.result(PATIENCE_S) == 1
        reader.rollback()
        written.set()
        assert migrating.result(PATIENCE_S) == ["9999 more"]


@pytest.mark.usefixtures("step")
def test_a_migration_gives_up_with_a_reason(
    fresh_database: Callable[[], str], clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_database, "MOST_TRIES", 1)
    database = PostgresDatabase(fresh_database(), clock)
    database.migrate(to=9998)
    with psycopg.connect(database.url) as reader:
        reader.execute("SELECT 1 FROM jobs")
        with pytest.raises(errors.Unavailable, match=r"9999 was not.*timeout.*try again"):
            database.migrate()
    assert database.pending_migrations() == ["9999 more"]


def test_both_dialects_have_the_same_migrations() -> None:
    steps = [
        [(number, name) for number, name, _ in queries.migrations(package)]
        for package in (SQLITE, POSTGRES)
    ]
    assert steps[0] == steps[1]


def test_both_dialects_have_the_same_tables_and_columns(
    tmp_path: Path, clock: MovableClock, migrated_postgres: str
) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'headway.db'}", clock)
    database.migrate()
    database.close()
    with sqlite3.connect(tmp_path / "headway.db") as lite:
        here = set(lite.execute(SQLITE_COLUMNS))
        indexes = {row[0] for row in lite.execute(SQLITE_INDEXES)}
    with psycopg.connect(migrated_postgres) as connection:
        there = set(connection.execute(POSTGRES_COLUMNS))
        other_indexes = {row[0] for row in connection.execute(POSTGRES_INDEXES)}
    assert {one for one in here if one[0] != "counters"} == {
        one for one in there if one[0] != "writers"
    }
    assert indexes == other_indexes


def test_a_server_goes_on_when_a_later_version_adds_columns(
    new_url: str, clock: MovableClock, tmp_path: Path
) -> None:
    database = open_database(new_url, clock)
    database.migrate()
    with contextlib.closing(Store(database)) as store:
        scheduler = scheduler_on(store, clock, tmp_path)

        def use() -> None:
            first, held = submit(scheduler), submit(scheduler)
            started, other = claim(scheduler, 2)
            finish(scheduler, started)
            assert job(scheduler, first.number).status is JobStatus.SUCCEEDED
            assert job(scheduler, held.number).status is JobStatus.RUNNING
            assert other.lease
            lease_id = other.lease.lease_id
            assert store.write(lambda tx: leases.view(tx, lease_id)).lease_id == lease_id
            assert finish(scheduler, other)[0].status is JobStatus.SUCCEEDED

        for _ in range(8):  # by then everything is prepared
            use()
        _execute(new_url, [f"ALTER TABLE {table} ADD COLUMN later TEXT" for table in COLUMNS])
        use()


@pytest.mark.parametrize("package", [SQLITE, POSTGRES])
def test_no_query_returns_columns_that_it_does_not_name(package: str) -> None:
    outermost = re.compile(r"^(SELECT|RETURNING)\b.*(\*(?!\))|\.\*)", re.MULTILINE)
    assert [name for name, text in queries.load(package).items() if outermost.search(text)] == []


def test_all_columns_of_the_tables_are_read(migrated_postgres: str) -> None:
    with psycopg.connect(migrated_postgres) as connection:
        for table, columns in COLUMNS.items():
            found = connection.execute(f"SELECT * FROM {table} LIMIT 0".encode()).description or ()
            names = {one.name for one in found} - OF_THE_VERSION_BEFORE.get(table, set())
            assert sorted(names) == sorted(columns.split(", "))


OF_THE_VERSION_BEFORE = {"jobs": {"chain"}}
"""Columns that other columns are derived from until the version before is gone."""


def _execute(url: str, steps: list[str]) -> None:
    if url.startswith("sqlite:///"):
        with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as raw:
            for step in steps:
                raw.execute(step)
    else:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(";".join(steps).encode())


SQLITE_COLUMNS = """
SELECT t.name, c.name, c."notnull" OR c.pk FROM sqlite_master t, pragma_table_xinfo(t.name) c
WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'
"""
SQLITE_INDEXES = "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
POSTGRES_COLUMNS = """
SELECT table_name, column_name, CASE is_nullable WHEN 'NO' THEN 1 ELSE 0 END
FROM information_schema.columns WHERE table_schema = 'public'
"""
POSTGRES_INDEXES = """
SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
WHERE c.relnamespace = 'public'::regnamespace
AND NOT EXISTS (SELECT 1 FROM pg_constraint o WHERE o.conindid = i.indexrelid)
"""


def test_every_query_can_be_planned(migrated_postgres: str) -> None:
    with psycopg.connect(migrated_postgres, autocommit=True) as connection:
        for name, text in queries.load(POSTGRES).items():
            numbered = _numbered(text)
            connection.execute(f"PREPARE {name} AS {numbered}".encode())


def _parameters(text: str) -> set[str]:
    return set(PARAMETER.findall(re.sub(r"--.*", "", text)))


def _numbered(text: str) -> str:
    text = re.sub(r"--.*", "", text)
    names = sorted(_parameters(text))
    return PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", text)


@pytest.mark.parametrize("others", [0, 1])
def test_a_store_from_before_learns_that_jobs_can_be_suspended(
    new_url: str, clock: MovableClock, others: int
) -> None:
    with contextlib.closing(open_database(new_url, clock)) as database:
        database.migrate(to=14)
        if others:
            execute(new_url, OLD_LANE)
            execute(new_url, OLD_JOB)
        assert "0015 jobs_are_suspended" in database.migrate()
        execute(new_url, "UPDATE jobs SET status = 'SUSPENDED', due_at = 5")
        execute(new_url, "UPDATE jobs SET status = 'QUEUED', due_at = NULL")
        for status in ("'UNKNOWN'", "'RUNNING'", "'FAILED'"):
            if others:
                with pytest.raises((sqlite3.IntegrityError, psycopg.IntegrityError)):
                    execute(new_url, f"UPDATE jobs SET status = {status}")
        assert database.damage() == []


OLD_LANE = (
    "INSERT INTO lanes (lane_id, key, queue, job_type, cost_units, requires, limits)"
    " VALUES (1, 'k', 'default', 'x', 1, '[]', '{}')"
)
OLD_JOB = (
    "INSERT INTO jobs (number, job_id, lane_id, payload_id, status, priority, position, terms,"
    " created_at, queued_at, chain) VALUES (1, 'one', 1, 0, 'QUEUED', 0, 100, '{}', 1000, 1000, 1)"
)


def execute(url: str, statement: str) -> None:
    """Run a statement past the store."""
    if url.startswith("sqlite:///"):
        with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as raw, raw:
            raw.execute(statement)
    else:
        with psycopg.connect(url) as connection:
            connection.execute(statement.encode())
