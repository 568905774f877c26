"""What a `work` token may do: submit children of the jobs that its workers run, and see them.

Of all other jobs it learns nothing. A refusal is the same whether they exist or not.
"""

from collections.abc import Iterator, Sequence

from headway.domain import artifacts, errors, states, taken
from headway.domain.artifacts import JobSucceeded
from headway.domain.manage.tokens import Principal, Role
from headway.domain.requests.after_requests import REF
from headway.domain.requests.job_requests import AfterRequest, JobRequest
from headway.domain.taken import Taken
from headway.domain.values.plain_json import Checked
from headway.scheduler.scheduler import Scheduler
from headway.storage import chains, jobs
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import workers
from headway.storage.records import JobRecord


def check(
    scheduler: Scheduler, tx: Transaction, principal: Principal, wanted: Sequence[JobRequest]
) -> None:
    """Refuse jobs that are no children of a running job of this token, or name jobs of others."""
    refuse_orphans(principal, wanted)
    for parent in {str(request.parent_id) for request in wanted}:
        record = _find(tx, parent)
        if record is None or not _runs(tx, principal, record):
            raise errors.Forbidden(f"no worker of this token runs a job {parent}")
    for name in {name for request in wanted for name in _names(scheduler, request)}:
        if not _is_own(tx, principal, name):
            raise errors.Forbidden(f"job {name} is no child of a job that this token runs")
    _check_keys(tx, principal, wanted)


def refuse_orphans(principal: Principal, wanted: Sequence[JobRequest]) -> None:
    """Refuse jobs without a parent from a worker, before anything else is said of them."""
    if principal.role is Role.WORK and any(request.parent_id is None for request in wanted):
        raise errors.Forbidden(
            "a token with the role work submits only children of jobs that its workers run:"
            " give the parent_id"
        )


def check_own(tx: Transaction, principal: Principal, reference: str) -> None:
    """Refuse jobs other than those that a worker of this token runs, and their children."""
    if not _is_own(tx, principal, reference):
        raise errors.Forbidden(
            "a token with the role work sees only jobs that its workers run, and their children"
        )


def _names(scheduler: Scheduler, request: JobRequest) -> Iterator[str]:
    """The jobs from before that a request says it waits for."""
    for one in request.after:
        if isinstance(one, AfterRequest) and one.group is not None:
            yield f"group {one.group}"  # no group is a worker's own
            continue
        name = str(one.job if isinstance(one, AfterRequest) else one).strip()
        if not name.startswith(REF):
            yield name
    yield from (one.job for one in _taken(request) if not one.job.startswith(REF))
    for text in (*request.needs, *request.produces):
        for probe in artifacts.parse(text, scheduler.kinds).probe:
            if isinstance(probe, JobSucceeded):
                yield probe.job


def _taken(request: JobRequest) -> Sequence[Taken]:
    """What its params take from results: that is to see them."""
    params = request.params
    return params.taken if isinstance(params, Checked) else taken.found(params)


def _check_keys(tx: Transaction, principal: Principal, wanted: Sequence[JobRequest]) -> None:
    """A key that finds a job shows it: only a child of this token's own jobs."""
    keys = [one.idempotency_key for one in wanted if one.idempotency_key is not None]
    unique = [one.unique_key for one in wanted if one.unique_key is not None]
    active, keyed = tx.ask(jobs.active_by_unique_key(unique), jobs.by_idempotency_key(keys))
    found = {*(one.number for one in keyed.values()), *active.values()}
    if not all(_is_own(tx, principal, number) for number in found):
        raise errors.Forbidden("a job that is no child of this token's jobs has the same key")


def _is_own(tx: Transaction, principal: Principal, reference: str | int) -> bool:
    """Whether a worker of this token runs the job or its parent, in whatever attempt."""
    record = _find(tx, reference)
    if record is None:
        return False
    parent = _find(tx, record.terms.parent_id) if record.terms.parent_id else None
    return _runs(tx, principal, record) or (parent is not None and _runs(tx, principal, parent))


def _find(tx: Transaction, reference: str | int) -> JobRecord | None:
    try:
        return jobs.read_one(tx, reference)
    except errors.NotFound:
        return None


def _runs(tx: Transaction, principal: Principal, record: JobRecord) -> bool:
    """Whether the last link of the job's chain runs on a worker of this token."""
    ends = chains.ends(tx, [record.chain]).values()
    running = [one.number for one in ends if one.status is states.RUNNING]
    owners = [workers.owner(tx, str(one.worker_id)) for one in jobs.read(tx, running)]
    return any(one is not None and one.token_id == principal.token_id for one in owners)
