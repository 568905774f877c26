"""What is done for every job finds its rows by an index, however many jobs there are."""

import re
import sqlite3

import pytest

from headway.storage import queries
from headway.storage.sqlite.connection import PACKAGE

GROWING = "jobs|runs|events|payloads|tags|dependencies|needs|produces|lock_waiters|deliveries"

CLAIM = ["ready_lanes", "lane_heads", "starved_jobs", "payloads"]
START = ["start_jobs", "open_runs", "grant_leases", "claim_job", "succeeded_since"]
FINISH = ["leased_jobs", "remove_leases", "job_records", "close_runs", "end_jobs", "any_dependents"]
CONSEQUENCES = ["lower_open_deps", "meet_dependencies", "dependents", "waiting_consumers"]
LOCKS = ["holders", "free_locks", "leave_lines", "open_lines", "heads_of_line", "first_exclusives"]
ADMIT = ["admit_jobs", "chain_links", "remove_watches"]
WHY = ["waits_on", "consumers", "producers", "dependencies_of"]
SUBMIT = ["jobs_by_idempotency_key", "active_job_by_unique_key", "job_numbers_by_id"]
TIME = ["next_due_job", "due_jobs", "next_lease_expiry", "next_claim_expiry", "next_due_schedule"]


@pytest.fixture(scope="module")
def schema() -> sqlite3.Connection:
    """An empty database; without statistics the plans are those of every size."""
    raw = sqlite3.connect(":memory:")
    for _, _, text in queries.migrations(PACKAGE):
        raw.executescript(text)
    return raw


@pytest.mark.parametrize(
    "name", [*CLAIM, *START, *FINISH, *CONSEQUENCES, *LOCKS, *ADMIT, *WHY, *SUBMIT, *TIME]
)
def test_no_table_that_grows_is_read_as_a_whole(schema: sqlite3.Connection, name: str) -> None:
    statement = queries.load(PACKAGE)[name]
    names = set(re.findall(r"(?<![:\w]):(\w+)", statement))
    plan = schema.execute(f"EXPLAIN QUERY PLAN {statement}", dict.fromkeys(names))
    steps = [row[3] for row in plan]
    assert steps
    assert not [step for step in steps if re.match(rf"SCAN ({GROWING})\b", step)]
