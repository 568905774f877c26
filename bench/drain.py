"""Drain: how fast no-op jobs go through the whole path."""

import time
from collections.abc import Sequence

from bench.bed import bed, handlers, working
from bench.cost import Cost, Meter
from headway.domain.requests.job_requests import JobRequest
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import submit

BATCH = 5000


def fill(scheduler: Scheduler, count: int, job_type: str = "noop") -> float:
    """Submit so many jobs in batches; answers the seconds it took."""
    began = time.perf_counter()
    for start in range(0, count, BATCH):
        requests = [JobRequest(job_type=job_type)] * min(BATCH, count - start)
        submit_many(scheduler, requests)
    return time.perf_counter() - began


def submit_many(scheduler: Scheduler, requests: Sequence[JobRequest]) -> None:
    """Submit jobs in one transaction."""
    scheduler.store.write(lambda tx: submit.submit_all(scheduler, tx, requests))


def ended(scheduler: Scheduler) -> int:
    """How many jobs have ended."""
    return sum(row["count"] for row in scheduler.store.read(lambda tx: list(tx.rows("totals"))))


def wait_for(scheduler: Scheduler, count: int) -> None:
    """Wait until so many jobs have ended; looking more often would be a load of its own."""
    while ended(scheduler) < count:
        time.sleep(0.05)


def wait_here(scheduler: Scheduler, count: int) -> None:
    """Wait until so many jobs of this process have ended: it need not ask before the last one."""
    while sum(map(sum, scheduler.seen.run_time.counts.values())) < count:
        time.sleep(0.02)
    wait_for(scheduler, count)


def drain(count: int, slots: int, db: str | None = None) -> Cost:
    """No-op jobs through the whole path, the start of the worker included."""
    with bed(db) as scheduler, handlers(slots) as pool:
        fill(scheduler, count)
        meter = Meter()
        with working(scheduler, slots, pool):
            wait_here(scheduler, count)
            return meter.cost(count)
