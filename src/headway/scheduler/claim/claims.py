"""A claim: first what the worker holds without knowing it, then jobs in the order of the queue.

An answer can be lost on its way: its leases were granted and no worker works on them. A worker that
asks again says what it knows of. The rest of its leases is handed to it once more, under the same
ids, and the rest of its claims goes back to the queue.
"""

from collections.abc import Collection

import msgspec

from headway.domain import errors
from headway.protocol.work_shapes import HeartbeatItem
from headway.protocol.work_values import Started
from headway.scheduler import alone
from headway.scheduler.admit import lane_waits
from headway.scheduler.claim import dispatch
from headway.scheduler.claim.dispatch import ClaimRequest
from headway.scheduler.explain import journals
from headway.scheduler.lease import expire, leases
from headway.scheduler.scheduler import Scheduler
from headway.storage import claims as claim_rows
from headway.storage import jobs, lanes, payloads
from headway.storage import leases as lease_rows
from headway.storage.engine.transaction import READY, Transaction
from headway.storage.manage import workers


def claim(
    scheduler: Scheduler,
    tx: Transaction,
    request: ClaimRequest,
    holds: Collection[str] | None = None,
) -> list[Started]:
    """Jobs for a worker. `holds` are the leases and claimed jobs it knows of, if it says so."""
    if holds is None:
        return dispatch.claim(scheduler, tx, request)
    _return_claims(scheduler, tx, request.worker_id, holds)
    again = _hand_again(scheduler, tx, request, holds)
    left = request.max_jobs - len(again)
    if left <= 0:
        return again
    rest = msgspec.structs.replace(request, max_jobs=left)
    return [*again, *dispatch.claim(scheduler, tx, rest)]


def leave(scheduler: Scheduler, tx: Transaction, worker_id: str, *, forget: bool = False) -> None:
    """A worker stops: its claims go back to the queue, and it is listed no more if it has no lease.

    Its name stays that of its token, unless it is forgotten altogether.
    """
    _return_claims(scheduler, tx, worker_id, holds=())
    if lease_rows.of_worker(tx, worker_id):
        return
    if forget:
        workers.remove(tx, worker_id)
    else:
        workers.leave(tx, worker_id)


def drain(scheduler: Scheduler, tx: Transaction, worker_id: str, *, drained: bool) -> None:
    """Have a worker take no more jobs, or take some again; what it holds it finishes."""
    since = tx.now_ms if drained else None
    with lane_waits.kept(scheduler, tx):
        known = workers.drain(tx, worker_id, since)
    if not known:
        raise errors.NotFound("worker", worker_id)
    tx.wake(READY)


def _return_claims(
    scheduler: Scheduler, tx: Transaction, worker_id: str, holds: Collection[str]
) -> None:
    claimed = claim_rows.of_worker(tx, worker_id)
    unknown = [number for number, job_id in claimed.items() if job_id not in holds]
    if unknown:
        alone.to_change_claimed_jobs(tx)
        expire.give_back(scheduler, tx, unknown)


def _hand_again(
    scheduler: Scheduler, tx: Transaction, request: ClaimRequest, holds: Collection[str]
) -> list[Started]:
    """Leases that the worker does not know of, with their whole time before them."""
    held = lease_rows.of_worker(tx, request.worker_id)
    unknown = [
        one.lease_id for one in held if one.lease_id not in holds and one.job_id not in holds
    ]
    beats = [HeartbeatItem(lease_id=lease_id) for lease_id in unknown[: request.max_jobs]]
    answers = leases.heartbeat(scheduler, tx, request.worker_id, beats) if beats else []
    live = {one.lease_id for one in answers if one.expires_at and one.expires_at > tx.now}
    numbers = [one.job_number for one in held if one.lease_id in live]
    return [_started(tx, number) for number in numbers]


def _started(tx: Transaction, number: int) -> Started:
    (record,) = jobs.read(tx, [number])
    lane = lanes.read(tx, [record.lane_id])[record.lane_id]
    run_id = str(record.run_id)
    return Started(
        number=record.number,
        job_id=record.job_id,
        job_type=lane.job_type,
        attempt=record.attempt,
        params=payloads.of_runs(tx, [run_id])[run_id],
        filled=True,
        timeout_s=record.terms.timeout_s,
        lease=leases.view(tx, run_id),
        steps=journals.to_send(tx, [number] if record.journal else []).get(number, ()),
    )
