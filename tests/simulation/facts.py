"""How things stand in the store after a step, read with plain SQL and no verb of the product."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from headway.domain import states
from headway.domain.jobs import Lane, Terms
from headway.storage import records
from headway.storage.engine import codec
from headway.storage.engine.question import Row
from headway.storage.engine.transaction import Transaction

JOBS = """
SELECT number, job_id, lane_id, status, priority, position, terms, attempt, generation, gated,
    dedup_key, queued_at, limited_since, due_at, scheduled_for, chain, retry_of, approval,
    wait_kind, cancel, worker_id, run_id, unique_key, schedule_id, group_id, group_place, delayed,
    waited_on
FROM jobs
"""
RUNS = """
SELECT run_id, job_number, generation, status, lease_state, worker_id, report_hash FROM runs
"""
LEASES = "SELECT lease_id, expires_at FROM leases"
SEQUENCES = "SELECT group_id FROM groups WHERE mode = 'sequential'"
LANES = "SELECT lane_id, queue, job_type, cost_units, requires, limits FROM lanes"
MARKERS = "SELECT artifact FROM markers"
LIMITS = "SELECT name, size, rate FROM limits"
PAUSES = "SELECT queue, job_type FROM pauses"
RESERVATIONS = "SELECT running, expires_at FROM reservations WHERE state = 'ACTIVE'"
WORKERS = "SELECT worker_id, abilities, draining_since FROM workers"
WEBHOOKS = "SELECT webhook_id, events FROM webhooks"
DELIVERIES = "SELECT delivery_id, webhook_id, event, job_number, status FROM deliveries"


@dataclass(frozen=True)
class JobFacts:
    """One row of `jobs`."""

    row: Row

    def __getattr__(self, name: str) -> Any:
        return self.row[name]

    @cached_property
    def status(self) -> states.JobStatus:
        """Where the job stands."""
        return states.JobStatus(self.row["status"])

    @cached_property
    def terms(self) -> Terms:
        """What was asked for."""
        return _terms(self.row["terms"])

    @property
    def is_active(self) -> bool:
        """Whether it has not ended."""
        return self.status in states.ACTIVE

    @property
    def is_ready(self) -> bool:
        """Whether it only waits for its turn."""
        row = self.row
        return (
            row["status"] == "QUEUED"
            and row["due_at"] is None
            and row["wait_kind"] is None
            and row["queued_at"] is not None
        )

    @property
    def order(self) -> tuple[int, int, int]:
        """Its place in the queue."""
        return (-self.row["priority"], self.row["position"], self.row["number"])


@cache
def _terms(text: str) -> Terms:
    return codec.load_terms(text)


@dataclass(frozen=True)
class Facts:
    """Everything the rules look at."""

    changes: int | None
    """How many rows were ever changed, if the store can say."""
    now_ms: int
    timely: bool
    """Whether every server goes by the clock as it is."""
    jobs: Mapping[int, JobFacts]
    runs: Mapping[str, Row]
    leases: Mapping[str, int]
    """When each lease is over, in milliseconds."""
    sequences: frozenset[str]
    """The groups whose members go one after the other."""
    lanes: Mapping[int, Lane]
    markers: frozenset[str]
    limits: Mapping[str, Row]
    pauses: tuple[Row, ...]
    reservations: tuple[Row, ...]
    workers: Mapping[str, Row]
    webhooks: tuple[Row, ...]
    deliveries: Mapping[str, Row]

    def is_same_as(self, other: "Facts") -> bool:
        """Whether nothing was written in between."""
        return self.changes is not None and self.changes == other.changes

    @cached_property
    def running(self) -> dict[str, JobFacts]:
        """The jobs that run, by the id of their run."""
        return {one.run_id: one for one in self.jobs.values() if one.row["status"] == "RUNNING"}

    @cached_property
    def chains(self) -> dict[int, list[JobFacts]]:
        """The links of each chain, without those that a rewind made history."""
        found: dict[int, list[JobFacts]] = {}
        for one in self.jobs.values():
            found.setdefault(one.chain, []).append(one)
        return found


def read(tx: Transaction, changes: int | None = None, *, timely: bool = True) -> Facts:
    """Read it all."""
    return Facts(
        changes=changes,
        now_ms=tx.now_ms,
        timely=timely,
        jobs={row["number"]: JobFacts(row) for row in tx.select(JOBS, {})},
        runs={row["run_id"]: row for row in tx.select(RUNS, {})},
        leases={row["lease_id"]: row["expires_at"] for row in tx.select(LEASES, {})},
        sequences=frozenset(row["group_id"] for row in tx.select(SEQUENCES, {})),
        lanes={row["lane_id"]: records.lane(row) for row in tx.select(LANES, {})},
        markers=frozenset(row["artifact"] for row in tx.select(MARKERS, {})),
        limits={row["name"]: row for row in tx.select(LIMITS, {})},
        pauses=tuple(tx.select(PAUSES, {})),
        reservations=tuple(tx.select(RESERVATIONS, {})),
        workers={row["worker_id"]: row for row in tx.select(WORKERS, {})},
        webhooks=tuple(tx.select(WEBHOOKS, {})),
        deliveries={row["delivery_id"]: row for row in tx.select(DELIVERIES, {})},
    )
