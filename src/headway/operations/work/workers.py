"""Operations about workers: list them, drain them, say goodbye."""

from typing import Any

from headway.domain import errors
from headway.domain.answers import JobType
from headway.domain.workers import Worker
from headway.operations import access
from headway.operations.bound import Call, serves
from headway.protocol import work as protocol
from headway.protocol.operation import Nothing, Page
from headway.protocol.work_shapes import DrainBody, WorkerBody
from headway.scheduler.claim import claims
from headway.scheduler.explain import job_types, status
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import workers


@serves(protocol.list_workers)
def list_workers(call: Call[Nothing, Nothing], tx: Transaction) -> Page[Worker]:
    """List known workers and the jobs that they hold."""
    return Page(items=status.known_workers(call.scheduler, tx))


@serves(protocol.list_job_types)
def list_job_types(call: Call[Nothing, Nothing], tx: Transaction) -> Page[JobType]:
    """List the types of jobs that this server or a live worker knows, with their params."""
    return Page(items=job_types.known(call.scheduler, tx))


@serves(protocol.drain_worker)
def drain_worker(call: Call[DrainBody, Nothing], tx: Transaction) -> Worker:
    """Let a worker finish what it holds and take nothing more."""
    claims.drain(call.scheduler, tx, call.path["id"], drained=call.body.drained)
    return _known(call, tx)


@serves(protocol.leave)
def leave(call: Call[Nothing, Nothing], tx: Transaction) -> WorkerBody:
    """Sign a worker off: its waiting claims are answered, and it is listed no more if it is idle.

    Its name stays that of its token; only an admin who signs it off frees the name.
    """
    worker_id = call.path["id"]
    access.check_worker(tx, call.principal, worker_id)
    worker = _find(call, tx)
    owner = workers.owner(tx, worker_id)
    own = owner is not None and owner.token_id == call.principal.token_id
    if worker is None and (owner is None or own):  # one that signed off still has its name
        raise errors.NotFound("worker", worker_id)
    if worker is not None and worker.built_in and worker.alive:
        raise errors.BuiltInWorker(worker_id)
    claims.leave(call.scheduler, tx, worker_id, forget=not own)
    return WorkerBody(worker_id=worker_id)


def _known(call: Call[Any, Nothing], tx: Transaction) -> Worker:
    found = _find(call, tx)
    if found is None:
        raise errors.NotFound("worker", call.path["id"])
    return found


def _find(call: Call[Any, Nothing], tx: Transaction) -> Worker | None:
    known = status.known_workers(call.scheduler, tx)
    return next((one for one in known if one.worker_id == call.path["id"]), None)
