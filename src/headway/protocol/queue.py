"""Operations on the queue as a whole, and on a job's place in it."""

import msgspec

from headway.domain.answers import Graph, QueueStatus, RewindReport, SchedulerStatus
from headway.domain.graph import DEFAULT_DEPTH
from headway.domain.jobs import Job
from headway.domain.manage.tokens import Role
from headway.protocol.operation import Page, Paging, operation


class MoveBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where to move the job; give one of the three."""

    before: str | int | None = None
    after: str | int | None = None
    queue_position: int | None = None


class ReasonBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reason."""

    reason: str | None = None


class StepName(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry of a journal."""

    name: str
    index: int = 0


class RewindBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether to rerun a job that succeeded, and from which step of its journal on."""

    force: bool = False
    from_step: StepName | None = None


class RewindQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether a job that succeeded would be rerun."""

    force: bool = False


class PauseBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A queue or a job type; nothing means everything."""

    queue: str | None = None
    job_type: str | None = None


class ReorderBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Waiting jobs, in the order in which they should start."""

    order: list[str | int]


class GraphQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of the graph; `all` needs no value."""

    all: bool = False
    job: str | int | None = None
    max_depth: int = DEFAULT_DEPTH


move_job = operation(
    "POST",
    "/api/jobs/{id}/move",
    Role.SUBMIT,
    body=MoveBody,
    answer=Job,
    safe_to_repeat=True,
    one_at_a_time=True,
)
approve_job = operation(
    "POST", "/api/jobs/{id}/approve", Role.SUBMIT, body=ReasonBody, answer=Job, one_at_a_time=True
)
reject_job = operation(
    "POST", "/api/jobs/{id}/reject", Role.SUBMIT, body=ReasonBody, answer=Job, one_at_a_time=True
)
preview_retry = operation(
    "GET", "/api/jobs/{id}/retry", Role.SUBMIT, query=RewindQuery, answer=RewindReport
)
retry_job = operation(
    "POST",
    "/api/jobs/{id}/retry",
    Role.SUBMIT,
    body=RewindBody,
    answer=RewindReport,
    one_at_a_time=True,
)
list_queue = operation("GET", "/api/queue", Role.READ, query=Paging, answer=Page[Job])
get_queue_status = operation("GET", "/api/queue/status", Role.READ, answer=QueueStatus)
pause_queue = operation(
    "POST",
    "/api/queue/pause",
    Role.ADMIN,
    body=PauseBody,
    answer=QueueStatus,
    safe_to_repeat=True,
)
resume_queue = operation(
    "POST",
    "/api/queue/resume",
    Role.ADMIN,
    body=PauseBody,
    answer=QueueStatus,
    safe_to_repeat=True,
)
reorder_queue = operation(
    "POST",
    "/api/queue/reorder",
    Role.SUBMIT,
    body=ReorderBody,
    answer=Page[Job],
    safe_to_repeat=True,
    one_at_a_time=True,
)
get_graph = operation("GET", "/api/graph", Role.READ, query=GraphQuery, answer=Graph)
get_scheduler_status = operation("GET", "/api/scheduler/status", Role.READ, answer=SchedulerStatus)
