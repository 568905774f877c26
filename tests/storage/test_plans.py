"""What is done for every job finds its rows by an index, however many jobs there are."""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.helpers import MovableClock, claim, finish
from tests.postgres_tables import empty_tables
from tests.storage.conftest import open_database, scheduler_on

from headway.domain.requests.job_requests import BatchJobRequest
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import submit
from headway.storage import queries, records
from headway.storage.engine.store import Store
from headway.storage.engine.transaction import Transaction
from headway.storage.postgres.connection import connect
from headway.storage.postgres.statements import named
from headway.storage.sqlite.connection import PACKAGE

GROWING = (
    "jobs|job_names|job_words|runs|events|payloads|tags|dependencies|needs|produces|lock_waiters"
    "|deliveries"
)

CLAIM = ["ready_lanes", "lane_heads", "starved_jobs", "payloads"]
START = ["start_jobs", "open_runs", "grant_leases", "claim_job", "succeeded_since"]
FINISH = ["end_leases", "jobs_of_runs", "job_records", "close_runs", "end_jobs", "awaited_chains"]
CONSEQUENCES = ["lower_open_deps", "meet_dependencies", "dependents", "waiting_consumers"]
LOCKS = ["holders", "free_locks", "leave_lines", "open_lines", "heads_of_line", "first_exclusives"]
ADMIT = ["admit_jobs", "chain_links", "chain_links_with_history", "remove_watches"]
WHY = ["waits_on", "consumers", "producers", "dependencies_of"]
REWIND = [
    "downstream_chains",
    "chain_members",
    "chain_members_with_history",
    "reopen_dependencies",
    "rewind_job",
]
SUBMIT = [
    "jobs_by_idempotency_key",
    "active_jobs_by_unique_key",
    "job_numbers_by_id",
    "chains_of_jobs",
]
HOLD = ["hold_ready_jobs", "hold_jobs", "active_jobs_of_schedule", "leases_by_id"]
TIME = ["next_due_job", "due_jobs", "next_lease_expiry", "next_claim_expiry", "next_due_schedule"]


LISTS = [
    "newest_of_tag",
    "newest_of_group",
    "newest_of_name",
    "newest_of_words",
    "newest_of_ids",
    "newest_until",
    "words_from",
    "newest_of_template",
    "newest_that_ended",
    "newest_behind_a_gate",
    "newest_running",
    "oldest_since",
    "any_since",
    "lanes_by_newest",
    "newest_of_lanes",
    "newest_dependents",
]
OF_CLAIMS = ["newest_claimed", "held_by_worker"]
"""These read a whole index, which holds nothing but claims."""


@pytest.fixture(scope="module")
def schema() -> sqlite3.Connection:
    """An empty database; without statistics the plans are those of every size."""
    raw = sqlite3.connect(":memory:")
    for _, _, text in queries.migrations(PACKAGE):
        raw.executescript(text)
    return raw


@pytest.mark.parametrize(
    "name",
    [
        *CLAIM,
        *START,
        *FINISH,
        *CONSEQUENCES,
        *LOCKS,
        *ADMIT,
        *WHY,
        *REWIND,
        *SUBMIT,
        *TIME,
        *LISTS,
        *OF_CLAIMS,
    ],
)
def test_no_table_that_grows_is_read_as_a_whole(schema: sqlite3.Connection, name: str) -> None:
    steps = _steps(schema, name)
    assert steps
    assert not [step for step in steps if re.match(rf"SCAN ({GROWING})\b", step)]


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("waiting_by_lane", "jobs_in_queue_order"),
        ("count_waiting", "jobs_in_queue_order"),
        ("queue_after", "jobs_in_queue_order"),
        ("lanes_naming_limit", "jobs_active"),
        ("shown_numbers", "jobs_active"),
        ("newest_active", "jobs_active"),
    ],
)
def test_what_concerns_active_jobs_reads_no_ended_ones(
    schema: sqlite3.Connection, name: str, index: str
) -> None:
    steps = [step for step in _steps(schema, name) if re.match(r"(SCAN|SEARCH) (jobs|j)\b", step)]
    assert steps
    assert not [step for step in steps if index not in step and "jobs_ended" not in step]


def _steps(schema: sqlite3.Connection, name: str) -> list[str]:
    statement = queries.load(PACKAGE)[name]
    names = set(re.findall(r"(?<![:\w]):(\w+)", statement))
    return [
        row[3] for row in schema.execute(f"EXPLAIN QUERY PLAN {statement}", dict.fromkeys(names))
    ]


def test_on_postgresql_no_plan_reads_all_jobs_before_or_after_statistics(
    empty_postgres: str, tmp_path: Path
) -> None:
    clock = MovableClock()
    database = open_database(empty_postgres, clock)
    database.migrate()
    store = Store(database)
    try:
        with connect(empty_postgres) as raw:
            raw.execute("VACUUM")  # what other tests left behind says nothing of these tables
            _fill(store, clock, tmp_path)
            fresh = _reading_everything(raw)
            raw.execute("ANALYZE")
            assert (fresh, _reading_everything(raw)) == ({}, {})
    finally:
        store.close()


def test_on_postgresql_unique_keys_are_sought_whatever_the_statistics_say(
    empty_postgres: str, tmp_path: Path
) -> None:
    clock = MovableClock()
    database = open_database(empty_postgres, clock)
    database.migrate()
    store = Store(database)
    scheduler = scheduler_on(store, clock, tmp_path)
    plain = [BatchJobRequest(job_type="plain") for _ in range(700)]
    try:
        with connect(empty_postgres) as raw:
            for before in (0, 1, 30, 300):
                empty_tables(raw)
                raw.execute("VACUUM")
                store.write(partial(_submit, scheduler, plain[:before]))
                raw.execute("ANALYZE")
                empty_tables(raw)
                raw.execute("VACUUM")
                store.write(partial(_submit, scheduler, plain))
                assert _reading_everything(raw, ["active_jobs_by_unique_key"]) == {}
    finally:
        store.close()


def _submit(scheduler: Scheduler, wanted: Sequence[BatchJobRequest], tx: Transaction) -> None:
    if wanted:
        submit.submit_all(scheduler, tx, wanted)


def _fill(store: Store, clock: MovableClock, folder: Path) -> None:
    """Jobs of every kind: ready, ended, running, behind others, and in line for a lock."""
    scheduler = scheduler_on(store, clock, folder)
    wanted = [
        *(BatchJobRequest(job_type="plain", ref=str(n)) for n in range(1000)),
        *(
            BatchJobRequest(job_type="plain", after=(f"ref:{n}", f"ref:{n + 1}"))
            for n in range(500)
        ),
        *(BatchJobRequest(job_type="plain", locks=("a",), params={"n": 1}) for _ in range(200)),
    ]
    store.write(lambda tx: submit.submit_all(scheduler, tx, wanted))
    for _ in range(3):
        finish(scheduler, claim(scheduler, 80)[2:])


HOT = (
    *LISTS,
    *CLAIM[1:],
    *FINISH,
    *CONSEQUENCES,
    *LOCKS,
    *ADMIT,
    *WHY,
    *REWIND[:1],
    *SUBMIT,
    *HOLD,
)


def _reading_everything(raw: Any, names: Sequence[str] = HOT) -> dict[str, str]:
    """Queries that go through an index or a table without looking for something."""
    found = {}
    for name in names:
        question = b"EXPLAIN (GENERIC_PLAN, FORMAT JSON) " + named(name).numbered
        (plan,) = raw.execute(question).fetchone()[0]
        for node in _nodes(plan["Plan"]):
            reads = str(node.get("Relation Name", node.get("Index Name", "")))
            if re.match(GROWING, reads) and not node.keys() & {"Index Cond", "Recheck Cond"}:
                found[name] = f"{node['Node Type']} of {reads}"
    return found


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every step that reads or looks, from the top down."""
    if plan["Node Type"].endswith("Scan") and plan["Node Type"] != "Function Scan":
        yield plan
    for inner in plan.get("Plans", ()):
        yield from _nodes(inner)


def test_dependencies_are_reopened_in_steps_in_proportion_to_their_number() -> None:
    steps = [_steps_of_reopening(count) for count in (100, 400)]
    assert steps[1] < 6 * steps[0]


def test_on_postgresql_reopened_dependencies_are_looked_up_by_chain_alone(
    empty_postgres: str,
) -> None:
    question = b"EXPLAIN (GENERIC_PLAN, FORMAT JSON) " + named("reopen_dependencies").numbered
    with connect(empty_postgres) as raw:
        ((plans,),) = raw.execute(question).fetchall()
    (plan,) = plans
    looks = [str(node.get("Index Cond")) for node in _nodes(plan["Plan"])]
    assert any("chain" in look for look in looks)
    assert not any("job_number" in look for look in looks)


def _steps_of_reopening(count: int) -> int:
    """How many instructions SQLite takes to reopen the dependencies of a chain of jobs."""
    raw = sqlite3.connect(":memory:")
    for _, _, text in queries.migrations(PACKAGE):
        raw.executescript(text)
    rows = [(number, number - 1) for number in range(1, count)]
    raw.executemany("INSERT INTO dependencies VALUES (?, ?, 'success', 1)", rows)
    taken = 0

    def count_one() -> None:
        nonlocal taken
        taken += 1

    raw.set_progress_handler(count_one, 1)
    listed = records.listed(range(count))
    statement = queries.load(PACKAGE)["reopen_dependencies"]
    assert raw.execute(statement, {"chains": listed, "numbers": listed}).rowcount == count - 1
    return taken
