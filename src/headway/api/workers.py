"""Operations about workers: list them, drain them, say goodbye."""

from typing import Any

from headway.api import access
from headway.api.lease_shapes import DrainBody, WorkerBody
from headway.api.operation import Call, Nothing, Page, operation
from headway.domain import errors
from headway.domain.tokens import Role
from headway.domain.workers import Worker
from headway.scheduler.claim import claims
from headway.scheduler.explain import status
from headway.storage.transaction import Transaction


@operation("GET", "/api/workers", Role.READ, answer=Page[Worker])
def list_workers(call: Call[Nothing, Nothing]) -> Page[Worker]:
    """List known workers and the jobs that they hold."""
    found = call.scheduler.store.read(lambda tx: status.known_workers(call.scheduler, tx))
    return Page(items=found)


@operation("POST", "/api/workers/{id}/drain", Role.ADMIN, body=DrainBody, answer=Worker)
def drain_worker(call: Call[DrainBody, Nothing]) -> Any:
    """Let a worker finish what it holds and take nothing more."""

    def work(tx: Transaction) -> Worker:
        claims.drain(call.scheduler, tx, call.path["id"], drained=call.body.drained)
        return _known(call, tx)

    return call.change(work)


@operation("DELETE", "/api/workers/{id}", Role.WORK, answer=WorkerBody)
def leave(call: Call[Nothing, Nothing]) -> Any:
    """Sign a worker off: its waiting claims are answered, and it is listed no more if it is idle.

    Its name stays that of its token; only an admin who signs it off frees the name.
    """
    worker_id = call.path["id"]

    def work(tx: Transaction) -> WorkerBody:
        access.check_worker(tx, call.principal, worker_id)
        worker = _known(call, tx)
        if worker.built_in and worker.alive:
            raise errors.BuiltInWorker(worker_id)
        owner = tx.row("owner_of_worker", worker_id=worker_id)
        own = owner is not None and owner["token_id"] == call.principal.token_id
        claims.leave(call.scheduler, tx, worker_id, forget=not own)
        return WorkerBody(worker_id=worker_id)

    return call.change(work)


def _known(call: Call[Any, Nothing], tx: Transaction) -> Worker:
    worker_id = call.path["id"]
    known = status.known_workers(call.scheduler, tx)
    found = next((one for one in known if one.worker_id == worker_id), None)
    if found is None:
        raise errors.NotFound("worker", worker_id)
    return found
