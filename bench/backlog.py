"""Backlog: what a claim costs behind a thousand waiting jobs, and behind a million."""

import time
from collections.abc import Callable

from bench.bed import bed
from bench.drain import BATCH, submit_many
from headway.domain.requests.job_requests import BatchJobRequest, JobRequest
from headway.domain.runs import Outcome, RunStatus
from headway.domain.workers import Abilities
from headway.protocol.work_values import Report, Started
from headway.scheduler.claim import dispatch
from headway.scheduler.claim.dispatch import ClaimRequest
from headway.scheduler.finish import finish
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import submit

ROUNDS = 300

KINDS: dict[str, Callable[[int], JobRequest]] = {
    "ready": lambda n: JobRequest(job_type="noop"),
    "full limit": lambda n: JobRequest(job_type="noop", limits={"full": 1}),
    "later": lambda n: JobRequest(job_type="noop", delay_s=86400),
    "unmet dependency": lambda n: JobRequest(job_type="noop", after=(1,)),
    "held lock": lambda n: JobRequest(job_type="noop", locks=("held",)),
}


def cost(kind: str, waiting: int, db: str | None = None) -> float:
    """Microseconds for one claim and finish beside so many waiting jobs of a kind."""
    with bed(db) as scheduler:
        _prepare(scheduler)
        for start in range(0, waiting, BATCH):
            requests = [KINDS[kind](n) for n in range(start, min(start + BATCH, waiting))]
            submit_many(scheduler, requests)
        probes = [BatchJobRequest(job_type="probe", priority=1)] * (ROUNDS + 20)
        submit_many(scheduler, probes)
        _rounds(scheduler, 20)
        return _rounds(scheduler, ROUNDS)


def _prepare(scheduler: Scheduler) -> None:
    """One job runs for ever: it holds the lock, fills the limit and is waited for."""
    scheduler.store.write(lambda tx: tx.do("put_limit", name="full", size=1, rate=None))
    holder = JobRequest(job_type="holder", locks=("held",), limits={"full": 1})
    submit.submit(scheduler, holder)
    _claim(scheduler, "holder")


def _rounds(scheduler: Scheduler, count: int) -> float:
    began = time.perf_counter()
    for _ in range(count):
        (started,) = _claim(scheduler, None)
        _finish(scheduler, started)
    return (time.perf_counter() - began) / count * 1e6


def _finish(scheduler: Scheduler, started: Started) -> None:
    assert started.lease is not None
    report = Report(lease_id=started.lease.lease_id, outcome=Outcome(status=RunStatus.COMPLETED))
    scheduler.store.write(lambda tx: finish.finish(scheduler, tx, "w", [report]))


def _claim(scheduler: Scheduler, job_type: str | None) -> list[Started]:
    abilities = Abilities(job_types=(job_type,) if job_type else None)
    request = ClaimRequest(worker_id="w", abilities=abilities)
    return scheduler.store.write(lambda tx: dispatch.claim(scheduler, tx, request))
