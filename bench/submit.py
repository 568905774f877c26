"""Submit: what one caller costs, and what many gain from sharing a commit."""

import asyncio
import threading

from bench.bed import bed
from bench.cost import Cost, Meter
from bench.drain import submit_many
from headway.domain.requests.job_requests import JobRequest
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import submit
from headway.storage.engine.awaiting import awaiting

REQUEST = JobRequest(job_type="noop")


def alone(count: int, db: str | None = None) -> Cost:
    """One caller: one transaction each."""
    with bed(db) as scheduler:
        meter = Meter()
        for _ in range(count):
            submit.submit(scheduler, REQUEST)
        return meter.cost(count)


def bulk(count: int, batch: int, db: str | None = None) -> Cost:
    """One caller: a batch in each transaction."""
    with bed(db) as scheduler:
        meter = Meter()
        for start in range(0, count, batch):
            submit_many(scheduler, [REQUEST] * min(batch, count - start))
        return meter.cost(count)


def threads(count: int, callers: int, db: str | None = None) -> Cost:
    """So many threads."""
    with bed(db) as scheduler:

        def call() -> None:
            for _ in range(count // callers):
                submit.submit(scheduler, REQUEST)

        running = [threading.Thread(target=call) for _ in range(callers)]
        meter = Meter()
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        return meter.cost(count)


def tasks(count: int, callers: int, db: str | None = None) -> Cost:
    """So many asyncio tasks."""
    with bed(db) as scheduler:
        meter = Meter()
        asyncio.run(_tasks(scheduler, count, callers))
        return meter.cost(count)


async def _tasks(scheduler: Scheduler, count: int, callers: int) -> None:
    async def call() -> None:
        for _ in range(count // callers):
            submission = submit.Submission(scheduler=scheduler, request=REQUEST)
            await awaiting(submit.submit_later(submission))

    await asyncio.gather(*(call() for _ in range(callers)))
