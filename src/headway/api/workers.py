"""The operation that lists workers."""

from headway.api.operation import Call, Nothing, Page, operation
from headway.domain.tokens import Role
from headway.domain.workers import Worker
from headway.scheduler import explain


@operation("GET", "/api/workers", Role.READ, answer=Page[Worker])
def list_workers(call: Call[Nothing, Nothing]) -> Page[Worker]:
    """Every worker that is known, with what it holds."""
    found = call.scheduler.store.read(lambda tx: explain.known_workers(call.scheduler, tx))
    return Page(items=found)
