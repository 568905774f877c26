"""Calls about the whole: the queue, the graph, the history."""

from collections.abc import Sequence

from headway.api.operation import Page, Paging
from headway.api.queue import PauseBody, ReorderBody
from headway.client.calls.call import Call, JobRef, words
from headway.domain.answers import Graph, QueueStatus, SchedulerStatus
from headway.domain.events import Event
from headway.domain.jobs import Job


def get_scheduler_status() -> Call[SchedulerStatus]:
    """Get an overview: what runs, how much waits, and how the rest ended."""
    return Call("GET", "/api/scheduler/status", SchedulerStatus)


def list_queue(paging: Paging | None = None) -> Call[Page[Job]]:
    """List waiting jobs in the order in which they would start."""
    return Call("GET", "/api/queue", Page[Job], query=words(paging))


def get_queue_status() -> Call[QueueStatus]:
    """Count what waiting jobs wait for, and list what is paused."""
    return Call("GET", "/api/queue/status", QueueStatus)


def pause_queue(queue: str | None = None, job_type: str | None = None) -> Call[QueueStatus]:
    """Pause everything, a queue or a job type: no new jobs start."""
    return Call("POST", "/api/queue/pause", QueueStatus, PauseBody(queue=queue, job_type=job_type))


def resume_queue(queue: str | None = None, job_type: str | None = None) -> Call[QueueStatus]:
    """Lift one pause, or all of them."""
    return Call("POST", "/api/queue/resume", QueueStatus, PauseBody(queue=queue, job_type=job_type))


def reorder_queue(order: Sequence[JobRef]) -> Call[Page[Job]]:
    """Reorder waiting jobs."""
    return Call("POST", "/api/queue/reorder", Page[Job], ReorderBody(order=list(order)))


def get_graph(
    *, everything: bool = False, job: JobRef | None = None, max_depth: int | None = None
) -> Call[Graph]:
    """What is waiting on what."""
    given = {"all": everything or None, "job": job, "max_depth": max_depth}
    query = {name: value for name, value in given.items() if value is not None}
    return Call("GET", "/api/graph", Graph, query=query)


def list_events(after: int = 0, limit: int = 50) -> Call[Page[Event]]:
    """List the history, oldest first."""
    return Call("GET", "/api/events", Page[Event], query={"after": after, "limit": limit})


def last_events(count: int = 20) -> Call[Page[Event]]:
    """List the end of the history, oldest first."""
    return Call("GET", "/api/events", Page[Event], query={"last": count})
