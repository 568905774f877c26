"""What a finished job came to."""

from headway.domain import errors, states
from headway.domain.jobs import JobResult
from headway.domain.runs import RunStatus
from headway.domain.values import moments
from headway.storage import chains, jobs, runs
from headway.storage.engine.transaction import Transaction


def result(tx: Transaction, reference: str | int) -> JobResult:
    """The result of a job, judged by the last link of its chain."""
    asked = jobs.read_one(tx, reference)
    links = chains.numbers_beside(tx, asked)
    number = max(number for number in links if number >= asked.number)
    last = asked if number == asked.number else jobs.read(tx, [number])[0]
    if last.status in states.ACTIVE:
        retry = (last.job_id, last.status.lower()) if last is not asked else None
        status = last.status if retry is None else asked.status.lower()
        raise errors.NotFinished(asked.job_id, status, retry)
    every = runs.views(tx, runs.ids_of_jobs(tx, links), largest=0)
    found = [run for run in every if run.status is not RunStatus.SUSPENDED]
    own = [run for run in found if run.job_id == last.job_id and run.generation == last.generation]
    final = runs.view(tx, own[-1].run_id) if own else None
    return JobResult(
        job_id=asked.job_id,
        status=last.status,
        result_data=final.result if final else None,
        error=final.error if final else last.wait_detail,
        started_at=moments.maybe_from_millis(last.started_at),
        finished_at=moments.maybe_from_millis(last.finished_at),
        attempts=len([run for run in found if run.generation == last.generation]),
    )
