"""Operations on jobs: submit, list, read, change, cancel."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import msgspec

from headway.domain import errors
from headway.domain.events import Event
from headway.domain.jobs import Job, JobResult
from headway.domain.requests.job_requests import JobPatch, JobRequest
from headway.domain.runs import Run
from headway.domain.values import versions
from headway.operations import access, job_filters, paging
from headway.operations.bound import Answered, Call, map_future, serves, serves_later
from headway.operations.work import children
from headway.protocol import jobs as protocol
from headway.protocol.jobs import (
    Batch,
    BatchAnswer,
    BatchItem,
    CancelBody,
    JobQuery,
    RunsQuery,
    SignalAnswer,
    SignalBody,
    Steps,
)
from headway.protocol.operation import Nothing, Page, Paging
from headway.scheduler.change import cancel as cancelling
from headway.scheduler.change import edit
from headway.scheduler.explain import journals, results, status
from headway.scheduler.programs import signals
from headway.scheduler.submit import submit
from headway.storage import events, jobs
from headway.storage.engine.transaction import Transaction
from headway.storage.lists import job_lists, run_lists

MOST_IN_BATCH = 200_000


@serves_later(protocol.create_job)
def create_job(call: Call[JobRequest, Nothing]) -> "Future[Answered[Job]]":
    """Submit a job; 200 if the same request or its unique key already has one."""
    children.refuse_orphans(call.principal, [call.body])
    request = _with_key(call.body, call.idempotency_key)
    submission = submit.Submission(
        scheduler=call.scheduler,
        request=request,
        check=access.submit_check(call.scheduler, call.principal),
        by=call.principal,
    )
    return map_future(submit.submit_later(submission), _answer_receipt)


def _with_key(request: JobRequest, header: str | None) -> JobRequest:
    """The header is another way to say `idempotency_key`; saying both means saying the same."""
    if header is None or header == request.idempotency_key:
        return request
    if request.idempotency_key is not None:
        raise errors.InvalidRequest(
            "idempotency_key",
            f"the body says {request.idempotency_key!r}, the header Idempotency-Key {header!r}",
        )
    return msgspec.structs.replace(request, idempotency_key=header)


def _answer_receipt(receipt: submit.Receipt) -> Answered[Job]:
    return Answered(receipt.job, 201 if receipt.created else 200)


def _prepared(call: Call[Batch, Nothing]) -> Sequence[JobRequest]:
    wanted: Sequence[JobRequest] = call.body.jobs
    children.refuse_orphans(call.principal, wanted)
    refuse_key(call)
    if not 1 <= len(wanted) <= MOST_IN_BATCH:
        raise errors.InvalidRequest(
            "jobs", f"a batch has 1 to {MOST_IN_BATCH} jobs, not {len(wanted)}"
        )
    return submit.prepared(call.scheduler, wanted)


@serves(protocol.create_jobs, _prepared)
def create_jobs(
    call: Call[Batch, Nothing], tx: Transaction, wanted: Sequence[JobRequest]
) -> BatchAnswer:
    """Submit many jobs, all or nothing; jobs may refer to each other by `ref`."""
    access.check_submits(call.scheduler, tx, call.principal, wanted)
    made = submit.submit_all(call.scheduler, tx, wanted)
    return BatchAnswer(
        jobs=[
            BatchItem(ref=request.ref, job_id=one.job_id, number=one.number)
            for request, one in zip(call.body.jobs, made, strict=True)
        ]
    )


def refuse_key(call: Call[Any, Any]) -> None:
    """A key that would silently mean nothing is a promise not kept."""
    if call.idempotency_key is not None:
        raise errors.InvalidRequest(
            "Idempotency-Key",
            "this header is for single jobs; give each job in the batch its own idempotency_key",
        )


@serves(protocol.list_jobs)
def list_jobs(call: Call[Nothing, JobQuery], tx: Transaction) -> Page[Job]:
    """List jobs, newest first."""
    query = call.query
    limit = paging.check_limit(query.limit)
    wanted = job_filters.read(tx, query, before=paging.read_number(query.cursor))
    found = job_lists.find(tx, wanted, limit + 1)
    shown = status.page(call.scheduler, tx, found.jobs, limit)
    page = paging.page_of(shown, lambda job: job.number)
    if page.next_cursor is None and found.looked_down_to is not None:
        cursor = paging.write_cursor(found.looked_down_to)
        page = msgspec.structs.replace(page, next_cursor=cursor)
    if not wanted.statuses:
        return page
    # What closes a gate just now shows in the status, and the filter uses what is shown.
    matching = [job for job in page.items if job.status in wanted.statuses]
    return msgspec.structs.replace(page, items=matching)


@serves(protocol.get_job)
def get_job(call: Call[Nothing, Nothing], tx: Transaction) -> Job:
    """Get one job, by id or number."""
    access.check_own(tx, call.principal, call.path["id"])
    return status.view(call.scheduler, tx, call.path["id"])


@serves(protocol.change_job)
def change_job(call: Call[JobPatch, Nothing], tx: Transaction) -> Job:
    """Change the params, priority, position or time of a job that no worker has taken."""
    access.check_change(tx, call.principal, "change", [call.path["id"]])
    if call.if_match is not None:
        now = status.view(call.scheduler, tx, call.path["id"])
        versions.check(call.if_match, "job", now.number, now)
    number = edit.edit(call.scheduler, tx, call.path["id"], call.body)
    return status.view(call.scheduler, tx, number)


@serves(protocol.cancel_job)
def cancel_job(call: Call[CancelBody, Nothing], tx: Transaction) -> Job:
    """Cancel a job: at once while it waits, by request or by force while it runs."""
    access.check_own(tx, call.principal, call.path["id"])
    number = cancelling.cancel(
        call.scheduler, tx, call.path["id"], reason=call.body.reason, force=call.body.force
    )
    job = status.view(call.scheduler, tx, number)
    obstacle = cancelling.obstacle(call.scheduler, job) if call.body.force else None
    return job if obstacle is None else msgspec.structs.replace(job, wait_reason=obstacle)


@serves(protocol.list_runs_of_job)
def list_runs_of_job(call: Call[Nothing, RunsQuery], tx: Transaction) -> Page[Run]:
    """List a job's runs, newest first."""
    limit = paging.check_limit(call.query.limit)
    before = paging.read_cursor(call.query.cursor)
    number = jobs.find_number(tx, call.path["id"])
    found = run_lists.page(tx, number=number, before=before, count=limit)
    return paging.page_of(found, lambda run: run.run_id)


@serves(protocol.get_result)
def get_result(call: Call[Nothing, Nothing], tx: Transaction) -> JobResult:
    """Get the result of an ended job; 404 `not_finished` before its end."""
    access.check_own(tx, call.principal, call.path["id"])
    return results.result(tx, call.path["id"])


def _signal(call: Call[SignalBody, Nothing]) -> None:
    signals.check(call.scheduler, call.path["name"], call.body.payload)


@serves(protocol.signal_job, _signal)
def signal_job(call: Call[SignalBody, Nothing], tx: Transaction, _: None) -> SignalAnswer:
    """Send a signal to a job; it is kept until the job waits for it."""
    name = call.path["name"]
    record = signals.send(call.scheduler, tx, call.path["id"], name, call.body.payload)
    return SignalAnswer(job_id=record.job_id, name=name)


@serves(protocol.list_steps)
def list_steps(call: Call[Nothing, Nothing], tx: Transaction) -> Steps:
    """Get the journal of a job: what its program has done, and what it waits for."""
    return Steps(items=list(journals.of_job(tx, jobs.read_one(tx, call.path["id"]))))


@serves(protocol.list_events_of_job)
def list_events_of_job(call: Call[Nothing, Paging], tx: Transaction) -> Page[Event]:
    """List a job's events, oldest first."""
    limit = paging.check_limit(call.query.limit)
    after = paging.read_number(call.query.cursor) or 0
    found = events.of_job(tx, jobs.find_number(tx, call.path["id"]), after, limit + 1)
    return paging.page(found, limit, lambda event: event.seq)
