"""Operations on runs: list, read, try again."""

from headway.domain import errors
from headway.domain.jobs import Job
from headway.domain.runs import Run, RunStatus
from headway.operations import paging
from headway.operations.bound import Call, serves
from headway.protocol import runs as protocol
from headway.protocol.operation import Nothing, Page
from headway.protocol.runs import RetryBody, RunQuery
from headway.scheduler.change import retry
from headway.scheduler.explain import status
from headway.storage import jobs, runs
from headway.storage.engine.transaction import Transaction
from headway.storage.lists import run_lists

GOING_ON = "RUNNING"
"""A run that goes on has no status; this word asks for it."""


@serves(protocol.list_runs)
def list_runs(call: Call[Nothing, RunQuery], tx: Transaction) -> Page[Run]:
    """List runs, newest first."""
    query = call.query
    limit = paging.check_limit(query.limit)
    statuses = _statuses(query.status)
    before = paging.read_cursor(query.cursor)
    try:
        number = jobs.find_number(tx, query.job_id) if query.job_id is not None else None
    except errors.NotFound:
        return Page(items=[])
    found = run_lists.page(tx, statuses=statuses, number=number, before=before, count=limit)
    return paging.page_of(found, lambda run: run.run_id)


def _statuses(text: str | None) -> tuple[RunStatus | None, ...]:
    """Status words with commas between them."""
    words = [word.strip().upper() for word in text.split(",")] if text is not None else []
    known = (*RunStatus, GOING_ON)
    for word in words:
        if word not in known:
            problem = f"{word!r} is not one of {', '.join(known)}"
            raise errors.InvalidRequest("status", problem)
    return tuple(None if word == GOING_ON else RunStatus(word) for word in words)


@serves(protocol.get_run)
def get_run(call: Call[Nothing, Nothing], tx: Transaction) -> Run:
    """Get one run."""
    return runs.view(tx, call.path["id"])


@serves(protocol.retry_run)
def retry_run(call: Call[RetryBody, Nothing], tx: Transaction) -> Job:
    """Retry a failed run as a new job with the run's params."""
    number = retry.retry_run(
        call.scheduler, tx, call.path["id"], call.body.priority, call.principal.role
    )
    return status.view(call.scheduler, tx, number)
