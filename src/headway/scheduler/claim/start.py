"""Starting jobs: status, lease and open run in one go, or none of it."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from headway.domain import events, leases, states
from headway.domain.leases import Lease, LeaseState
from headway.domain.manage.limits import Rate
from headway.domain.steps import Step
from headway.domain.values import moments
from headway.protocol.work_values import Started
from headway.scheduler import alone
from headway.scheduler.claim import filling
from headway.scheduler.claim.filling import Filled, Taking
from headway.scheduler.explain import journals as explained
from headway.scheduler.scheduler import Scheduler
from headway.storage import claims, jobs, locks, payloads, runs
from headway.storage import leases as stored_leases
from headway.storage.admit import lock_lines
from headway.storage.claims import Claim
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import limits
from headway.storage.payloads import Payload

if TYPE_CHECKING:
    from headway.scheduler.claim.pick import Candidate, ClaimRequest


class Starts(NamedTuple):
    """Jobs that started, and runs that cannot go on, each with the reason."""

    started: list[Started]
    unfilled: Mapping[str, str]


def start(
    scheduler: Scheduler,
    tx: Transaction,
    request: "ClaimRequest",
    chosen: "Sequence[Candidate]",
    rates: Mapping[str, Rate],
) -> Starts:
    """Grant a lease and open a run for each; starts count against these rates.

    The params of some runs cannot be filled in: no worker gets them, and they are to be ended.
    """
    if not chosen:
        return Starts([], {})
    states.check_all(((one.job.number, one.job.status) for one in chosen), states.RUNNING)
    ttl_s = request.ttl_s or scheduler.rules.lease_ttl_s
    run_ids = {one.job.number: scheduler.new_id(tx.now) for one in chosen}
    jobs.start(tx, run_ids, request.worker_id)
    runs.open_all(tx, run_ids, ttl_ms=int(ttl_s * 1000), output_at=scheduler.data_id)
    timeouts = [_timeout_s(one) for one in chosen]
    ends = _grant(tx, run_ids, timeouts, int(ttl_s * 1000))
    worker_id = request.worker_id
    tx.note_all(
        events.STARTED,
        {number: {"run_id": run_id, "worker_id": worker_id} for number, run_id in run_ids.items()},
    )
    _observe(scheduler, tx, chosen)
    gated = [one for one in chosen if one.job.gated]
    locks.take(tx, [one.job for one in gated])
    lock_lines.leave(tx, [one.job.number for one in gated if one.job.terms.locks])
    starts = [(one.job.number, one.lane) for one in chosen]
    limits.count_rates(tx, scheduler.concurrency, rates, starts)
    bodies, filled = _params(scheduler, tx, chosen)
    alone.to_refuse(tx, filled.unfilled)
    if filled.bodies:
        payloads.fill_in(tx, {run_ids[number]: body for number, body in filled.bodies.items()})
    journals = explained.to_send(tx, [one.job.number for one in chosen if one.job.journal])
    started = [
        _started(
            one,
            bodies,
            filled,
            timeout_s,
            Lease(
                lease_id=run_ids[one.job.number],
                job_id=one.job.job_id,
                worker_id=request.worker_id,
                cost_units=one.lane.cost_units,
                ttl_s=ttl_s,
                granted_at=tx.now,
                expires_at=ends[timeout_s],
                state=LeaseState.ACTIVE,
            ),
            journals.get(one.job.number, ()),
        )
        for one, timeout_s in zip(chosen, timeouts, strict=True)
        if one.job.number not in filled.unfilled
    ]
    return Starts(started, {run_ids[number]: why for number, why in filled.unfilled.items()})


def _params(
    scheduler: Scheduler, tx: Transaction, chosen: "Sequence[Candidate]"
) -> tuple[dict[int, Payload], Filled]:
    """The params of these jobs by payload id, and those that results are filled in."""
    found = payloads.read(tx, [one.job.payload_id for one in chosen])
    taking = (Taking(one.job, one.lane.job_type, found[one.job.payload_id]) for one in chosen)
    return found, filling.fill(tx, taking, scheduler.rules.largest_params)


def _grant(
    tx: Transaction, numbers: Iterable[int], timeouts: Iterable[float | None], ttl_ms: int
) -> dict[float | None, datetime]:
    """Write the leases of these jobs; return when they end, by the time-out."""
    by_timeout: dict[float | None, list[int]] = {}
    for number, timeout_s in zip(numbers, timeouts, strict=True):
        by_timeout.setdefault(timeout_s, []).append(number)
    ends = {}
    for timeout_s, alike in by_timeout.items():
        deadline = None if timeout_s is None else tx.now_ms + int(timeout_s * 1000)
        expires_at = leases.expires_at(tx.now_ms, ttl_ms, deadline)
        stored_leases.grant(tx, alike, ttl_ms=ttl_ms, expires_at=expires_at, deadline=deadline)
        tx.due_at(expires_at)
        ends[timeout_s] = moments.from_millis(expires_at)
    return ends


def _observe(scheduler: Scheduler, tx: Transaction, chosen: "Sequence[Candidate]") -> None:
    waits: dict[str, list[float]] = {}
    for one in chosen:
        waited_ms = tx.now_ms - (one.job.queued_at or one.job.created_at)
        waits.setdefault(one.lane.queue, []).append(waited_ms / 1000)
    for queue, seconds in waits.items():
        scheduler.seen.start_latency.add(queue, seconds)


def claim(
    scheduler: Scheduler,
    tx: Transaction,
    request: "ClaimRequest",
    chosen: "Sequence[Candidate]",
) -> list[Started]:
    """Give the jobs to the worker without starting them; it must ask for a lease in time."""
    if not chosen:
        return []
    states.check_all(((one.job.number, one.job.status) for one in chosen), states.CLAIMED)
    expires = tx.now_ms + int(scheduler.rules.claim_ttl_s * 1000)
    claims.keep(
        tx,
        [
            Claim(
                number=one.job.number,
                status=states.CLAIMED,
                worker_id=request.worker_id,
                claim_expires_at=expires,
                limited_since=one.job.limited_since,
            )
            for one in chosen
        ],
    )
    lock_lines.claim(tx, [one.job.number for one in chosen if one.job.says("locks")])
    for one in chosen:
        tx.note(events.CLAIMED, one.job.number, {"worker_id": request.worker_id})
    bodies, filled = _params(scheduler, tx, chosen)
    tx.due_at(expires)
    started = [_started(one, bodies, filled, _timeout_s(one), None) for one in chosen]
    return [msgspec.structs.replace(one, claim_expires_at=expires) for one in started]


def _timeout_s(one: "Candidate") -> float | None:
    return one.job.terms.timeout_s if one.job.says("timeout_s") else None


def _started(
    one: "Candidate",
    bodies: Mapping[int, Payload],
    filled: Filled,
    timeout_s: float | None,
    lease: Lease | None,
    steps: tuple[Step, ...] | None = (),
) -> Started:
    body = filled.bodies.get(one.job.number)
    return Started(
        number=one.job.number,
        job_id=one.job.job_id,
        job_type=one.lane.job_type,
        attempt=one.job.attempt,
        params=bodies[one.job.payload_id].body if body is None else body,
        filled=body is not None,
        timeout_s=timeout_s,
        lease=lease,
        steps=steps,
    )
