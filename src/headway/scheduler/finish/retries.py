"""The job that tries a failed one again."""

from datetime import datetime

from headway.domain.jobs import Approval, Policy
from headway.domain.values import moments
from headway.scheduler.scheduler import Scheduler
from headway.storage import dependencies, jobs
from headway.storage.engine.transaction import Transaction
from headway.storage.new_jobs import NewJob
from headway.storage.records import JobRecord


def retry_job(
    scheduler: Scheduler,
    tx: Transaction,
    failed: JobRecord,
    moment: datetime | None,
    *,
    priority: int | None = None,
    payload_id: int | None = None,
    crashes: int | None = None,
) -> NewJob:
    """The next link of the chain: the same work, at the tail of its priority."""
    allocation = jobs.allocate(tx, jobs=1, positions=1)
    return NewJob(
        number=allocation.number,
        job_id=scheduler.new_id(tx.now),
        lane_id=failed.lane_id,
        payload_id=failed.payload_id if payload_id is None else payload_id,
        params=None,
        priority=failed.priority if priority is None else priority,
        position=allocation.position,
        terms=failed.terms,
        scheduled_for=moments.maybe_to_millis(moment),
        delayed=moment is not None,
        chain=failed.chain,
        retry_of=failed.number,
        attempt=failed.attempt + 1,
        journal=failed.journal,
        parent=failed.parent,
        generation=failed.generation,
        approved=failed.approval is Approval.APPROVED,
        template_id=failed.template_id,
        schedule_id=failed.schedule_id,
        fire_time=failed.fire_time,
        group_id=failed.group_id,
        group_place=failed.group_place,
        unique_key=failed.unique_key,
        dedup_key=failed.dedup_key,
        crashes=failed.crashes if crashes is None else crashes,
        met=_met(tx, failed),
    )


def _met(tx: Transaction, failed: JobRecord) -> frozenset[tuple[int, Policy]]:
    if not failed.terms.after and not failed.terms.after_groups:
        return frozenset()
    before = dependencies.of(tx, [failed.number])
    return frozenset((one.chain, one.policy) for one in before if one.met)
