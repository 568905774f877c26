"""The leases of runs that ended are consumed, and what that opens is noted."""

from collections.abc import Collection
from typing import NamedTuple

from headway.scheduler.admit import claim_waits, lane_waits
from headway.scheduler.scheduler import Scheduler
from headway.storage import claims, jobs, lanes, leases
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import limits
from headway.storage.manage.limits import Usage
from headway.storage.records import JobRecord


class Released(NamedTuple):
    """A job whose lease is over, and how far it came."""

    record: JobRecord
    progress: str | None


def release(
    scheduler: Scheduler,
    tx: Transaction,
    lease_ids: Collection[str],
    worker_id: str | None = None,
) -> list[Released]:
    """End these leases, of one worker or of all; return the jobs that ran under them, by number.

    A lease that was lost has no job. One of a damaged store may have none either: it ends alone.
    """
    ready, closed, claimed, defined, used, found, over = tx.ask(
        lanes.READY,
        lanes.CLOSED,
        claims.CLAIMED,
        limits.DEFINED,
        limits.USED,
        jobs.of_runs(lease_ids),
        leases.end(lease_ids, worker_id),
    )
    progress = {one.job_number: one.progress for one in over}
    records = {one.number: one for one in found}
    if without_run := progress.keys() - records.keys():  # only a damaged store has them
        records.update((one.number, one) for one in jobs.read(tx, without_run))
    usage = Usage(defined, used)
    if claimed:  # of the locks of these runs, none is free yet
        rooms = limits.rooms_of(tx, scheduler.concurrency, usage)
        claim_waits.keep(scheduler, tx, claimed, rooms)
    lane_waits.note_release(scheduler, tx, ready, closed, usage)
    return [
        Released(records[number], progress[number])
        for number in sorted(progress)
        if number in records
    ]
