"""Work that was done a short while ago is skipped when its turn comes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headway.domain import states
from headway.domain.runs import RunStatus
from headway.scheduler.finish import consequences
from headway.scheduler.finish.ends import Ended
from headway.scheduler.scheduler import Scheduler
from headway.storage import jobs, runs
from headway.storage.engine.transaction import Transaction

if TYPE_CHECKING:
    from headway.scheduler.claim.pick import Candidate


def is_duplicate(tx: Transaction, candidate: "Candidate") -> bool:
    """Whether another job with the same key succeeded inside the window."""
    job = candidate.job
    since = tx.now_ms - int((job.terms.dedup_window_s or 0) * 1000)
    return jobs.has_succeeded_since(tx, job, since)


def skip(scheduler: Scheduler, tx: Transaction, duplicates: "Sequence[Candidate]") -> None:
    """End the jobs as SKIPPED, each with a run that says why."""
    ended = []
    for record in jobs.read(tx, [one.job.number for one in duplicates]):
        window = record.terms.dedup_window_s or 0
        error = f"a job with dedup key {record.dedup_key!r} succeeded in the last {window:g} s"
        run_id = scheduler.new_id(tx.now)
        runs.insert_skipped(tx, [(record, run_id)], error)
        ended.append(
            Ended(
                record=record,
                status=states.SKIPPED,
                run_id=run_id,
                run_status=RunStatus.SKIPPED,
                error=error,
                started_at=tx.now_ms,
            )
        )
    consequences.settle(scheduler, tx, ended)
