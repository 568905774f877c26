"""Starting again after a crash: one pass that changes nothing more when it is run twice."""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from headway.domain import errors, retries, states
from headway.domain.jobs import RetryState
from headway.domain.leases import LeaseState
from headway.domain.runs import Outcome, RunStatus
from headway.scheduler.admit.insert import insert
from headway.scheduler.explain import status
from headway.scheduler.finish import consequences, decide, finish
from headway.scheduler.finish.ends import Ended
from headway.scheduler.finish.retries import retry_job
from headway.scheduler.lease import expire
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import direct
from headway.storage import codec, jobs, records
from headway.storage.records import JobRecord
from headway.storage.transaction import Row, Transaction

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
    is_alive: Callable[[Row], bool],
    end_orphans: Callable[[Sequence[str]], None],
) -> Recovered:
    """Mend what a dead process left behind. `end_orphans` ends the programs of these runs first."""
    report = Recovered()
    dead = scheduler.store.read(
        lambda tx: [row["worker_id"] for row in _dead_workers(tx, is_alive)]
    )
    for worker_id in dead:
        _bury(scheduler, report, worker_id, end_orphans)
    report.running_jobs_recovered += _mend_all(
        scheduler, report, "running_without_lease", partial(_mend_jobs_without_lease, scheduler)
    )
    report.reservations_expired = scheduler.store.write(
        lambda tx: direct.expire_of_dead_servers(scheduler, tx, is_alive)
    )
    report.retries_created = _mend_all(
        scheduler, report, "without_retry_decision", partial(_create_missing_retries, scheduler)
    )
    report.groups_recovered = scheduler.store.write(_end_groups)
    scheduler.store.write(partial(_wait_for_the_living, report))
    return report


def _mend_all(
    scheduler: Scheduler,
    report: Recovered,
    query: str,
    mend: Callable[[Transaction, Sequence[int]], int],
    before: Callable[[Sequence[int]], None] = lambda _: None,
    **params: str,
) -> int:
    """Mend the jobs that a query finds, page by page; `before` is done first, outside the store."""
    mended, after = 0, 0
    while found := scheduler.store.read(partial(_page, query, after, params)):
        mended += _mend(scheduler, report, found, mend, before)
        after = found[-1]
    return mended


def _page(query: str, after: int, params: Mapping[str, str], tx: Transaction) -> list[int]:
    return [row["number"] for row in tx.rows(query, after=after, count=BATCH, **params)]


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


def _wait_for_the_living(report: Recovered, tx: Transaction) -> None:
    """Workers elsewhere get time to come back, and people get to see what was found."""
    tx.do("prolong_leases", now=tx.now_ms, except_workers=records.listed(_built_in(tx)))
    tx.do("put_fact", name=status.RECOVERY, value=codec.dump(report))


def _bury(
    scheduler: Scheduler,
    report: Recovered,
    worker_id: str,
    end_orphans: Callable[[Sequence[str]], None],
) -> None:
    """Fail what a dead worker was running, then forget the worker."""

    def end_programs(numbers: Sequence[int]) -> None:
        held = scheduler.store.read(lambda tx: _leases(tx, worker_id, numbers))
        end_orphans([row["lease_id"] for row in held])

    failed_before = report.errors
    report.running_jobs_recovered += _mend_all(
        scheduler,
        report,
        "running_on_worker",
        partial(_fail_runs, scheduler, worker_id),
        end_programs,
        worker_id=worker_id,
    )
    if report.errors == failed_before:
        scheduler.store.write(lambda tx: _forget(scheduler, tx, worker_id))


def _forget(scheduler: Scheduler, tx: Transaction, worker_id: str) -> None:
    claimed = [row["number"] for row in tx.rows("claims_of_worker", worker_id=worker_id)]
    expire.give_back(scheduler, tx, claimed)
    tx.do("leave_worker", worker_id=worker_id, now=tx.now_ms)


def _dead_workers(tx: Transaction, is_alive: Callable[[Row], bool]) -> list[Row]:
    return [row for row in tx.rows("workers") if row["built_in"] and not is_alive(row)]


def _built_in(tx: Transaction) -> list[str]:
    return [row["worker_id"] for row in tx.rows("workers") if row["built_in"]]


def _leases(tx: Transaction, worker_id: str, numbers: Sequence[int]) -> Sequence[Row]:
    return tx.rows("leases_of_jobs", worker_id=worker_id, numbers=records.listed(numbers))


def _fail_runs(
    scheduler: Scheduler, worker_id: str, tx: Transaction, numbers: Sequence[int]
) -> int:
    outcome = Outcome(status=RunStatus.FAILED, error=CRASHED)
    held = _leases(tx, worker_id, numbers)
    ended = finish.abandon(scheduler, tx, held, outcome)
    return len(ended)


def _mend_jobs_without_lease(scheduler: Scheduler, tx: Transaction, numbers: Sequence[int]) -> int:
    """RUNNING without a lease: an open run fails, one that ended decides, a missing one fails."""
    found = [one for one in jobs.read(tx, numbers) if one.status is states.RUNNING]
    ended = [_end(tx, record) for record in found]
    consequences.settle(scheduler, tx, ended)
    return len(ended)


def _end(tx: Transaction, record: JobRecord) -> Ended:
    rows = tx.rows("run_reports", run_ids=records.listed([record.run_id]))
    if rows and rows[0]["status"] is not None:
        outcome = Outcome(status=RunStatus(rows[0]["status"]))
        status = finish.status_of(record, outcome)
        return Ended(record=record, status=status, run_id=record.run_id, run_status=outcome.status)
    outcome = Outcome(status=RunStatus.FAILED, error=CRASHED)
    ended = Ended(
        record=record,
        status=finish.status_of(record, outcome),
        run_id=record.run_id,
        run_status=RunStatus.FAILED,
        error=CRASHED,
    )
    if rows:
        finish.close_runs(tx, [(ended, outcome)], LeaseState.EXPIRED)
    else:
        tx.many("insert_ended_run", [_failed_run(tx, record)])
    return ended


def _failed_run(tx: Transaction, record: JobRecord) -> dict[str, object]:
    return {
        "run_id": record.run_id,
        "number": record.number,
        "attempt": record.attempt,
        "generation": record.generation,
        "run_status": RunStatus.FAILED,
        "payload_id": record.payload_id,
        "worker_id": record.worker_id,
        "started_at": record.started_at,
        "finished_at": tx.now_ms,
        "error": CRASHED,
    }


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
        )
        tx.do(
            "set_retry_state",
            number=record.number,
            retry_state=decide.retry_state(decision),
        )
        if isinstance(decision, retries.RetryAt):
            created.append(retry_job(scheduler, tx, record, decision.moment))
    consequences.admit_or_end(scheduler, tx, insert(tx, created).to_admit)
    return len(created)


def _end_groups(tx: Transaction) -> int:
    """Groups whose members have all ended, but that are not marked as ended."""
    ended = 0
    for row in tx.rows("open_groups_without_active_members"):
        ended += tx.do("end_group", group_id=row["group_id"], ended_at=tx.now_ms)
    return ended
