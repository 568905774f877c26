"""The same change of many jobs: one slice of them, in one transaction.

Each job is judged by the rule of the single verb. What ends, opens or moves does so for the whole
slice in one go, so that what follows from all of it is bounded as it is for one.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from headway.domain import errors, events, states
from headway.domain.errors import HeadwayError
from headway.domain.jobs import Approval
from headway.domain.manage.tokens import Principal
from headway.domain.requests.action_requests import Action, Refusal, Wanted
from headway.scheduler import command_permission
from headway.scheduler.change import approvals, cancel, edit, retry, waiting_jobs
from headway.scheduler.finish import consequences
from headway.scheduler.scheduler import Scheduler
from headway.storage import chains, job_changes
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord


class Judged(NamedTuple):
    """Jobs that the action concerns: those that it changes, and those that it may not."""

    to_change: list[JobRecord]
    refused: list[Refusal]


class Asked(NamedTuple):
    """Who wants what done."""

    scheduler: Scheduler
    tx: Transaction
    wanted: Wanted
    by: Principal


Others: TypeAlias = Callable[[Collection[int]], Collection[int]]
"""Those of these jobs, which are in other slices, that are meant as well."""


def judge(asked: Asked, found: Sequence[JobRecord], others: Others) -> Judged:
    """What the action would do to these jobs.

    A chain is tried again once, at its last failure: where that is meant as well, the failures
    before it are left out.
    """
    refused: list[Refusal] = []
    if asked.wanted.action is Action.RETRY:
        found = _last_failures(asked, found, others, refused)
    to_change = [record for record in found if _allows(asked, record, refused)]
    return Judged(to_change, refused)


def _allows(asked: Asked, record: JobRecord, refused: list[Refusal]) -> bool:
    try:
        _CHECKS[asked.wanted.action](asked, record)
    except HeadwayError as error:
        refused.append(Refusal(job_id=record.job_id, code=error.code))
        return False
    return True


def _check_cancel(_: Asked, record: JobRecord) -> None:
    cancel.check(record)


def _check_approve(asked: Asked, record: JobRecord) -> None:
    approvals.check(record)
    command_permission.check_jobs(asked.tx, asked.by.role, "approve", [record])


def _check_reprioritise(asked: Asked, record: JobRecord) -> None:
    waiting_jobs.check(record)
    command_permission.check_jobs(asked.tx, asked.by.role, "change", [record])


def _check_retry(asked: Asked, failed: JobRecord) -> None:
    command_permission.check_restart(asked.scheduler, asked.tx, asked.by.role, "retry", [failed])


_CHECKS: Mapping[Action, Callable[[Asked, JobRecord], None]] = {
    Action.CANCEL: _check_cancel,
    Action.APPROVE: _check_approve,
    Action.REPRIORITISE: _check_reprioritise,
    Action.RETRY: _check_retry,
}


def _last_failures(
    asked: Asked, found: Sequence[JobRecord], others: Others, refused: list[Refusal]
) -> list[JobRecord]:
    """The last failure of each job's chain, if the chain has ended with it or waits to go on."""
    links: dict[int, list[JobRecord]] = {}
    for link in chains.links(asked.tx, {record.chain for record in found}):
        links.setdefault(link.chain, []).append(link)
    last = {chain: _last_failure(some) for chain, some in links.items()}
    later = {one.number for one in last.values() if one} - {one.number for one in found}
    meant = {*others(later), *(one.number for one in found)} if later else set()
    failures: dict[int, JobRecord] = {}
    for record in found:
        failed = last.get(record.chain)
        if failed is not None and failed.number != record.number and failed.number in meant:
            continue
        try:
            failures[record.chain] = _to_retry(asked, failed, links.get(record.chain, [record]))
        except HeadwayError as error:
            refused.append(Refusal(job_id=record.job_id, code=error.code))
    return list(failures.values())


def _last_failure(links: Iterable[JobRecord]) -> JobRecord | None:
    failed = [link for link in links if link.status in states.RETRYABLE]
    return failed[-1] if failed else None


def _to_retry(asked: Asked, failed: JobRecord | None, links: Sequence[JobRecord]) -> JobRecord:
    """The failure to try again, unless its chain succeeded or goes on already."""
    last = links[-1]
    if failed is None or failed.run_id is None or last.status in states.SUCCESS:
        raise errors.RunNotFailed(last.run_id or last.job_id, last.status)
    if last.status in states.WAITING and last.due_at is None:
        raise errors.Conflict(f"job {last.job_id} is already retrying this")
    retry.refuse_beside_another(asked.tx, last)
    return failed


def act(asked: Asked, judged: Judged) -> Judged:
    """Do it to the jobs that it changes; return those, and all that were refused."""
    if asked.wanted.action is Action.RETRY:
        return _retry(asked, judged)
    if judged.to_change:
        _ACTS[asked.wanted.action](asked, judged.to_change)
    return judged


def _cancel(asked: Asked, records: Sequence[JobRecord]) -> None:
    cancel.cancel_all(asked.scheduler, asked.tx, records, reason=asked.wanted.reason)


def _approve(asked: Asked, records: Sequence[JobRecord]) -> None:
    said = {"actor": asked.by.name, "reason": asked.wanted.reason}
    for record in records:
        job_changes.set_approval(asked.tx, record.number, Approval.APPROVED)
        asked.tx.note(events.APPROVED, record.number, said)
    consequences.admit_or_end(asked.scheduler, asked.tx, [one.number for one in records])


def _reprioritise(asked: Asked, records: Sequence[JobRecord]) -> None:
    assert asked.wanted.priority is not None
    edit.reprioritise(asked.scheduler, asked.tx, records, asked.wanted.priority)


_ACTS: Mapping[Action, Callable[[Asked, Sequence[JobRecord]], None]] = {
    Action.CANCEL: _cancel,
    Action.APPROVE: _approve,
    Action.REPRIORITISE: _reprioritise,
}


def _retry(asked: Asked, judged: Judged) -> Judged:
    """One after the other: a retry may take a unique key that the next one has, too."""
    done, refused = [], judged.refused
    for failed in judged.to_change:
        assert failed.run_id is not None
        try:
            retry.retry_run(
                asked.scheduler, asked.tx, failed.run_id, asked.wanted.priority, asked.by.role
            )
        except HeadwayError as error:
            refused = [*refused, Refusal(job_id=failed.job_id, code=error.code)]
        else:
            done.append(failed)
    return Judged(done, refused)
