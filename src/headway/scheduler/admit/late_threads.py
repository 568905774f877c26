"""Attempts that wait for the thread of an earlier one.

A thread cannot be stopped from outside. A run that is late (its lease expired, or its time was up)
goes on until its handler returns, and until then no further attempt of its job is started here.
"""

from collections.abc import Mapping

from headway.domain import states
from headway.domain.gates import Closed, worker
from headway.domain.values import moments
from headway.scheduler.scheduler import Scheduler
from headway.storage import jobs
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord


def late_chains(scheduler: Scheduler, tx: Transaction) -> Mapping[int, JobRecord]:
    """The late runs' jobs by their chains; most of the time there are none, and nothing is read."""
    numbers = scheduler.threads.late()
    return {one.chain: one for one in jobs.read(tx, numbers)} if numbers else {}


def closed(late: Mapping[int, JobRecord], record: JobRecord) -> Closed | None:
    """Whether a job has to wait for the thread of an earlier attempt."""
    earlier = late.get(record.chain)
    if earlier is None or record.status not in states.WAITING:
        return None
    return worker.still_running(earlier.job_id, moments.maybe_from_millis(earlier.finished_at))
