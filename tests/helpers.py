"""Drives a scheduler by hand: a clock that is moved, jobs that are claimed and finished."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from headway.domain.jobs import Job
from headway.domain.manage.tokens import Principal, Role
from headway.domain.requests.job_requests import JobRequest
from headway.domain.runs import Outcome, Run, RunStatus
from headway.domain.workers import Abilities
from headway.operations.bound import BOUND, Call
from headway.protocol.operation import Nothing
from headway.protocol.work_values import Denied, Granted, Report, ReportAnswer, Started
from headway.scheduler.claim import dispatch
from headway.scheduler.finish import finish as finishing
from headway.scheduler.lease import leases
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import submit as submitting
from headway.storage import events, job_views, jobs
from headway.storage.engine.store import Store
from headway.storage.engine.transaction import Transaction
from headway.storage.lists import job_lists, run_lists
from headway.storage.lists.job_lists import JobFilter

WORKER = "worker-1"


class MovableClock:
    """Time stands still until it is moved."""

    def __init__(self, moment: datetime = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)) -> None:
        self._moment = moment

    def now(self) -> datetime:
        """The moment the clock was moved to."""
        return self._moment

    def move(self, seconds: float = 0, **span: float) -> datetime:
        """Go forward, or back with a negative span."""
        self._moment += timedelta(seconds=seconds, **span)
        return self._moment

    def set(self, moment: datetime) -> datetime:
        """Go to a moment."""
        self._moment = moment
        return moment


def newest_numbers(tx: Transaction) -> list[int]:
    """The numbers of all jobs, newest first."""
    return [one.key for one in job_lists.find(tx, JobFilter(), 5000).jobs]


def in_queue(store: Store) -> list[tuple[int, int]]:
    """Number and position of the waiting jobs, in the order in which they would go."""
    order = "ORDER BY priority DESC, position, number"
    sql = f"SELECT number, position FROM jobs WHERE phase = 0 {order}"
    rows = store.read(lambda tx: tx.select(sql, {}))
    return [(row["number"], row["position"]) for row in rows]


def submit(scheduler: Scheduler, job_type: str | None = "work", **fields: Any) -> Job:
    """Submit a job, written as the API would take it."""
    request = msgspec.convert({"job_type": job_type, **fields}, JobRequest)
    return submitting.submit(scheduler, request)


def claim(
    scheduler: Scheduler,
    n: int = 1,
    *,
    worker_id: str = WORKER,
    lease: bool = True,
    **abilities: Any,
) -> list[Started]:
    """Start up to `n` jobs for a worker, or only claim them."""
    request = dispatch.ClaimRequest(
        worker_id=worker_id, abilities=Abilities(**abilities), max_jobs=n, lease=lease
    )
    return scheduler.store.write_apart(lambda tx: dispatch.claim(scheduler, tx, request))


def ask_lease(scheduler: Scheduler, number: int, worker_id: str = WORKER) -> Granted | Denied:
    """Ask to start a job that was only claimed."""
    return scheduler.store.write(
        lambda tx: leases.request(scheduler, tx, str(number), worker_id, None)
    )


def finish(
    scheduler: Scheduler,
    started: Started | Sequence[Started],
    status: RunStatus = RunStatus.COMPLETED,
    **outcome: Any,
) -> list[ReportAnswer]:
    """Report how jobs that one worker started have ended."""
    held = [one.lease for one in ([started] if isinstance(started, Started) else started)]
    reports = [
        Report(lease_id=lease.lease_id, outcome=Outcome(status=status, **outcome))
        for lease in held
        if lease is not None
    ]
    workers = [lease.worker_id for lease in held if lease is not None]
    worker_id = workers[0] if workers else WORKER
    return scheduler.store.write_beside(
        lambda tx: finishing.finish(scheduler, tx, worker_id, reports)
    )


def run_next(scheduler: Scheduler, status: RunStatus = RunStatus.COMPLETED, **outcome: Any) -> Job:
    """Start the next job and end it at once."""
    (started,) = claim(scheduler)
    finish(scheduler, started, status, **outcome)
    return job(scheduler, started.number)


def job(scheduler: Scheduler, reference: str | int) -> Job:
    """A job as it is stored."""
    return scheduler.store.read(lambda tx: job_views.read(tx, [jobs.find_number(tx, reference)])[0])


def runs_of(scheduler: Scheduler, number: int) -> list[Run]:
    """A job's runs, newest first."""
    found = scheduler.store.read(
        lambda tx: run_lists.page(tx, number=number, before=None, count=200)
    )
    return found.items


def event_kinds(scheduler: Scheduler) -> list[str]:
    """What happened so far, in order."""
    return [event.kind for event in scheduler.store.read(lambda tx: events.after(tx, 0, 10_000))]


def ask(
    operation: Callable[..., Any],
    scheduler: Scheduler,
    role: Role = Role.ADMIN,
    *,
    body: Any = None,
    query: Any = None,
    **path: str,
) -> Any:
    """Ask for an operation as somebody with this role."""
    principal = Principal(name="somebody", role=role)
    call = Call(
        scheduler=scheduler,
        principal=principal,
        body=Nothing() if body is None else body,
        query=Nothing() if query is None else query,
        path=path,
    )
    (bound,) = (one for one in BOUND.values() if one.run is operation)
    answer = bound.perform(call)
    return answer.result(30) if isinstance(answer, Future) else answer
