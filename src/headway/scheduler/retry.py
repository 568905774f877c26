"""Trying a failed run again by hand: a new job, however many attempts there were."""

import msgspec

from headway.domain import errors, events, priorities, states
from headway.domain.runs import RunStatus
from headway.scheduler import settle
from headway.scheduler.insert import insert
from headway.scheduler.retry_jobs import retry_job
from headway.scheduler.scheduler import Scheduler
from headway.storage import groups, jobs, records
from headway.storage.events import Chronicle
from headway.storage.records import JobRecord
from headway.storage.transaction import Row, Transaction


def retry_run(
    scheduler: Scheduler, tx: Transaction, run_id: str, priority: int | str | None = None
) -> int:
    """A new link of the run's chain with the run's params; answers its number."""
    run = _failed_run(tx, run_id)
    failed = jobs.read(tx, [run["job_number"]])[0]
    last = _last_link(tx, failed)
    _refuse_beside_another(tx, last)
    job = retry_job(
        scheduler,
        tx,
        last,
        None,
        priority=failed.priority if priority is None else priorities.read(priority),
        payload_id=run["payload_id"],
    )
    job = msgspec.structs.replace(job, retry_of=failed.number)
    chronicle = Chronicle(tx)
    chronicle.add(events.RETRY_SCHEDULED, failed.number, {"run_id": run_id, "job_id": job.job_id})
    if job.group_id is not None:
        groups.reopen(tx, job.group_id)
    settle.settle(scheduler, tx, chronicle, admit=insert(tx, [job], chronicle).to_admit)
    chronicle.write()
    return job.number


def _failed_run(tx: Transaction, run_id: str) -> Row:
    rows = tx.rows("run_views", run_ids=records.listed([run_id]))
    if not rows:
        raise errors.NotFound("run", run_id)
    if rows[0]["status"] != RunStatus.FAILED:
        raise errors.RunNotFailed(run_id, rows[0]["status"] or "still going on")
    return rows[0]


def _last_link(tx: Transaction, failed: JobRecord) -> JobRecord:
    chain = abs(failed.chain)  # negative once a rewind has made the job history
    return jobs.read(tx, [jobs.chain_ends(tx, [chain])[chain].number])[0]


def _refuse_beside_another(tx: Transaction, last: JobRecord) -> None:
    """A chain has one active link, and a unique key one active job."""
    if last.status in states.ACTIVE:
        raise errors.Conflict(
            f"job {last.job_id} is already trying this again, it is {last.status}"
        )
    if last.unique_key is not None:
        row = tx.row("active_job_by_unique_key", key=last.unique_key)
        if row is not None:
            raise errors.Conflict(
                f"job {row['number']} with the same unique key {last.unique_key!r} is active"
            )
