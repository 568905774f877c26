"""Starting again after a crash: one pass that changes nothing more when it is run twice."""

import logging
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from headway.domain import errors, retries, states
from headway.domain.jobs import RetryState
from headway.domain.leases import LeaseState
from headway.domain.runs import Outcome, RunStatus
from headway.scheduler.admit.insert import insert
from headway.scheduler.explain import status
from headway.scheduler.finish import consequences, decide, finish, group_consequences
from headway.scheduler.finish.ends import Ended
from headway.scheduler.finish.retries import retry_job
from headway.scheduler.lease import expire
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import direct
from headway.storage import claims, jobs, leases, runs
from headway.storage.engine import codec
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import groups, workers
from headway.storage.manage.workers import WorkerRecord
from headway.storage.records import JobRecord
from headway.storage.upkeep import facts, repairs

CRASHED = "Scheduler crash recovery"
BATCH = 1000

log = logging.getLogger("headway.recovery")


class Recovered(msgspec.Struct, kw_only=True):
    """What the pass found and mended."""

    running_jobs_recovered: int = 0
    reservations_expired: int = 0
    retries_created: int = 0
    groups_recovered: int = 0
    errors: int = 0


def recover(
    scheduler: Scheduler,
    is_alive: Callable[[WorkerRecord], bool],
    end_orphans: Callable[[Sequence[str]], None],
) -> Recovered:
    """Mend what a dead process left behind. `end_orphans` ends the programs of these runs first."""
    report = Recovered()
    for worker_id in scheduler.store.read(partial(_dead_workers, is_alive)):
        _bury(scheduler, report, worker_id, end_orphans)
    report.running_jobs_recovered += _mend_all(
        scheduler, report, leases.jobs_without, partial(mend_jobs_without_lease, scheduler)
    )
    report.reservations_expired = scheduler.store.write(
        lambda tx: direct.expire_of_dead_servers(scheduler, tx, is_alive)
    )
    report.retries_created = _mend_all(
        scheduler, report, jobs.without_retry_decision, partial(_create_missing_retries, scheduler)
    )
    report.groups_recovered = scheduler.store.write(partial(_end_groups, scheduler))
    scheduler.store.write(partial(_wait_for_the_living, report, is_alive))
    return report


def _mend_all(
    scheduler: Scheduler,
    report: Recovered,
    find: Callable[[Transaction, int, int], list[int]],
    mend: Callable[[Transaction, Sequence[int]], int],
    before: Callable[[Sequence[int]], None] = lambda _: None,
) -> int:
    """Mend the jobs that are found, page by page; `before` is done first, outside the store."""
    mended, after = 0, 0
    while found := scheduler.store.read(partial(_page, find, after)):
        mended += _mend(scheduler, report, found, mend, before)
        after = found[-1]
    return mended


def _page(
    find: Callable[[Transaction, int, int], list[int]], after: int, tx: Transaction
) -> list[int]:
    return find(tx, after, BATCH)


def _mend(
    scheduler: Scheduler,
    report: Recovered,
    numbers: Sequence[int],
    mend: Callable[[Transaction, Sequence[int]], int],
    before: Callable[[Sequence[int]], None],
) -> int:
    """All at once; where that fails, one by one, so that one job's trouble stays its own."""
    try:
        before(numbers)
        return scheduler.store.write(lambda tx: mend(tx, numbers))
    except errors.Unavailable:
        raise
    except Exception:
        if len(numbers) == 1:
            log.exception("job %d could not be recovered; the others are", numbers[0])
            report.errors += 1
            return 0
    return sum(_mend(scheduler, report, [number], mend, before) for number in numbers)


def _wait_for_the_living(
    report: Recovered, is_alive: Callable[[WorkerRecord], bool], tx: Transaction
) -> None:
    """Workers that live get time to come back, and people get to see what was found.

    Those of other servers too: their leases look late if the clock was set just before this start.
    """
    leases.prolong(tx, _dead_workers(is_alive, tx))
    facts.put(tx, status.RECOVERY, codec.dump(report))


def _bury(
    scheduler: Scheduler,
    report: Recovered,
    worker_id: str,
    end_orphans: Callable[[Sequence[str]], None],
) -> None:
    """Fail what a dead worker was running, then forget the worker."""

    def end_programs(numbers: Sequence[int]) -> None:
        held = scheduler.store.read(lambda tx: leases.of_jobs(tx, worker_id, numbers))
        end_orphans([one.lease_id for one in held])

    failed_before = report.errors
    report.running_jobs_recovered += _mend_all(
        scheduler,
        report,
        lambda tx, after, count: leases.jobs_on_worker(tx, worker_id, after, count),
        partial(_fail_runs, scheduler, worker_id),
        end_programs,
    )
    if report.errors == failed_before:
        scheduler.store.write(lambda tx: _forget(scheduler, tx, worker_id))


def _forget(scheduler: Scheduler, tx: Transaction, worker_id: str) -> None:
    expire.give_back(scheduler, tx, [*claims.of_worker(tx, worker_id)])
    workers.leave(tx, worker_id)


def _dead_workers(is_alive: Callable[[WorkerRecord], bool], tx: Transaction) -> list[str]:
    return [one.worker_id for one in workers.built_in(tx) if not is_alive(one)]


def _fail_runs(
    scheduler: Scheduler, worker_id: str, tx: Transaction, numbers: Sequence[int]
) -> int:
    """Open runs fail. The lease of a run that ended, or that is missing, is of no use any more."""
    outcome = Outcome(status=RunStatus.FAILED, error=CRASHED, crashed=True)
    held = leases.of_jobs(tx, worker_id, numbers)
    known = runs.reports(tx, [one.lease_id for one in held])
    is_open = {run_id for run_id, run in known.items() if run.status is None}
    ended = finish.abandon(scheduler, tx, [*is_open], outcome)
    others = [one for one in held if one.lease_id not in is_open]
    repairs.end_leases(tx, [one.lease_id for one in others])
    mended = mend_jobs_without_lease(scheduler, tx, [one.job_number for one in others])
    return len(ended) + mended


def mend_jobs_without_lease(scheduler: Scheduler, tx: Transaction, numbers: Sequence[int]) -> int:
    """RUNNING without a lease: an open run fails, one that ended decides, a missing one fails."""
    found = [one for one in jobs.read(tx, numbers) if one.status is states.RUNNING]
    ended = [_end(tx, record) for record in found]
    consequences.settle(scheduler, tx, ended)
    return len(ended)


def _end(tx: Transaction, record: JobRecord) -> Ended:
    report = runs.reports(tx, [record.run_id]).get(record.run_id) if record.run_id else None
    if report is not None and report.status not in (None, RunStatus.SUSPENDED):
        outcome = Outcome(status=report.status)
        status = finish.status_of(record, outcome)
        return Ended(record=record, status=status, run_id=record.run_id, run_status=outcome.status)
    outcome = Outcome(status=RunStatus.FAILED, error=CRASHED, crashed=True)
    ended = Ended(
        record=record,
        status=finish.status_of(record, outcome),
        run_id=record.run_id,
        run_status=RunStatus.FAILED,
        error=CRASHED,
        crashed=True,
    )
    if report is not None:
        finish.close_runs(tx, [(ended, outcome)], LeaseState.EXPIRED)
    else:
        runs.insert_failed(tx, record, CRASHED)
    return ended


def _create_missing_retries(scheduler: Scheduler, tx: Transaction, numbers: Sequence[int]) -> int:
    """Failures about which nothing was decided get their retry now, once."""
    created = []
    undecided = [one for one in jobs.read(tx, numbers) if one.retry_state is RetryState.NONE]
    for record in undecided:
        decision = retries.decide(
            record.terms.retry_policy,
            attempt=record.attempt,
            wanted=record.cancel is None,
            now=tx.now,
            source=scheduler.chance,
            crashes=record.crashes,
        )
        jobs.set_retry_state(tx, record.number, decide.retry_state(decision))
        if isinstance(decision, retries.RetryAt):
            created.append(retry_job(scheduler, tx, record, decision.moment))
    consequences.admit_or_end(scheduler, tx, insert(tx, created).to_admit)
    return len(created)


def _end_groups(scheduler: Scheduler, tx: Transaction) -> int:
    """Groups whose members have all ended, but that are not marked as ended."""
    ended, waiting = 0, set[int]()
    for group_id in groups.open_without_active_members(tx):
        if (group := groups.read(tx, group_id)) is not None:
            waiting |= group_consequences.end_if_over(scheduler, tx, group)
            ended += groups.end(tx, group_id)  # also one that has lost its members
    consequences.admit_or_end(scheduler, tx, waiting)
    return ended
