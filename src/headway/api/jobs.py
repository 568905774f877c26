"""Operations on jobs: submit, list, read, change, cancel."""

from collections.abc import Sequence
from typing import Any

import msgspec

from headway.api import access, children, paging
from headway.api.operation import Answered, Call, Nothing, Page, Paging, map_future, operation
from headway.domain import errors, states
from headway.domain.events import Event
from headway.domain.jobs import Job, JobResult
from headway.domain.requests.job_requests import BatchJobRequest, JobPatch, JobRequest
from headway.domain.runs import Run
from headway.domain.states import JobStatus
from headway.domain.tokens import Role
from headway.domain.values import versions
from headway.domain.values.moments import Moment
from headway.scheduler.change import cancel as cancelling
from headway.scheduler.change import queue_control
from headway.scheduler.explain import results, status
from headway.scheduler.submit import submit
from headway.storage import events, job_lists, jobs, run_lists
from headway.storage.job_lists import JobFilter
from headway.storage.slices import Slice
from headway.storage.transaction import Manner, Transaction

MOST_IN_BATCH = 200_000


class JobQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Filters and paging of the list of jobs."""

    limit: int = 50
    cursor: str | None = None
    status: str | None = None
    queue: str | None = None
    job_type: str | None = None
    tag: str | None = None
    group_id: str | None = None
    template_id: str | None = None
    since: Moment | None = None


class RunsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Paging of a job's runs: few jobs have more than fit into one page."""

    limit: int = paging.MOST
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


@operation(
    "POST",
    "/api/jobs",
    Role.SUBMIT,
    body=JobRequest,
    answer=Job,
    status=201,
    also=(200,),
    for_workers=True,
)
def create_job(call: Call[JobRequest, Nothing]) -> Any:
    """Submit a job; 200 if the same request or its unique key already has one."""
    children.refuse_orphans(call.principal, [call.body])
    request = _with_key(call.body, call.idempotency_key)
    wish = submit.Wish(
        scheduler=call.scheduler,
        request=request,
        check=access.submit_check(call.scheduler, call.principal, request),
        by=call.principal,
    )
    return map_future(submit.submit_later(wish), _answer_receipt)


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


def _answer_receipt(receipt: submit.Receipt) -> Answered:
    return Answered(receipt.job, 201 if receipt.created else 200)


@operation(
    "POST",
    "/api/jobs/batch",
    Role.SUBMIT,
    body=Batch,
    answer=BatchAnswer,
    status=201,
    for_workers=True,
)
def create_jobs(call: Call[Batch, Nothing]) -> Any:
    """Submit many jobs, all or nothing; jobs may refer to each other by `ref`."""
    wanted: Sequence[JobRequest] = call.body.jobs
    children.refuse_orphans(call.principal, wanted)
    refuse_key(call)
    if not 1 <= len(wanted) <= MOST_IN_BATCH:
        raise errors.InvalidRequest(
            "jobs", f"a batch has 1 to {MOST_IN_BATCH} jobs, not {len(wanted)}"
        )

    wanted = submit.prepared(call.scheduler, wanted)

    def work(tx: Transaction) -> BatchAnswer:
        access.check_submits(call.scheduler, tx, call.principal, wanted)
        made = submit.submit_all(call.scheduler, tx, wanted)
        return BatchAnswer(
            jobs=[
                BatchItem(ref=request.ref, job_id=one.job_id, number=one.number)
                for request, one in zip(call.body.jobs, made, strict=True)
            ]
        )

    return call.change(work, Manner.BESIDE)


def refuse_key(call: Call[Any, Any]) -> None:
    """A key that would silently mean nothing is a promise not kept."""
    if call.idempotency_key is not None:
        raise errors.InvalidRequest(
            "Idempotency-Key",
            "this header is for single jobs; give each job in the batch its own idempotency_key",
        )


@operation("GET", "/api/jobs", Role.READ, query=JobQuery, answer=Page[Job])
def list_jobs(call: Call[Nothing, JobQuery]) -> Page[Job]:
    """List jobs, newest first."""
    query = call.query
    limit = paging.check_limit(query.limit)
    wanted = JobFilter(
        statuses=_statuses(query.status),
        queue=query.queue,
        job_type=query.job_type,
        tag=query.tag,
        group_id=query.group_id,
        template_id=query.template_id,
        since=query.since,
        before_number=paging.read_number(query.cursor),
    )

    def work(tx: Transaction) -> Slice[Job]:
        rows = job_lists.rows(tx, wanted, limit + 1)
        return status.page(call.scheduler, tx, rows, limit)

    page = paging.page_of(call.scheduler.store.read(work), lambda job: job.number)
    if not wanted.statuses:
        return page
    # What closes a gate just now shows in the status, and the filter goes by what is shown.
    shown = [job for job in page.items if job.status in wanted.statuses]
    return msgspec.structs.replace(page, items=shown)


def _statuses(text: str | None) -> tuple[JobStatus, ...]:
    """Status words with commas between them; `active` and `ended` stand for several."""
    if text is None:
        return ()
    found: list[JobStatus] = []
    for word in text.split(","):
        if word.strip().lower() == "active":
            found += sorted(states.ACTIVE)
        elif word.strip().lower() == "ended":
            found += sorted(states.TERMINAL)
        else:
            try:
                found.append(states.read(word))
            except ValueError:
                known = ", ".join(JobStatus)
                raise errors.InvalidRequest("status", f"{word!r} is not one of {known}") from None
    return tuple(found)


@operation("GET", "/api/jobs/{id}", Role.READ, answer=Job, for_workers=True)
def get_job(call: Call[Nothing, Nothing]) -> Job:
    """Get one job, by id or number."""

    def work(tx: Transaction) -> Job:
        access.check_own(tx, call.principal, call.path["id"])
        return status.view(call.scheduler, tx, call.path["id"])

    return call.scheduler.store.read(work)


@operation("PATCH", "/api/jobs/{id}", Role.SUBMIT, body=JobPatch, answer=Job)
def change_job(call: Call[JobPatch, Nothing]) -> Any:
    """Change the params, priority, position or time of a job that no worker has taken."""

    def work(tx: Transaction) -> Job:
        access.check_change(tx, call.principal, "change", [call.path["id"]])
        if call.if_match is not None:
            now = status.view(call.scheduler, tx, call.path["id"])
            versions.check(call.if_match, "job", now.number, now)
        number = queue_control.change(call.scheduler, tx, call.path["id"], call.body)
        return status.view(call.scheduler, tx, number)

    return call.change(work)


@operation(
    "POST", "/api/jobs/{id}/cancel", Role.SUBMIT, body=CancelBody, answer=Job, for_workers=True
)
def cancel_job(call: Call[CancelBody, Nothing]) -> Any:
    """Cancel a job: at once while it waits, by request or by force while it runs."""

    def work(tx: Transaction) -> Job:
        access.check_own(tx, call.principal, call.path["id"])
        number = cancelling.cancel(
            call.scheduler, tx, call.path["id"], reason=call.body.reason, force=call.body.force
        )
        job = status.view(call.scheduler, tx, number)
        obstacle = cancelling.obstacle(call.scheduler, job) if call.body.force else None
        return job if obstacle is None else msgspec.structs.replace(job, wait_reason=obstacle)

    return call.change(work)


@operation("GET", "/api/jobs/{id}/runs", Role.READ, query=RunsQuery, answer=Page[Run])
def list_runs_of_job(call: Call[Nothing, RunsQuery]) -> Page[Run]:
    """List a job's runs, newest first."""
    limit = paging.check_limit(call.query.limit)
    before = paging.read_cursor(call.query.cursor)

    def work(tx: Transaction) -> Slice[Run]:
        number = jobs.find_number(tx, call.path["id"])
        return run_lists.page(tx, number=number, before=before, count=limit)

    return paging.page_of(call.scheduler.store.read(work), lambda run: run.run_id)


@operation("GET", "/api/jobs/{id}/result", Role.READ, answer=JobResult, for_workers=True)
def get_result(call: Call[Nothing, Nothing]) -> JobResult:
    """Get the result of an ended job; 404 `not_finished` before its end."""

    def work(tx: Transaction) -> JobResult:
        access.check_own(tx, call.principal, call.path["id"])
        return results.result(tx, call.path["id"])

    return call.scheduler.store.read(work)


@operation("GET", "/api/jobs/{id}/events", Role.READ, query=Paging, answer=Page[Event])
def list_events_of_job(call: Call[Nothing, Paging]) -> Page[Event]:
    """List a job's events, oldest first."""
    limit = paging.check_limit(call.query.limit)
    after = paging.read_number(call.query.cursor) or 0

    def work(tx: Transaction) -> list[Event]:
        return events.of_job(tx, jobs.find_number(tx, call.path["id"]), after, limit + 1)

    return paging.page(call.scheduler.store.read(work), limit, lambda event: event.seq)
