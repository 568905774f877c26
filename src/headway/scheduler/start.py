"""Starting jobs: status, lease and open run in one go, or none of it."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from headway.domain import events, leases, states
from headway.domain.leases import Lease, LeaseState
from headway.scheduler.scheduler import Scheduler
from headway.storage import limits, records
from headway.storage.events import Chronicle
from headway.storage.transaction import DUE, Transaction

if TYPE_CHECKING:
    from headway.scheduler.picking import Candidate, ClaimRequest


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker needs to do a job. Without a lease it is only claimed."""

    number: int
    job_id: str
    job_type: str
    attempt: int
    params: str
    timeout_s: float | None
    lease: Lease | None
    claim_expires_at: int | None = None


def start(
    scheduler: Scheduler,
    tx: Transaction,
    chronicle: Chronicle,
    request: "ClaimRequest",
    chosen: "Sequence[Candidate]",
) -> list[Started]:
    """Grant a lease and open a run for each."""
    if not chosen:
        return []
    ttl_s = request.ttl_s or scheduler.rules.lease_ttl_s
    rows = [_row(scheduler, tx, one, request.worker_id, ttl_s) for one in chosen]
    tx.many("start_job", rows)
    tx.many("open_run", rows)
    tx.many("grant_lease", rows)
    for row in rows:
        chronicle.add(
            events.STARTED, row["number"], {"run_id": row["run_id"], "worker_id": request.worker_id}
        )
    for one in chosen:
        waited_s = (tx.now_ms - (one.row["queued_at"] or one.row["created_at"])) / 1000
        scheduler.seen.start_latency.add(one.lane.queue, waited_s)
    tx.many("take_lock", [lock for one in chosen for lock in _locks(tx, one)])
    limits.count_rates(tx, scheduler.concurrency, [(one.row["number"], one.lane) for one in chosen])
    bodies = params_of(tx, [one.row["payload_id"] for one in chosen])
    tx.wake(DUE)
    return [
        _started(one, bodies[one.row["payload_id"]], _lease(tx, one, row, ttl_s))
        for one, row in zip(chosen, rows, strict=True)
    ]


def claim(
    scheduler: Scheduler,
    tx: Transaction,
    chronicle: Chronicle,
    request: "ClaimRequest",
    chosen: "Sequence[Candidate]",
) -> list[Started]:
    """Give the jobs to the worker without starting them; it must ask for a lease in time."""
    if not chosen:
        return []
    expires = tx.now_ms + int(scheduler.rules.claim_ttl_s * 1000)
    tx.many(
        "claim_job",
        [
            {
                "number": one.row["number"],
                "status": states.CLAIMED.value,
                "worker_id": request.worker_id,
                "claim_expires_at": expires,
                "wait_kind": None,
                "wait_detail": None,
                "denials": 0,
                "limited_since": None,
            }
            for one in chosen
        ],
    )
    for one in chosen:
        chronicle.add(events.CLAIMED, one.row["number"], {"worker_id": request.worker_id})
    bodies = params_of(tx, [one.row["payload_id"] for one in chosen])
    tx.wake(DUE)
    started = [_started(one, bodies[one.row["payload_id"]], None) for one in chosen]
    return [msgspec.structs.replace(one, claim_expires_at=expires) for one in started]


def params_of(tx: Transaction, payload_ids: Sequence[int]) -> dict[int, str]:
    """Params by payload id; most jobs have none."""
    bodies = {0: "{}"}
    wanted = set(payload_ids) - {0}
    if wanted:
        rows = tx.rows("payloads", payload_ids=records.listed(wanted))
        bodies.update((row["payload_id"], row["body"]) for row in rows)
    return bodies


def _row(
    scheduler: Scheduler, tx: Transaction, one: "Candidate", worker_id: str, ttl_s: float
) -> dict[str, Any]:
    ttl_ms = int(ttl_s * 1000)
    timeout_s = one.terms.timeout_s
    deadline = None if timeout_s is None else tx.now_ms + int(timeout_s * 1000)
    row = one.row
    return {
        "number": row["number"],
        "run_id": scheduler.new_id(tx.now),
        "lane_id": one.lane_id,
        "worker_id": worker_id,
        "attempt": row["attempt"],
        "generation": row["generation"],
        "payload_id": row["payload_id"],
        "ttl_ms": ttl_ms,
        "started_at": tx.now_ms,
        "expires_at": leases.expires_at(tx.now_ms, ttl_ms, deadline),
        "deadline": deadline,
    }


def _locks(tx: Transaction, one: "Candidate") -> list[dict[str, Any]]:
    return [
        {
            "key": lock.key,
            "job_number": one.row["number"],
            "mode": lock.mode.value,
            "since": tx.now_ms,
        }
        for lock in one.terms.locks
    ]


def _lease(tx: Transaction, one: "Candidate", row: dict[str, Any], ttl_s: float) -> Lease:
    left_s = (row["expires_at"] - tx.now_ms) / 1000
    return Lease(
        lease_id=row["run_id"],
        job_id=one.row["job_id"],
        worker_id=row["worker_id"],
        cost_units=one.lane.cost_units,
        ttl_s=ttl_s,
        granted_at=tx.now,
        expires_at=tx.now + timedelta(seconds=left_s),
        state=LeaseState.ACTIVE,
    )


def _started(one: "Candidate", params: str, lease: Lease | None) -> Started:
    return Started(
        number=one.row["number"],
        job_id=one.row["job_id"],
        job_type=one.lane.job_type,
        attempt=one.row["attempt"],
        params=params,
        timeout_s=one.terms.timeout_s,
        lease=lease,
    )
