"""Operations on runs: list, read, try again."""

import msgspec

from headway.domain.jobs import Job
from headway.domain.manage.tokens import Role
from headway.domain.runs import Run
from headway.protocol.operation import Page, operation


class RunQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Filters and paging of the list of runs."""

    limit: int = 50
    cursor: str | None = None
    status: str | None = None
    job_id: str | None = None


class RetryBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The new job's priority, if it should differ."""

    priority: int | str | None = None


list_runs = operation("GET", "/api/job-runs", Role.READ, query=RunQuery, answer=Page[Run])
get_run = operation("GET", "/api/job-runs/{id}", Role.READ, answer=Run)
retry_run = operation(
    "POST", "/api/job-runs/{id}/retry", Role.SUBMIT, body=RetryBody, answer=Job, status=201
)
