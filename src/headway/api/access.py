"""Rules about who may ask for what, beyond the role of an operation."""

from collections.abc import Callable, Sequence

from headway.domain import errors
from headway.domain.jobs import COMMAND
from headway.domain.requests import JobRequest
from headway.domain.tokens import Principal, Role
from headway.scheduler.turns import Turns
from headway.storage import jobs, templates
from headway.storage.transaction import Transaction

ADMINS_ONLY = (
    "command jobs need the admin role, or a template made by an admin and submitted without params"
)


def check_command(tx: Transaction, principal: Principal, wanted: Sequence[JobRequest]) -> None:
    """Programs are run for admins, or from their templates just as they wrote them."""
    if principal.may(Role.ADMIN):
        return
    with Turns(wanted) as turns:
        for request in turns.each(enumerate(wanted)):
            _check_command(tx, request)


def _check_command(tx: Transaction, request: JobRequest) -> None:
    template = templates.find(tx, request.template) if request.template else None
    job_type = template.job_type if template else request.job_type
    if job_type == COMMAND and (template is None or not template.by_admin or request.params):
        raise errors.Forbidden(ADMINS_ONLY)


def command_check(
    principal: Principal, request: JobRequest
) -> Callable[[Transaction], None] | None:
    """The check for one request, where there is anything to check."""
    if principal.may(Role.ADMIN):
        return None
    return lambda tx: check_command(tx, principal, [request])


def check_change(tx: Transaction, principal: Principal, reference: str) -> None:
    """Nobody below admin changes a command."""
    if principal.may(Role.ADMIN):
        return
    record = jobs.read_one(tx, reference)
    if jobs.lanes(tx, [record.lane_id])[record.lane_id].job_type == COMMAND:
        raise errors.Forbidden(ADMINS_ONLY)


def check_worker(tx: Transaction, principal: Principal, worker_id: str) -> None:
    """A worker belongs to the token that used its id first; only an admin may speak for others."""
    if principal.may(Role.ADMIN):
        return
    owner = tx.row("owner_of_worker", worker_id=worker_id)
    if owner is not None and owner["token_id"] != principal.token_id:
        raise errors.ForeignWorker(worker_id)
