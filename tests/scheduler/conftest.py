"""A scheduler on a temporary store, with a clock that only tests move."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.helpers import MovableClock, claim, event_kinds, finish, job, run_next, submit
from tests.scheduler.asking import submit_all

from headway.domain.runs import RunStatus
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.store import Database, Store
from headway.storage.postgres.database import PostgresDatabase
from headway.storage.sqlite.database import SqliteDatabase
from headway.workspace import Workspace

__all__ = ["MovableClock", "claim", "event_kinds", "finish", "job", "run_next", "submit"]


@pytest.fixture
def clock() -> MovableClock:
    """Noon of 2 March 2026, a Monday."""
    return MovableClock()


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path, clock: MovableClock) -> Database:
    """An empty database with the current schema."""
    made: Database
    if request.param == "sqlite":
        made = SqliteDatabase(tmp_path / "data" / "headway.db", clock, durable=False)
    else:
        made = PostgresDatabase(request.getfixturevalue("empty_postgres"), clock)
    made.migrate()
    return made


@pytest.fixture
def scheduler(tmp_path: Path, clock: MovableClock, database: Database) -> Iterator[Scheduler]:
    """A scheduler that draws its chance from a fixed seed."""
    store = Store(database)
    folder = tmp_path / "workspace"
    folder.mkdir()
    yield Scheduler(
        store=store,
        clock=clock,
        workspace=Workspace(folder),
        data=tmp_path / "data",
        chance=random.Random(1),
    )
    store.close()


@pytest.fixture
def busy(scheduler: Scheduler) -> Scheduler:
    """1 succeeded, 2 failed, 3 runs with a lock, 4 waits for it, 5 waits for 3, 6 is claimed."""
    submit_all(scheduler, {}, {"retry_policy": {"max_attempts": 0}}, {"locks": ["gpu"]})
    finish(scheduler, claim(scheduler))
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    claim(scheduler)
    submit(scheduler, locks=["gpu"])
    submit(scheduler, after=[3])
    submit(scheduler)
    claim(scheduler, lease=False)
    return scheduler
