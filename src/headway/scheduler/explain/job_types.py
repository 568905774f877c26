"""What can be submitted here: the types of jobs, with the params that they take."""

import inspect
from collections import Counter
from typing import Any

import msgspec

from headway.domain.answers import JobType
from headway.domain.handlers import CommandParams
from headway.domain.jobs import COMMAND
from headway.scheduler.admit.live_workers import known_workers
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.transaction import Transaction

RUN_A_COMMAND = "Run a command."


def known(scheduler: Scheduler, tx: Transaction) -> list[JobType]:
    """Every type that this process has a handler for, or that a live worker takes, by name."""
    live = [worker for worker in known_workers(scheduler, tx) if worker.alive]
    taken = Counter(name for worker in live for name in worker.job_types or ())
    return [_shown(scheduler, name, taken[name]) for name in sorted({*taken, *scheduler.handlers})]


def _shown(scheduler: Scheduler, job_type: str, workers: int) -> JobType:
    form: dict[str, Any] | None = None
    description = None
    if handler := scheduler.handlers.get(job_type):
        form = handler.form()
        description = (inspect.getdoc(handler.function) or "").partition("\n\n")[0] or None
    elif job_type == COMMAND:
        form = msgspec.json.schema_components((CommandParams,))[1][CommandParams.__name__]
        description = RUN_A_COMMAND
    return JobType(job_type=job_type, description=description, form=form, workers=workers)
