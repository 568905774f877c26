"""Leases as they are kept."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

import msgspec

from headway.domain.answers import CurrentJob
from headway.domain.leases import LeaseState
from headway.domain.values import moments
from headway.storage import records
from headway.storage.engine import question
from headway.storage.engine.question import Question, Row
from headway.storage.engine.transaction import Transaction


class LeaseRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A lease, live or over. Times are in milliseconds."""

    lease_id: str
    job_id: str
    worker_id: str
    cost_units: int
    ttl_ms: int
    granted_at: int
    expires_at: int
    state: LeaseState = LeaseState.ACTIVE
    deadline: int | None = None
    cancel: str | None = None


class Renewal(NamedTuple):
    """How long a lease lasts from here on, and how far its job has come, if that is known."""

    lease_id: str
    expires_at: int
    progress: str | None


def live(tx: Transaction, lease_ids: Iterable[str]) -> dict[str, LeaseRecord]:
    """Those of these leases that are live, by id."""
    rows = tx.rows("leases_by_id", lease_ids=records.listed(lease_ids))
    return {row["lease_id"]: _record(row) for row in rows}


def _record(row: Row) -> LeaseRecord:
    return LeaseRecord(
        lease_id=row["lease_id"],
        job_id=row["job_id"],
        worker_id=row["worker_id"],
        cost_units=row["cost_units"],
        ttl_ms=row["ttl_ms"],
        granted_at=row["granted_at"],
        expires_at=row["expires_at"],
        deadline=row["deadline"],
        cancel=row["cancel"],
    )


def ended(tx: Transaction, lease_id: str) -> LeaseRecord | None:
    """A lease that is over, as its run remembers it."""
    row = tx.row("ended_lease", lease_id=lease_id)
    if row is None:
        return None
    named = {name: value for name, value in row.items() if name != "lease_state"}
    return LeaseRecord(**named, state=LeaseState(row["lease_state"]))


def grant(
    tx: Transaction,
    numbers: Collection[int],
    *,
    ttl_ms: int,
    expires_at: int,
    deadline: int | None,
) -> None:
    """Jobs that have just been started may run until then, and never beyond their deadline."""
    tx.put(
        "grant_leases",
        numbers=records.listed(numbers),
        ttl_ms=ttl_ms,
        expires_at=expires_at,
        deadline=deadline,
    )


class EndedLease(NamedTuple):
    """The job of a lease that is over, and how far it came."""

    job_number: int
    progress: str | None


def end(lease_ids: Collection[str], worker_id: str | None = None) -> Question[list[EndedLease]]:
    """These leases, of one worker or of all, are over; one that was lost is not among them."""
    return question.of_rows(
        lambda rows: [EndedLease(**row) for row in rows],
        "end_leases",
        lease_ids=records.listed(lease_ids),
        worker_id=worker_id,
    )


def renew(tx: Transaction, renewals: Iterable[Renewal]) -> None:
    """Heartbeats: these leases last longer."""
    tx.many("renew_lease", [one._asdict() for one in renewals])


class LeaseOfWorker(NamedTuple):
    """A live lease of a worker."""

    lease_id: str
    job_number: int
    job_id: str


def of_worker(tx: Transaction, worker_id: str) -> list[LeaseOfWorker]:
    """The leases that a worker holds, by id."""
    return [LeaseOfWorker(**row) for row in tx.rows("leases_of_worker", worker_id=worker_id)]


class HeldLease(msgspec.Struct, frozen=True, kw_only=True):
    """A live lease and the job that runs under it."""

    lease_id: str
    job_number: int


class ExpiredLease(msgspec.Struct, frozen=True, kw_only=True):
    """A lease that was not renewed in time. Times are in milliseconds."""

    lease_id: str
    job_number: int
    worker_id: str
    expires_at: int
    deadline: int | None


def expired(tx: Transaction, count: int) -> list[ExpiredLease]:
    """Leases that were not renewed in time, the oldest first."""
    return [ExpiredLease(**row) for row in tx.rows("expired_leases", now=tx.now_ms, count=count)]


def current_jobs(tx: Transaction) -> tuple[CurrentJob, ...]:
    """The jobs that run, the longest first."""
    return tuple(
        CurrentJob(
            job_id=row["job_id"],
            number=row["job_number"],
            job_type=row["job_type"],
            queue=row["queue"],
            worker_id=row["worker_id"],
            started_at=moments.from_millis(row["started_at"]),
        )
        for row in tx.rows("live_leases")
    )


def of_jobs(tx: Transaction, worker_id: str, numbers: Collection[int]) -> list[HeldLease]:
    """The live leases that a worker has of some jobs."""
    rows = tx.rows("leases_of_jobs", worker_id=worker_id, numbers=records.listed(numbers))
    return [HeldLease(**row) for row in rows]


def jobs_on_worker(tx: Transaction, worker_id: str, after: int, count: int) -> list[int]:
    """The jobs that a worker runs, by number, after this one."""
    rows = tx.rows("running_on_worker", worker_id=worker_id, after=after, count=count)
    return [row["number"] for row in rows]


def jobs_without(tx: Transaction, after: int, count: int) -> list[int]:
    """Running jobs that no lease covers, by number, after this one."""
    return [row["number"] for row in tx.rows("running_without_lease", after=after, count=count)]


def prolong(tx: Transaction, except_workers: Collection[str]) -> None:
    """Workers get at least one time-to-live to come back, without these."""
    tx.do("prolong_leases", now=tx.now_ms, except_workers=records.listed(except_workers))


def move_deadlines(tx: Transaction, shift_ms: int, *, looked_at: int) -> None:
    """The clock was set since the last look: runs have as long to run as before."""
    tx.do("move_deadlines", shift=shift_ms, looked=looked_at, now=tx.now_ms)


def renew_all(tx: Transaction) -> None:
    """The clock was set: every lease gets one time-to-live from now."""
    tx.do("renew_every_lease", now=tx.now_ms)
