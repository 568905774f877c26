"""Log folders without an owner, left by a server that was killed in a direct request."""

import itertools
import shutil
from collections.abc import Iterator
from functools import partial

from headway.files import log_files
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import reservations
from headway.storage.upkeep import retention

BATCH = 500
KEPT_S = 3600.0
"""What was written to within an hour may belong to a run that is about to be recorded."""


def steps(scheduler: Scheduler, older_than_s: float) -> Iterator[int]:
    """Remove the folders that no run and no direct request knows; some at a time, and how many."""
    until = scheduler.store.read(partial(_until, older_than_s=older_than_s))
    names = log_files.names(scheduler.data)
    while some := list(itertools.islice(names, BATCH)):
        known = scheduler.store.read(partial(retention.known_log_folders, names=some))
        removed = 0
        for name in set(some) - known:
            folder = scheduler.data / log_files.folder(name)
            if log_files.last_written(folder) <= until:
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
        yield removed


def _until(tx: Transaction, *, older_than_s: float) -> float:
    """In seconds. A direct request that goes on writes after its reservation was made."""
    quiet = tx.now.timestamp() - max(older_than_s, KEPT_S)
    held = reservations.active(tx)
    return quiet if held is None else min(quiet, held.created_at.timestamp())
