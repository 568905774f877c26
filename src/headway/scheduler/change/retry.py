"""Trying a failed run again by hand: a new job, however many attempts there were.

A chain has one active link. One that is not claimed yet makes way for the new one, so that the
chain goes on without a moment in which it has ended.
"""

import msgspec

from headway.domain import errors, events, states
from headway.domain.jobs import WaitReason
from headway.domain.manage.tokens import Role
from headway.domain.runs import RunStatus
from headway.domain.values import priorities
from headway.scheduler import command_permission
from headway.scheduler.admit.insert import insert
from headway.scheduler.finish import consequences
from headway.scheduler.finish.ends import Ended
from headway.scheduler.finish.retries import retry_job
from headway.scheduler.programs import families
from headway.scheduler.scheduler import Scheduler
from headway.storage import chains, jobs, runs
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import groups
from headway.storage.new_jobs import NewJob
from headway.storage.records import JobRecord
from headway.storage.runs import RunOfJob

RETRIED_BY_HAND = "retried by hand"


def retry_run(
    scheduler: Scheduler,
    tx: Transaction,
    run_id: str,
    priority: int | str | None = None,
    role: Role = Role.ADMIN,
) -> int:
    """A new link of the run's chain with the run's params; return its number."""
    run = _failed_run(tx, run_id)
    failed = jobs.read(tx, [run.job_number])[0]
    command_permission.check_restart(scheduler, tx, role, "retry", [failed])
    last = _last_link(tx, failed)
    refuse_beside_another(tx, last)
    job = retry_job(
        scheduler,
        tx,
        last,
        None,
        priority=failed.priority if priority is None else priorities.read(priority),
        payload_id=run.payload_id,
    )
    job = msgspec.structs.replace(job, retry_of=failed.number)
    tx.note(events.RETRY_SCHEDULED, failed.number, {"run_id": run_id, "job_id": job.job_id})
    if last.status in states.WAITING:
        consequences.settle(scheduler, tx, [_replaced(last, job)])
    else:
        _go_on(scheduler, tx, job)
    return job.number


def _failed_run(tx: Transaction, run_id: str) -> RunOfJob:
    run = runs.of_job(tx, run_id)
    if run is None:
        raise errors.NotFound("run", run_id)
    if run.status is not RunStatus.FAILED:
        raise errors.RunNotFailed(run_id, run.status or "still going on")
    return run


def _last_link(tx: Transaction, failed: JobRecord) -> JobRecord:
    chain = failed.chain
    return jobs.read(tx, [chains.ends(tx, [chain])[chain].number])[0]


def _replaced(waiting: JobRecord, job: NewJob) -> Ended:
    """The end of a link that never started; the new one has its place in the count."""
    return Ended(
        record=waiting,
        status=states.CANCELLED,
        reason=WaitReason(kind="retry", detail=RETRIED_BY_HAND),
        retry=False,
        successor=msgspec.structs.replace(job, attempt=waiting.attempt),
    )


def _go_on(scheduler: Scheduler, tx: Transaction, job: NewJob) -> None:
    """The chain had ended, and its group perhaps with it; a program may wait for its siblings."""
    families.wait_again(tx, [job.chain])
    if job.group_id is not None:
        groups.reopen(tx, job.group_id)
    consequences.admit_or_end(scheduler, tx, insert(tx, [job]).to_admit)


def refuse_beside_another(tx: Transaction, last: JobRecord) -> None:
    """A chain has one link at work, a unique key one active job, and a child one end at a time."""
    if last.status in states.ACTIVE - states.WAITING:
        raise errors.Conflict(f"job {last.job_id} is already retrying this; it is {last.status}")
    if last.status in states.TERMINAL and last.unique_key is not None:
        (active,) = tx.ask(jobs.active_by_unique_key([last.unique_key]))
        holder = active.get(last.unique_key)
        if holder is not None:
            raise errors.Conflict(
                f"job {holder} with the same unique key {last.unique_key!r} is active"
            )
    families.refuse_taken(tx, [last])
    families.refuse_unfinished(tx, last)
