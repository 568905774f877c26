"""Reports of workers: runs that ended, and runs that suspend their jobs."""

from collections.abc import Sequence

import msgspec

from headway.protocol.work_values import Report, ReportAnswer
from headway.scheduler.finish import finish
from headway.scheduler.programs import suspend
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import submit
from headway.storage.engine.transaction import Transaction


def prepared(scheduler: Scheduler, reports: Sequence[Report]) -> list[Report]:
    """The reports, checked as far as they can be without a transaction, which holds up others."""
    return [_prepared(scheduler, one) for one in reports]


def _prepared(scheduler: Scheduler, report: Report) -> Report:
    wait = report.outcome.wait
    if wait is None:
        return report
    suspend.check(wait)
    if not wait.children:
        return report
    children = tuple(submit.prepared(scheduler, wait.children))
    outcome = msgspec.structs.replace(
        report.outcome, wait=msgspec.structs.replace(wait, children=children)
    )
    return msgspec.structs.replace(report, outcome=outcome)


def record(
    scheduler: Scheduler, tx: Transaction, worker_id: str, reports: Sequence[Report]
) -> list[ReportAnswer]:
    """End or suspend a worker's runs; each report is answered for itself."""
    waits = [one for one in reports if one.outcome.wait is not None]
    if not waits:
        return finish.finish(scheduler, tx, worker_id, reports)
    ends = [one for one in reports if one.outcome.wait is None]
    answers = iter(finish.finish(scheduler, tx, worker_id, ends) if ends else ())
    suspended = iter(suspend.suspend(scheduler, tx, worker_id, waits))
    return [next(answers if one.outcome.wait is None else suspended) for one in reports]
