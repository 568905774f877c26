"""The lines for locks, looked over now and then.

A lock that comes free wakes the first of each line. Where the first cannot use it after all,
because it needs another lock too or was put off, somebody behind it may: this finds them.
"""

from headway.scheduler import settle
from headway.scheduler.scheduler import Scheduler
from headway.storage import records
from headway.storage.events import Chronicle
from headway.storage.transaction import Transaction

MOST_AT_ONCE = 200


def look_over(scheduler: Scheduler) -> None:
    """Let those try who wait for a lock that nobody holds."""
    keys = scheduler.store.read(_free_keys)
    if keys:
        scheduler.store.write(lambda tx: _admit(scheduler, tx, keys))


def _free_keys(tx: Transaction) -> list[str]:
    return [row["key"] for row in tx.rows("free_locks_with_waiters")]


def _admit(scheduler: Scheduler, tx: Transaction, keys: list[str]) -> None:
    rows = tx.rows("some_waiters", keys=records.listed(keys), count=MOST_AT_ONCE)
    chronicle = Chronicle(tx)
    settle.settle(scheduler, tx, chronicle, admit=[row["job_number"] for row in rows])
    chronicle.write()
