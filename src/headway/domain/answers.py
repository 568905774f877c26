"""What questions about the whole are answered with: why, status, rewinds, the graph."""

from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from headway.domain.gates import Blocker, FullLimit, Gate
from headway.domain.jobs import Mode, Policy
from headway.domain.manage.reservations import Reservation
from headway.domain.manage.tokens import Role
from headway.domain.states import JobStatus


class GateState(StrEnum):
    """The state of a gate for one job; an ended job may never have reached some."""

    OPEN = "open"
    CLOSED = "closed"
    NOT_REACHED = "not_reached"


class GateRow(msgspec.Struct, frozen=True, kw_only=True):
    """One gate, and what keeps it closed."""

    gate: Gate
    state: GateState
    detail: str | None = None
    blockers: tuple[Blocker, ...] = ()
    full_limits: tuple[FullLimit, ...] | msgspec.UnsetType = msgspec.UNSET
    """Only at the gate `limits`: those without room, in the order of the detail."""


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """Why a job is not running: always nine gates, in order."""

    job_id: str
    number: int
    name: str | None = None
    status: JobStatus
    startable: bool
    gates: tuple[GateRow, ...]
    ahead: int
    start_by: datetime | None = None
    """When a job that waits ends CANCELLED unless it has started."""


class CurrentJob(msgspec.Struct, frozen=True, kw_only=True):
    """A running job."""

    job_id: str
    number: int
    job_type: str
    queue: str
    worker_id: str
    started_at: datetime


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """How many jobs have ended, by status."""

    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0
    skipped: int = 0
    timeout: int = 0
    blocked: int = 0


class Cleaned(msgspec.Struct, frozen=True, kw_only=True):
    """What the last pass over everything removed that was older than it is kept."""

    at: datetime
    kept_s: float
    jobs: int
    runs: int
    records: int


class SchedulerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """An overview. It is running while a worker is alive."""

    running: bool
    current_jobs: tuple[CurrentJob, ...]
    queue_length: int
    totals: Totals
    active_reservation: Reservation | None
    recovery: dict[str, Any] | None
    cleaned: Cleaned | None = None
    """What ended long ago and was removed by itself, when that last happened."""


class RewindReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a rewind did; every job is named by its id."""

    requested_job: str
    retry_root: str
    last_successful_point: tuple[str, ...]
    retry_set: tuple[str, ...]
    reset: tuple[str, ...]
    restarted: tuple[str, ...]


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A job in the graph; status words are lower-case here."""

    id: str
    number: int
    status: str
    command: str
    name: str | msgspec.UnsetType = msgspec.UNSET
    wait: str | None = None
    locks: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    pinned: str | msgspec.UnsetType = msgspec.UNSET


class AfterEdge(msgspec.Struct, frozen=True, kw_only=True):
    """How one job depends on another."""

    policy: Policy


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    """A job depends on another, on a group, or on an artifact that no job makes, or is its parent.

    `status` is the last link's, where a retry has taken over from the job that is named.
    """

    source: str = msgspec.field(name="from")
    to: str
    after: AfterEdge | msgspec.UnsetType = msgspec.UNSET
    group: str | msgspec.UnsetType = msgspec.UNSET
    """The name of a group that the job comes after, or its id: then `to` is `group:<id>`."""
    artifact: str | msgspec.UnsetType = msgspec.UNSET
    state: str | msgspec.UnsetType = msgspec.UNSET
    status: str | msgspec.UnsetType = msgspec.UNSET
    child: bool | msgspec.UnsetType = msgspec.UNSET
    """Whether the handler of the one submitted the other."""


class Graph(msgspec.Struct, frozen=True, kw_only=True):
    """What is waiting on what."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()


class Paused(msgspec.Struct, frozen=True, kw_only=True):
    """One pause: of everything, a queue or a job type."""

    queue: str | None
    job_type: str | None
    since: datetime


class QueueCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many jobs of a queue wait for the same kind of thing, and since when the oldest has."""

    queue: str
    status: JobStatus
    reason: str
    count: int
    oldest: datetime


class QueueStatus(msgspec.Struct, frozen=True, kw_only=True):
    """An overview of the queue: `length` is current, `waiting` was counted at `as_of`."""

    length: int
    as_of: datetime
    paused: tuple[Paused, ...]
    waiting: tuple[QueueCount, ...]


class LimitView(msgspec.Struct, frozen=True, kw_only=True):
    """A limit, how much of it is in use, and how much started within its window."""

    name: str
    size: int | None
    rate: str | None
    used: int
    started: int | None = None


class LockHolder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a lock."""

    job_id: str
    number: int
    mode: Mode
    since: datetime


class LockView(msgspec.Struct, frozen=True, kw_only=True):
    """A lock that is held or waited for."""

    key: str
    holders: tuple[LockHolder, ...]
    waiting: int


class MarkerView(msgspec.Struct, frozen=True, kw_only=True):
    """A custom artifact that is present, and the job that produced it, if one did."""

    artifact: str
    job_id: str | None
    created_at: datetime


class JobType(msgspec.Struct, frozen=True, kw_only=True):
    """A type of jobs that can run here: what it does, and its params as a JSON schema.

    `form` is null for handlers that only another process has.
    """

    job_type: str
    description: str | None
    form: dict[str, Any] | None
    workers: int
    """How many live workers take it."""


class DashboardCode(msgspec.Struct, frozen=True, kw_only=True):
    """A code that lets a browser in once, and for how long."""

    code: str
    expires_in_s: float
    session_lasts_s: float


class DirectAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the handler returned."""

    result: Any
    waited_ms: int
    duration_ms: int


class Me(msgspec.Struct, frozen=True, kw_only=True):
    """The caller as the server knows it, and the server's clock."""

    name: str
    role: Role
    expires_at: datetime | None
    now: datetime
