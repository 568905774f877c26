"""Drain: how fast no-op jobs go through the whole path."""

import time
from collections.abc import Sequence

from bench.bed import bed, working
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


def drain(count: int, slots: int, db: str | None = None) -> tuple[float, float]:
    """Jobs a second, and CPU microseconds a job."""
    with bed(db) as scheduler:
        fill(scheduler, count)
        before, cpu = time.perf_counter(), time.process_time()
        with working(scheduler, slots):
            wait_here(scheduler, count)
            seconds, used = time.perf_counter() - before, time.process_time() - cpu
    return count / seconds, used / count * 1e6
