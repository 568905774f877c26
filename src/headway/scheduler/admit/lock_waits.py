"""Ready jobs that wait from the moment at which others take their locks."""

from collections.abc import Collection, Sequence

from headway.scheduler.admit import claim_waits, lane_waits, lock_queues
from headway.scheduler.scheduler import Scheduler
from headway.storage import jobs
from headway.storage.engine.transaction import Transaction
from headway.storage.records import Head, JobRecord


def behind(scheduler: Scheduler, tx: Transaction, takers: Sequence[Head]) -> Collection[int]:
    """Ready jobs that must wait for locks once these have taken theirs.

    What closed their lanes before becomes part of what they waited on.
    """
    taken = [lock for one in takers if one.gated for lock in one.terms.locks]
    if not taken:
        return ()
    numbers = {one.number for one in takers}
    found: dict[int, JobRecord] = {}
    more = lock_queues.ready_behind(tx, taken, numbers)
    while more:
        new = jobs.read(tx, more)
        found |= {one.number: one for one in new}
        more = lock_queues.shared_behind(tx, new) - found.keys() - numbers
    if found:
        lane_waits.note(scheduler, tx)
        lane_waits.keep_met(tx, list(found.values()))
    else:
        claim_waits.note(scheduler, tx)
    return found.keys()
