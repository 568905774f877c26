"""Operations that explain: why a job waits, how the whole is doing."""

from headway.domain.answers import SchedulerStatus, Why
from headway.operations.bound import Call, serves
from headway.protocol import jobs, queue
from headway.protocol.operation import Nothing
from headway.scheduler.explain import status
from headway.storage.engine.transaction import Transaction


@serves(jobs.why)
def why(call: Call[Nothing, Nothing], tx: Transaction) -> Why:
    """Explain why a job is not running: every gate in order, and what keeps it closed."""
    return status.why(call.scheduler, tx, call.path["id"])


@serves(queue.get_scheduler_status)
def get_scheduler_status(call: Call[Nothing, Nothing], tx: Transaction) -> SchedulerStatus:
    """Get an overview: what runs, how much waits, and how the rest ended."""
    return status.status(call.scheduler, tx)
