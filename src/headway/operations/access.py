"""Rules about who may ask for what, beyond the role of an operation."""

from collections.abc import Callable, Iterable, Sequence

from headway.domain import errors
from headway.domain.manage.tokens import Principal, Role
from headway.domain.requests.job_requests import JobRequest
from headway.operations.work import children
from headway.scheduler import command_permission
from headway.scheduler.scheduler import Scheduler
from headway.storage import jobs
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import workers


def submit_check(
    scheduler: Scheduler, principal: Principal
) -> Callable[[Transaction, JobRequest], None] | None:
    """What is asked before a job is submitted, where there is anything to ask."""
    if principal.may(Role.ADMIN):
        return None
    return lambda tx, request: check_submits(scheduler, tx, principal, [request])


def check_submits(
    scheduler: Scheduler, tx: Transaction, principal: Principal, wanted: Sequence[JobRequest]
) -> None:
    """The rules for commands and for children, asked for jobs that are submitted."""
    if principal.role is Role.WORK:
        children.check(scheduler, tx, principal, wanted)
    command_permission.check_submits(tx, principal.role, wanted)


def check_own(tx: Transaction, principal: Principal, reference: str) -> None:
    """A worker may see and cancel jobs that it runs, and their children."""
    if principal.role is Role.WORK:
        children.check_own(tx, principal, reference)


def check_change(
    tx: Transaction, principal: Principal, action: str, references: Iterable[str | int]
) -> None:
    """The rule for commands, asked for jobs that a person names."""
    if not principal.may(Role.ADMIN):
        numbers = [jobs.find_number(tx, one) for one in references]
        command_permission.check_jobs(tx, principal.role, action, jobs.read(tx, numbers))


def check_own_worker(tx: Transaction, principal: Principal, worker_id: str) -> None:
    """Like `check_worker`, where a worker that is not known is not the caller's either."""
    check_worker(tx, principal, worker_id)
    if not principal.may(Role.ADMIN) and workers.owner(tx, worker_id) is None:
        raise errors.ForeignWorker(worker_id)


def check_worker(tx: Transaction, principal: Principal, worker_id: str) -> None:
    """A worker belongs to the token that used its id first; only an admin may act for others."""
    if principal.may(Role.ADMIN):
        return
    owner = workers.owner(tx, worker_id)
    if owner is not None and owner.token_id != principal.token_id:
        raise errors.ForeignWorker(worker_id)
