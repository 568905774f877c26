"""Operations on runs: list, read, try again."""

from typing import Any

import msgspec

from headway.api import paging
from headway.api.operation import Call, Nothing, Page, operation
from headway.domain import errors
from headway.domain.jobs import Job
from headway.domain.runs import Run, RunStatus
from headway.domain.tokens import Role
from headway.scheduler.change import retry
from headway.scheduler.explain import status
from headway.storage import jobs, run_lists, runs
from headway.storage.slices import Slice
from headway.storage.transaction import Transaction

GOING_ON = "RUNNING"
"""A run that goes on has no status; this word asks for it."""


class RunQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Filters and paging of the list of runs."""

    limit: int = 50
    cursor: str | None = None
    status: str | None = None
    job_id: str | None = None


class RetryBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The new job's priority, if it should differ."""

    priority: int | str | None = None


@operation("GET", "/api/job-runs", Role.READ, query=RunQuery, answer=Page[Run])
def list_runs(call: Call[Nothing, RunQuery]) -> Page[Run]:
    """List runs, newest first."""
    query = call.query
    limit = paging.check_limit(query.limit)
    statuses = _statuses(query.status)
    before = paging.read_cursor(query.cursor)

    def work(tx: Transaction) -> Slice[Run]:
        try:
            number = jobs.find_number(tx, query.job_id) if query.job_id is not None else None
        except errors.NotFound:
            return Slice([], False)
        return run_lists.page(tx, statuses=statuses, number=number, before=before, count=limit)

    return paging.page_of(call.scheduler.store.read(work), lambda run: run.run_id)


def _statuses(text: str | None) -> tuple[RunStatus | None, ...]:
    """Status words with commas between them."""
    words = [word.strip().upper() for word in text.split(",")] if text is not None else []
    known = (*RunStatus, GOING_ON)
    for word in words:
        if word not in known:
            problem = f"{word!r} is not one of {', '.join(known)}"
            raise errors.InvalidRequest("status", problem)
    return tuple(None if word == GOING_ON else RunStatus(word) for word in words)


@operation("GET", "/api/job-runs/{id}", Role.READ, answer=Run)
def get_run(call: Call[Nothing, Nothing]) -> Run:
    """Get one run."""
    return call.scheduler.store.read(lambda tx: runs.view(tx, call.path["id"]))


@operation("POST", "/api/job-runs/{id}/retry", Role.SUBMIT, body=RetryBody, answer=Job, status=201)
def retry_run(call: Call[RetryBody, Nothing]) -> Any:
    """Retry a failed run as a new job with the run's params."""

    def work(tx: Transaction) -> Job:
        number = retry.retry_run(
            call.scheduler, tx, call.path["id"], call.body.priority, call.principal.role
        )
        return status.view(call.scheduler, tx, number)

    return call.change(work)
