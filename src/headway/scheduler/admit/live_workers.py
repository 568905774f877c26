"""The registered workers, and which of them are alive."""

from headway.domain.workers import Worker
from headway.scheduler.scheduler import Scheduler
from headway.storage import workers
from headway.storage.transaction import Row, Transaction

TTLS_UNTIL_GONE = 3
"""A worker that was not heard of for so many lease times is not alive."""


def known_workers(scheduler: Scheduler, tx: Transaction, *, with_jobs: bool = True) -> list[Worker]:
    """Every registered worker, whether it is alive, and which jobs it holds if wanted."""
    silent = silent_since(scheduler, tx)
    return workers.all_known(tx, silent, lambda row: _is_there(scheduler, row), with_jobs=with_jobs)


def is_alive(scheduler: Scheduler, tx: Transaction, row: Row) -> bool:
    """Whether a built-in worker has not left, is there, and was heard of lately."""
    known = row["left_at"] is None and row["last_seen"] > silent_since(scheduler, tx)
    return known and _is_there(scheduler, row)


def silent_since(scheduler: Scheduler, tx: Transaction) -> int:
    """A worker that was not heard of since then is not alive."""
    return tx.now_ms - int(TTLS_UNTIL_GONE * scheduler.rules.lease_ttl_s * 1000)


def _is_there(scheduler: Scheduler, row: Row) -> bool:
    """A built-in worker is gone with its process, which no other server waits for."""
    if not row["built_in"] or row["worker_id"] == scheduler.server:
        return True
    return scheduler.is_process_alive(row["host"], row["pid"], row["process_started"])
