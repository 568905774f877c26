"""The registered workers, and which of them are alive."""

from headway.domain.workers import Worker
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import workers
from headway.storage.manage.workers import WorkerRecord

TTLS_UNTIL_GONE = 3
"""A worker that was not heard of for so many lease times is not alive."""


def known_workers(scheduler: Scheduler, tx: Transaction, *, with_jobs: bool = True) -> list[Worker]:
    """Every registered worker, whether it is alive, and which jobs it holds if wanted."""
    silent = silent_since(scheduler, tx)
    return workers.all_known(tx, silent, lambda one: _is_there(scheduler, one), with_jobs=with_jobs)


def is_alive(scheduler: Scheduler, tx: Transaction, worker: WorkerRecord) -> bool:
    """Whether a built-in worker has not left, is there, and was heard of lately."""
    known = worker.left_at is None and worker.last_seen > silent_since(scheduler, tx)
    return known and _is_there(scheduler, worker)


def silent_since(scheduler: Scheduler, tx: Transaction) -> int:
    """A worker that was not heard of since then is not alive."""
    return tx.now_ms - int(TTLS_UNTIL_GONE * scheduler.rules.lease_ttl_s * 1000)


def _is_there(scheduler: Scheduler, worker: WorkerRecord) -> bool:
    """A built-in worker is gone with its process, which no other server waits for."""
    if not worker.built_in or worker.worker_id == scheduler.server:
        return True
    return scheduler.is_process_alive(worker.host, worker.pid, worker.process_started)
