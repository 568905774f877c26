"""Expiry: leases that were not renewed and claims that led to nothing."""

from collections.abc import Sequence

from headway.domain import events, states
from headway.domain.runs import Outcome, RunStatus
from headway.scheduler.admit import claim_waits
from headway.scheduler.finish import consequences, finish
from headway.scheduler.scheduler import Scheduler
from headway.storage import claims, jobs, leases
from headway.storage.engine.transaction import READY, Transaction

BATCH = 1000


def expire_leases(scheduler: Scheduler, tx: Transaction) -> int:
    """End the runs whose leases were not renewed; their jobs are TIMEOUT. Return how many."""
    late = leases.expired(tx, BATCH)
    if not late:
        return 0
    scheduler.seen.expired_leases += len(late)
    scheduler.threads.outlive(one.lease_id for one in late)
    for overrun in (False, True):
        lease_ids = [
            one.lease_id
            for one in late
            if (one.deadline is not None and one.deadline <= tx.now_ms) is overrun
        ]
        if lease_ids:
            error = "timed out" if overrun else finish.LEASE_EXPIRED
            outcome = Outcome(
                status=RunStatus.FAILED, error=error, timed_out=True, crashed=not overrun
            )
            finish.abandon(scheduler, tx, lease_ids, outcome)
    return len(late)


def expire_claims(scheduler: Scheduler, tx: Transaction) -> int:
    """Claims that led to nothing go back to the queue: nothing has run. Return how many."""
    numbers = claims.expired(tx, BATCH)
    return give_back(scheduler, tx, numbers) if numbers else 0


def give_back(scheduler: Scheduler, tx: Transaction, numbers: Sequence[int]) -> int:
    """Claimed jobs go back to their place in the queue."""
    claimed = [record for record in jobs.read(tx, numbers) if record.status in states.CLAIMS]
    states.check_all(((one.number, one.status) for one in claimed), states.QUEUED)
    for record in claimed:
        tx.note(events.CLAIM_EXPIRED, record.number, {"worker_id": record.worker_id})
    claim_waits.keep(scheduler, tx, [record.number for record in claimed])
    claims.give_back(tx, [record.number for record in claimed])
    consequences.admit_or_end(scheduler, tx, [record.number for record in claimed])
    tx.wake(READY)
    return len(claimed)
