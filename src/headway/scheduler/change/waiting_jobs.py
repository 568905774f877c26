"""What changes of waiting jobs share: the job is still waiting, and its gates are checked again."""

from collections.abc import Collection

from headway.domain import errors, states
from headway.scheduler.admit import lock_queues
from headway.scheduler.finish import consequences
from headway.scheduler.scheduler import Scheduler
from headway.storage import jobs
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord


def read(tx: Transaction, reference: str | int) -> JobRecord:
    """A job that no worker has claimed."""
    record = jobs.read_one(tx, reference)
    check(record)
    return record


def check(record: JobRecord) -> None:
    """Refuse a job that a worker has taken."""
    if record.status not in states.WAITING:
        raise errors.AlreadyClaimed(record.job_id, record.status)


def admit_again(scheduler: Scheduler, tx: Transaction, changed: Collection[JobRecord]) -> None:
    """Check the gates again; jobs behind these in a queue for a lock may start."""
    numbers = [record.number for record in changed]
    consequences.admit_or_end(scheduler, tx, numbers, freed=lock_queues.keys_of(changed))
