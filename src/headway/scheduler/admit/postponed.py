"""Jobs whose gates are still to be looked at because others ended: too many for one transaction.

They are written down in the transaction in which the others ended, and the timekeeper goes on.
"""

from collections.abc import Collection

from headway.storage.admit import postponed
from headway.storage.engine.transaction import DUE, Transaction

AT_ONCE = 1000
"""How many jobs are looked at in one transaction because of the ends of others."""


def put_off(tx: Transaction, numbers: Collection[int]) -> None:
    """Leave these jobs to later transactions."""
    postponed.insert(tx, numbers)
    tx.wake(DUE)


def take_up(tx: Transaction) -> list[int]:
    """Some of the jobs that were left, which are left no more."""
    return postponed.take(tx, AT_ONCE)
