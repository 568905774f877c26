"""A store moves from one database to the other and goes on there."""

import sqlite3
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from tests.helpers import MovableClock, claim, event_kinds, finish, in_queue, job, submit
from tests.storage.conftest import open_database, scheduler_on

from headway.domain import errors
from headway.domain.manage.tokens import Role
from headway.domain.runs import RunStatus
from headway.domain.states import JobStatus
from headway.scheduler.manage import tokens
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import verify
from headway.storage.engine import move
from headway.storage.engine.store import Database, Store
from headway.storage.manage import tokens as kept_tokens

Databases = tuple[Database, Database]


@pytest.fixture(params=["to postgres", "to sqlite"])
def databases(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    clock: MovableClock,
    fresh_database: Callable[[], str],
) -> Databases:
    """A source and a target, both new."""
    lite = open_database(f"sqlite:///{tmp_path / 'headway.db'}", clock)
    postgres = open_database(fresh_database(), clock)
    for database in (lite, postgres):
        database.migrate()
    return (lite, postgres) if request.param == "to postgres" else (postgres, lite)


def fill(scheduler: Scheduler) -> None:
    """Jobs that ended, run, wait for a job, wait for a lock and wait to be claimed."""
    submit(
        scheduler,
        params={"text": "ä %s"},
        tags=["a"],
        locks=["gpu"],
        produces=["custom:thing:x"],
    )
    finish(scheduler, claim(scheduler))
    submit(scheduler, "slow", locks=["gpu"])
    claim(scheduler)
    submit(scheduler, after=["2"])
    submit(scheduler, locks=["gpu"])
    lasts = timedelta(hours=1)
    scheduler.store.write(lambda tx: tokens.create(scheduler, tx, "page", Role.READ, lasts))
    for n in range(2 * move.ROWS_AT_ONCE):
        submit(scheduler, params={"n": n}, priority=-1)


def test_everything_moves_and_goes_on(
    databases: Databases, tmp_path: Path, clock: MovableClock
) -> None:
    source, target = databases
    old = Store(source)
    fill(scheduler_on(old, clock, tmp_path))
    seen: dict[str, int] = {}
    counts = move.move(source, target, seen.__setitem__)
    assert counts["jobs"] == seen["jobs"] == 4 + 2 * move.ROWS_AT_ONCE
    kinds = event_kinds(scheduler_on(old, clock, tmp_path))
    views = [job(scheduler_on(old, clock, tmp_path), number) for number in range(1, 8)]
    known = old.read(lambda tx: kept_tokens.page(tx, before=None, count=9))
    old.close()
    new = Store(target)
    scheduler = scheduler_on(new, clock, tmp_path)
    assert new.read(lambda tx: kept_tokens.page(tx, before=None, count=9)) == known
    assert [one.expires_at for one in known] == [clock.now() + timedelta(hours=1)]
    assert [job(scheduler, number) for number in range(1, 8)] == views
    assert event_kinds(scheduler) == kinds
    assert verify.verify(scheduler) == []
    _goes_on(scheduler)
    new.close()


def _goes_on(scheduler: Scheduler) -> None:
    lease = scheduler.store.read(lambda tx: tx.rows("live_leases"))[0]
    events_before = len(event_kinds(scheduler))
    assert submit(scheduler, priority=9).number == 5 + 2 * move.ROWS_AT_ONCE
    assert len(event_kinds(scheduler)) == events_before + 1
    (started,) = claim(scheduler)
    assert started.number == 5 + 2 * move.ROWS_AT_ONCE
    finish(scheduler, started, RunStatus.FAILED, error="broken", retry=False)
    assert lease["job_number"] == 2
    assert job(scheduler, 4).status is JobStatus.WAITING_ON_LOCKS


def test_numbers_of_events_that_were_removed_are_not_used_again(
    databases: Databases, tmp_path: Path, clock: MovableClock
) -> None:
    source, target = databases
    old = Store(source)
    for _ in range(3):
        submit(scheduler_on(old, clock, tmp_path))
    old.write(lambda tx: tx.do("delete_events", numbers="[1,2,3]"))
    move.move(source, target, lambda table, copied: None)
    old.close()
    new = Store(target)
    submit(scheduler_on(new, clock, tmp_path))
    assert new.read(lambda tx: tx.row("event_bounds")) == {"first": 4, "last": 4}
    new.close()


def test_a_target_that_is_in_use_is_left_alone(
    databases: Databases, tmp_path: Path, clock: MovableClock
) -> None:
    source, target = databases
    used = Store(target)
    submit(scheduler_on(used, clock, tmp_path))
    with pytest.raises(errors.Conflict, match="not empty"):
        move.move(source, target, lambda table, copied: None)
    assert len(in_queue(used)) == 1
    used.close()
    source.close()


def test_a_target_without_tables_is_refused(
    tmp_path: Path, clock: MovableClock, empty_postgres: str
) -> None:
    source = open_database(empty_postgres, clock)
    target = open_database(f"sqlite:///{tmp_path / 'headway.db'}", clock)
    with pytest.raises(errors.Conflict, match="first_tables"):
        move.move(source, target, lambda table, copied: None)
    target.close()


def test_no_table_is_forgotten(migrated_postgres: str) -> None:
    with psycopg.connect(migrated_postgres) as connection:
        found = connection.execute(PRIMARY_KEYS).fetchall()
    keys = {table: tuple(columns) for table, columns in found}
    assert keys == {**move.KEYS, "writers": ("name",)}


def test_no_computed_column_is_forgotten(tmp_path: Path, clock: MovableClock) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'headway.db'}", clock)
    database.migrate()
    database.close()
    with sqlite3.connect(tmp_path / "headway.db") as connection:
        found = {row[0] for row in connection.execute(COMPUTED)}
    assert found == move.COMPUTED


PRIMARY_KEYS = """
SELECT c.conrelid::regclass::text, array_agg(a.attname::text ORDER BY k.place)
FROM pg_constraint c, unnest(c.conkey) WITH ORDINALITY k (number, place), pg_attribute a
WHERE c.contype = 'p' AND c.connamespace = 'public'::regnamespace
AND a.attrelid = c.conrelid AND a.attnum = k.number
AND c.conrelid <> 'schema_migrations'::regclass GROUP BY c.conrelid
"""
COMPUTED = """
SELECT c.name FROM sqlite_master t, pragma_table_xinfo(t.name) c
WHERE t.type = 'table' AND c.hidden IN (2, 3)
"""


def test_a_source_that_is_written_to_meanwhile_is_refused(
    databases: Databases, tmp_path: Path, clock: MovableClock
) -> None:
    source, target = databases
    store = Store(source)
    scheduler = scheduler_on(store, clock, tmp_path)
    submit(scheduler)

    def write(table: str, copied: int) -> None:
        if table == "events":
            submit(scheduler)

    with pytest.raises(errors.Conflict, match="was written to while it was copied"):
        move.move(source, target, write)
    store.close()
    with target.reading() as tx:
        assert not tx.rows("job_records", numbers="[1]")
    target.close()
