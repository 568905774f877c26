"""What a rewind took from a chain is history, also in stores in which only a sign says so."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from tests.helpers import MovableClock
from tests.storage.conftest import open_database, scheduler_on

from headway.domain.states import JobStatus
from headway.scheduler.explain import graph_view, results, views
from headway.scheduler.scheduler import Scheduler
from headway.storage import chains
from headway.storage.engine.store import Store
from headway.storage.engine.transaction import Transaction

RELEASED = (
    "INSERT INTO lanes (lane_id, key, queue, job_type, cost_units, requires, limits)"
    " VALUES (1, 'k', 'default', 'x', 1, '[]', '{}')",
    # A job that failed, was retried twice and rewound: its retries are history.
    "INSERT INTO jobs (number, job_id, lane_id, payload_id, status, priority, position, terms,"
    " generation, created_at, queued_at, chain) VALUES"
    " (1, 'root', 1, 0, 'QUEUED', 0, 100, '{}', 2, 1000, 1000, 1)",
    "INSERT INTO jobs (number, job_id, lane_id, payload_id, status, priority, position, terms,"
    " attempt, created_at, finished_at, chain, retry_of, retry_state) VALUES"
    " (2, 'first-retry', 1, 0, 'FAILED', 0, 200, '{}', 1, 1000, 2000, -1, 1, 'scheduled'),"
    " (3, 'last-retry', 1, 0, 'CANCELLED', 0, 300, '{}', 2, 2000, 3000, -1, 2, 'none')",
    # One that failed and whose retry is still a link of its chain.
    "INSERT INTO jobs (number, job_id, lane_id, payload_id, status, priority, position, terms,"
    " created_at, finished_at, chain, retry_state) VALUES"
    " (4, 'other', 1, 0, 'FAILED', 0, 400, '{}', 1000, 2000, 4, 'scheduled')",
    "INSERT INTO jobs (number, job_id, lane_id, payload_id, status, priority, position, terms,"
    " attempt, created_at, queued_at, chain, retry_of) VALUES"
    " (5, 'its-retry', 1, 0, 'QUEUED', 0, 500, '{}', 1, 2000, 2000, 4, 4)",
)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path, fresh_database: Callable[[], str]) -> str:
    """A store of the first version, in which a chain was rewound."""
    file = f"sqlite:///{tmp_path / 'headway.db'}"
    url = file if request.param == "sqlite" else fresh_database()
    with contextlib.closing(open_database(url, MovableClock())) as database:
        database.migrate(to=1)
    _execute(url, *RELEASED)
    return url


@pytest.fixture
def scheduler(url: str, clock: MovableClock, tmp_path: Path) -> Iterator[Scheduler]:
    """The same store, brought up to date."""
    database = open_database(url, clock)
    database.migrate()
    with contextlib.closing(Store(database)) as store:
        yield scheduler_on(store, clock, tmp_path)


def test_a_chain_that_was_rewound_before_is_shown_as_it_was(scheduler: Scheduler) -> None:
    shown = scheduler.store.read(lambda tx: views.views(scheduler, tx, [1, 2, 3, 4, 5]))
    assert [(job.chain_id, job.retry_of, job.retried_by) for job in shown] == [
        ("root", None, None),
        ("root", "root", "last-retry"),
        ("root", "first-retry", None),
        ("other", None, "its-retry"),
        ("other", "other", None),
    ]


def test_it_is_judged_by_its_links_alone(scheduler: Scheduler) -> None:
    def look(tx: Transaction) -> None:
        ends = chains.ends(tx, [1, 4])
        assert {chain: end.job_id for chain, end in ends.items()} == {1: "root", 4: "its-retry"}
        assert [one.number for one in chains.links(tx, [1, 4])] == [1, 4, 5]
        every = chains.links_with_history(tx, [1, 4])
        assert [(one.number, one.chain, one.history) for one in every] == [
            (1, 1, 0),
            (2, 1, 1),
            (3, 1, 1),
            (4, 4, 0),
            (5, 4, 0),
        ]
        assert chains.numbers_beside(tx, every[0]) == [1]
        assert chains.numbers_beside(tx, every[1]) == [2, 3]
        assert results.result(tx, 2).status is JobStatus.CANCELLED
        near = graph_view.graph(scheduler, tx, job=2)
        assert [node.number for node in near.nodes] == [1, 2]

    scheduler.store.read(look)


def test_what_a_server_of_the_version_before_rewinds_is_history_too(
    scheduler: Scheduler, url: str
) -> None:
    _execute(
        url,
        "UPDATE jobs SET status = 'CANCELLED', finished_at = 4000 WHERE number = 5",
        "UPDATE jobs SET chain = -chain WHERE number = 5",
    )
    links = scheduler.store.read(lambda tx: chains.links(tx, [4]))
    assert [one.number for one in links] == [4]
    every = scheduler.store.read(lambda tx: chains.numbers_with_history(tx, [4]))
    assert every == {"other": 4, "its-retry": 5}


def _execute(url: str, *steps: str) -> None:
    if url.startswith("sqlite:///"):
        with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as raw, raw:
            for step in steps:
                raw.execute(step)
    else:
        with psycopg.connect(url) as connection:
            for step in steps:
                connection.execute(step.encode())
