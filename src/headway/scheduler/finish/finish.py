"""Finishing: an outcome and all it frees, in one transaction."""

import hashlib
from collections.abc import Mapping, Sequence

import msgspec

from headway.domain import errors, secrets, states
from headway.domain.leases import LeaseState
from headway.domain.runs import Outcome, RunStatus
from headway.domain.states import JobStatus
from headway.protocol.work_values import Report, ReportAnswer
from headway.scheduler.finish import consequences
from headway.scheduler.finish.ends import Ended
from headway.scheduler.finish.release import Released, release
from headway.scheduler.scheduler import Scheduler
from headway.storage import jobs, lanes, payloads, runs
from headway.storage.engine import codec
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord
from headway.storage.runs import Closing, RunReport

LEASE_EXPIRED = "lease expired"


def finish(
    scheduler: Scheduler, tx: Transaction, worker_id: str, reports: Sequence[Report]
) -> list[ReportAnswer]:
    """End a worker's runs. The lease is consumed first: without it nothing changes."""
    wanted = {report.lease_id: report for report in reports}
    found = release(scheduler, tx, wanted, worker_id)
    observe(scheduler, tx, [record for record, _ in found])
    answers = end(scheduler, tx, [(one, wanted[str(one.record.run_id)].outcome) for one in found])
    late = [report for lease_id, report in wanted.items() if lease_id not in answers]
    answers.update(late_answers(tx, worker_id, late))
    return [answers[report.lease_id] for report in reports]


def end(
    scheduler: Scheduler, tx: Transaction, found: Sequence[tuple[Released, Outcome]]
) -> dict[str, ReportAnswer]:
    """End runs whose leases are consumed, with all that follows; the answers by lease."""
    if not found:
        return {}
    outcomes = {str(one.record.run_id): outcome for one, outcome in found}
    shown = shown_errors(scheduler, tx, outcomes, [one.record for one, _ in found])
    ended = [
        _ended(one.record, outcome, one.progress, shown.get(str(one.record.run_id)))
        for one, outcome in found
    ]
    close_runs(tx, [(one, outcomes[str(one.run_id)]) for one in ended], LeaseState.RELEASED)
    consequences.settle(scheduler, tx, ended)
    return {
        str(one.run_id): ReportAnswer(lease_id=str(one.run_id), status=one.status) for one in ended
    }


def shown_errors(
    scheduler: Scheduler,
    tx: Transaction,
    outcomes: Mapping[str, Outcome],
    ended: Sequence[JobRecord],
) -> dict[str, str]:
    """Errors by run, without the secret params that they quote: events and webhooks tell them."""
    failed = [str(one.run_id) for one in ended if outcomes[str(one.run_id)].error]
    if not failed:
        return {}
    params = payloads.of_runs(tx, failed)
    names = secrets.names(scheduler.rules.secret_params)
    return {
        run_id: secrets.hidden(outcomes[run_id].error or "", codec.load(params[run_id]), names)
        for run_id in failed
    }


def observe(scheduler: Scheduler, tx: Transaction, ended: Sequence[JobRecord]) -> None:
    """How long these jobs ran, for the metrics."""
    known = scheduler.seen.job_types
    if unknown := {one.lane_id for one in ended} - known.keys():
        known.update((id_, lane.job_type) for id_, lane in lanes.read(tx, unknown).items())
    spans: dict[str, list[float]] = {}
    for one in ended:
        ran_ms = tx.now_ms - (one.started_at or tx.now_ms)
        spans.setdefault(known[one.lane_id], []).append(ran_ms / 1000)
    for job_type, seconds in spans.items():
        scheduler.seen.run_time.add(job_type, seconds)


def status_of(record: JobRecord, outcome: Outcome) -> JobStatus:
    """What a run's outcome makes of its job; a cancelled one is CANCELLED whatever it was."""
    if record.cancel is not None or outcome.cancelled:
        return states.CANCELLED
    if outcome.timed_out:
        return states.TIMEOUT
    return _STATUS[outcome.status]


_STATUS = {
    RunStatus.COMPLETED: states.SUCCEEDED,
    RunStatus.FAILED: states.FAILED,
    RunStatus.SKIPPED: states.SKIPPED,
}


def close_runs(
    tx: Transaction, ended: Sequence[tuple[Ended, Outcome]], lease_state: LeaseState
) -> None:
    """Write the outcomes down; a run that has ended is never touched again."""
    rows = ((one.run_id, _closing(one, outcome, lease_state)) for one, outcome in ended)
    runs.close(tx, rows)


def _closing(one: Ended, outcome: Outcome, lease_state: LeaseState) -> Closing:
    """The hash is that of the report as it came, so that its repetition is known."""
    return Closing(
        one.run_status or outcome.status,
        outcome.exit_code,
        one.error,
        None if outcome.result is None else codec.dump(outcome.result),
        codec.dump(outcome.artifacts) if outcome.artifacts else None,
        lease_state,
        report_hash(outcome),
    )


def report_hash(outcome: Outcome) -> str | None:
    """Tells the same report from another one; a plain success needs no hash."""
    if outcome == PLAIN_SUCCESS:
        return None
    return hashlib.sha256(msgspec.json.encode(outcome, order="sorted")).hexdigest()


PLAIN_SUCCESS = Outcome(status=RunStatus.COMPLETED)


def _ended(record: JobRecord, outcome: Outcome, progress: str | None, error: str | None) -> Ended:
    return Ended(
        record=record,
        status=status_of(record, outcome),
        run_id=record.run_id,
        run_status=outcome.status,
        error=error,
        exit_code=outcome.exit_code,
        artifacts=outcome.artifacts,
        progress=progress,
        retry=outcome.retry,
        crashed=outcome.crashed,
        retry_after_s=outcome.retry_after_s,
    )


def late_answers(
    tx: Transaction, worker_id: str, late: Sequence[Report]
) -> Mapping[str, ReportAnswer]:
    """Reports without a live lease: the same one again is answered, any other is refused."""
    if not late:
        return {}
    known = runs.reports(tx, [report.lease_id for report in late])
    numbers = [run.job_number for run in known.values()]
    found = {one.number: one for one in jobs.read(tx, numbers)}
    return {
        report.lease_id: _late_answer(report, worker_id, known.get(report.lease_id), found)
        for report in late
    }


def _late_answer(
    report: Report, worker_id: str, run: RunReport | None, found: Mapping[int, JobRecord]
) -> ReportAnswer:
    error: errors.HeadwayError
    if run is None or run.lease_state is None:
        error = errors.NotFound("lease", report.lease_id)
    elif run.worker_id != worker_id:
        error = errors.ForeignLease(report.lease_id)
    elif run.lease_state is LeaseState.RELEASED and (
        run.report_hash == report_hash(report.outcome)
    ):
        return ReportAnswer(lease_id=report.lease_id, status=found[run.job_number].status)
    else:
        error = errors.LeaseEnded(report.lease_id, run.lease_state)
    return ReportAnswer(lease_id=report.lease_id, error=error)


def abandon(
    scheduler: Scheduler,
    tx: Transaction,
    lease_ids: Sequence[str],
    outcome: Outcome,
) -> list[Ended]:
    """End runs whose worker is gone or late. The lease is consumed here too: it happens once."""
    found = release(scheduler, tx, lease_ids)
    ended = [_ended(record, outcome, progress, outcome.error) for record, progress in found]
    close_runs(tx, [(one, outcome) for one in ended], LeaseState.EXPIRED)
    consequences.settle(scheduler, tx, ended)
    return ended


def refuse(scheduler: Scheduler, tx: Transaction, reasons: Mapping[str, str]) -> None:
    """End runs, by their leases, that no worker got: they fail of these reasons, for good."""
    if reasons:
        outcomes = {
            run_id: Outcome(status=RunStatus.FAILED, error=error, retry=False)
            for run_id, error in reasons.items()
        }
        found = release(scheduler, tx, outcomes)
        end(scheduler, tx, [(one, outcomes[str(one.record.run_id)]) for one in found])
