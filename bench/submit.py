"""Submit: how much many callers gain from sharing a commit."""

import asyncio
import threading
import time

from bench.bed import bed
from headway.domain.requests.job_requests import JobRequest
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import submit
from headway.storage.engine.awaiting import awaiting

REQUEST = JobRequest(job_type="noop")


def alone(count: int, db: str | None = None) -> float:
    """Submits a second by one caller: one transaction each."""
    with bed(db) as scheduler:
        began = time.perf_counter()
        for _ in range(count):
            submit.submit(scheduler, REQUEST)
        return count / (time.perf_counter() - began)


def threads(count: int, callers: int, db: str | None = None) -> float:
    """Submits a second by so many threads."""
    with bed(db) as scheduler:

        def call() -> None:
            for _ in range(count // callers):
                submit.submit(scheduler, REQUEST)

        running = [threading.Thread(target=call) for _ in range(callers)]
        began = time.perf_counter()
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        return count / (time.perf_counter() - began)


def tasks(count: int, callers: int, db: str | None = None) -> float:
    """Submits a second by so many asyncio tasks."""
    with bed(db) as scheduler:
        began = time.perf_counter()
        asyncio.run(_tasks(scheduler, count, callers))
        return count / (time.perf_counter() - began)


async def _tasks(scheduler: Scheduler, count: int, callers: int) -> None:
    async def call() -> None:
        for _ in range(count // callers):
            submission = submit.Submission(scheduler=scheduler, request=REQUEST)
            await awaiting(submit.submit_later(submission))

    await asyncio.gather(*(call() for _ in range(callers)))
