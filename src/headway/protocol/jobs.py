"""Operations on jobs: submit, list, read, change, cancel, explain."""

from typing import Any

import msgspec

from headway.domain.answers import Why
from headway.domain.events import Event
from headway.domain.jobs import Job, JobResult
from headway.domain.manage.tokens import Role
from headway.domain.requests.action_requests import Action, Refusal
from headway.domain.requests.job_requests import BatchJobRequest, JobPatch, JobRequest
from headway.domain.runs import Run
from headway.domain.steps import Step
from headway.domain.values.moments import Moment
from headway.protocol.operation import MOST_ON_A_PAGE, Opens, Page, Paging, operation


class JobSelection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Filters of jobs; everything that is given must hold."""

    status: str | None = None
    queue: str | None = None
    job_type: str | None = None
    tag: str | None = None
    group_id: str | None = None
    template_id: str | None = None
    parent_id: str | None = None
    name: str | None = None
    search: str | None = None
    since: Moment | None = None
    until: Moment | None = None


class JobQuery(JobSelection, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Filters and paging of the list of jobs."""

    limit: int = 50
    cursor: str | None = None


class RunsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Paging of a job's runs: few jobs have more than fit into one page."""

    limit: int = MOST_ON_A_PAGE
    cursor: str | None = None


class Batch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Many jobs, all or nothing."""

    jobs: list[BatchJobRequest]


class BatchItem(msgspec.Struct, frozen=True, kw_only=True):
    """One job of a batch."""

    ref: str | None
    job_id: str
    number: int


class BatchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The jobs of a batch, in the order in which they were given."""

    jobs: list[BatchItem]


class CancelBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reason, and whether to stop a running job by force."""

    reason: str | None = None
    force: bool = False


class SignalBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a signal says."""

    payload: Any = None


class SignalAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The job that takes the signal: the last of its chain."""

    job_id: str
    name: str


class Steps(msgspec.Struct, frozen=True, kw_only=True):
    """The journal of a job, in order."""

    items: list[Step]


class ActionBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to do to which jobs: those that a filter names, or those with these ids."""

    action: Action
    filter: JobSelection | None = None
    """Without a status, it names the jobs in those that the action concerns."""
    ids: tuple[str | int, ...] | None = None
    priority: int | str | None = None
    reason: str | None = None
    dry_run: bool = False
    cursor: str | None = None


class ActionReport(msgspec.Struct, frozen=True, kw_only=True):
    """How many jobs were meant, how many of them changed, and which were refused."""

    matched: int
    changed: int
    refused: list[Refusal]
    """The first of them."""
    refused_count: int
    next_cursor: str | None = None
    """The time of one request was up: the same request with this cursor goes on."""


create_job = operation(
    "POST",
    "/api/jobs",
    Role.SUBMIT,
    body=JobRequest,
    answer=Job,
    status=201,
    also=(200,),
    opens=Opens.LATER,
    for_workers=True,
)
create_jobs = operation(
    "POST",
    "/api/jobs/batch",
    Role.SUBMIT,
    body=Batch,
    answer=BatchAnswer,
    status=201,
    opens=Opens.WRITE_BESIDE,
    for_workers=True,
)
list_jobs = operation("GET", "/api/jobs", Role.READ, query=JobQuery, answer=Page[Job])
get_job = operation("GET", "/api/jobs/{id}", Role.READ, answer=Job, for_workers=True)
change_job = operation("PATCH", "/api/jobs/{id}", Role.SUBMIT, body=JobPatch, answer=Job)
cancel_job = operation(
    "POST",
    "/api/jobs/{id}/cancel",
    Role.SUBMIT,
    body=CancelBody,
    answer=Job,
    for_workers=True,
    one_at_a_time=True,
)
list_runs_of_job = operation(
    "GET", "/api/jobs/{id}/runs", Role.READ, query=RunsQuery, answer=Page[Run]
)
get_result = operation(
    "GET", "/api/jobs/{id}/result", Role.READ, answer=JobResult, for_workers=True
)
list_events_of_job = operation(
    "GET", "/api/jobs/{id}/events", Role.READ, query=Paging, answer=Page[Event]
)
signal_job = operation(
    "POST",
    "/api/jobs/{id}/signals/{name}",
    Role.SUBMIT,
    body=SignalBody,
    answer=SignalAnswer,
    status=202,
)
list_steps = operation("GET", "/api/jobs/{id}/steps", Role.READ, answer=Steps)
act_on_jobs = operation(
    "POST",
    "/api/jobs/actions",
    Role.SUBMIT,
    body=ActionBody,
    answer=ActionReport,
    opens=Opens.BLOCKING,
    one_at_a_time=True,
    takes_its_time=True,
)
why = operation("GET", "/api/jobs/{id}/why", Role.READ, answer=Why)
