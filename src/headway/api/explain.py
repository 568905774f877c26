"""Operations that explain: why a job waits, how the whole is doing."""

from headway.api.operation import Call, Nothing, operation
from headway.domain.answers import SchedulerStatus, Why
from headway.domain.tokens import Role
from headway.scheduler.explain import status


@operation("GET", "/api/jobs/{id}/why", Role.READ, answer=Why)
def why(call: Call[Nothing, Nothing]) -> Why:
    """Explain why a job is not running: every gate in order, and what keeps it closed."""
    return call.scheduler.store.read(lambda tx: status.why(call.scheduler, tx, call.path["id"]))


@operation("GET", "/api/scheduler/status", Role.READ, answer=SchedulerStatus)
def get_scheduler_status(call: Call[Nothing, Nothing]) -> SchedulerStatus:
    """Get an overview: what runs, how much waits, and how the rest ended."""
    return call.scheduler.store.read(lambda tx: status.status(call.scheduler, tx))
