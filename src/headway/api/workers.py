"""Operations about workers: list them, say goodbye."""

from typing import Any

from headway.api import access
from headway.api.lease_shapes import WorkerBody
from headway.api.operation import Call, Nothing, Page, operation
from headway.domain.tokens import Role
from headway.domain.workers import Worker
from headway.scheduler import claims, explain
from headway.storage.transaction import Transaction


@operation("GET", "/api/workers", Role.READ, answer=Page[Worker])
def list_workers(call: Call[Nothing, Nothing]) -> Page[Worker]:
    """List known workers and the jobs that they hold."""
    found = call.scheduler.store.read(lambda tx: explain.known_workers(call.scheduler, tx))
    return Page(items=found)


@operation("DELETE", "/api/workers/{id}", Role.WORK, answer=WorkerBody)
def leave(call: Call[Nothing, Nothing]) -> Any:
    """Sign a worker off: its waiting claims are answered, and it is forgotten if it is idle."""

    def work(tx: Transaction) -> WorkerBody:
        access.check_worker(tx, call.principal, call.path["id"])
        claims.leave(call.scheduler, tx, call.path["id"])
        return WorkerBody(worker_id=call.path["id"])

    return call.scheduler.store.write_later(work)
