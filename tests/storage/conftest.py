"""A store on each database; every test here that uses one runs on both."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.helpers import MovableClock

from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.store import Database, Store
from headway.storage.postgres.database import PostgresDatabase
from headway.storage.sqlite.database import SqliteDatabase
from headway.workspace import Workspace

OpenStore = Callable[[], Store]


@pytest.fixture
def clock() -> MovableClock:
    """Noon of 2 March 2026, a Monday."""
    return MovableClock()


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty database is."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'headway.db'}"
    return str(request.getfixturevalue("empty_postgres"))


@pytest.fixture
def open_store(url: str, clock: MovableClock) -> Iterator[OpenStore]:
    """Give a function that opens the database once more, as another process would."""
    opened: list[Store] = []

    def open_one() -> Store:
        database = open_database(url, clock)
        database.migrate()
        opened.append(Store(database))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> Store:
    """A store with the current schema and nothing in it."""
    return open_store()


@pytest.fixture
def scheduler(tmp_path: Path, clock: MovableClock, store: Store) -> Scheduler:
    """A scheduler on the store."""
    return scheduler_on(store, clock, tmp_path)


def open_database(url: str, clock: MovableClock) -> Database:
    """The database behind a URL, without waiting for the disk."""
    if url.startswith("sqlite:///"):
        return SqliteDatabase(Path(url.removeprefix("sqlite:///")), clock, durable=False)
    return PostgresDatabase(url, clock)


def scheduler_on(store: Store, clock: MovableClock, folder: Path) -> Scheduler:
    """A scheduler on a store."""
    return Scheduler(store=store, clock=clock, workspace=Workspace(folder), data=folder)
