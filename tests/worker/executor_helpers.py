"""What the tests of executors share."""

import queue
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headway.domain.runs import Outcome
from headway.worker.context import JobContext, Work
from headway.worker.executors.interface import Executor
from headway.worker.executors.threads import ThreadExecutor

PATIENCE_S = 30.0

Start = Callable[..., ThreadExecutor]


class Outcomes:
    """A receiver of outcomes that a test can wait for."""

    def __init__(self) -> None:
        self._received: queue.Queue[Outcome] = queue.Queue()

    def __call__(self, outcome: Outcome) -> None:
        self._received.put(outcome)

    def next(self) -> Outcome:
        """The next outcome, waited for."""
        return self._received.get(timeout=PATIENCE_S)

    def is_empty(self) -> bool:
        """Whether nothing more has come."""
        return self._received.empty()


def make_work(
    directory: Path,
    job_type: str,
    params: Mapping[str, Any] | None = None,
    *,
    timeout_s: float | None = None,
    deadline: float | None = None,
    run_id: str | None = None,
) -> Work:
    """A run to execute, with its logs in a folder of the test."""
    return Work(
        run_id=run_id or str(uuid.uuid4()),  # processes are found by it, on the whole machine
        job_id="job-1",
        number=1,
        job_type=job_type,
        params=dict(params or {}),
        attempt=0,
        timeout_s=timeout_s,
        data=directory,
        deadline=deadline,
    )


def run(executor: Executor, work: Work) -> Outcome:
    """Execute to the end."""
    outcomes = Outcomes()
    executor.start(work, JobContext(work), outcomes)
    return outcomes.next()


def eventually(is_true: Callable[[], bool]) -> None:
    """Wait for something that cannot tell by itself."""
    give_up = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < give_up, "it did not happen in time"
        time.sleep(0.01)


def read_when_there(path: Path) -> str:
    """The text of a file that another process writes, once its last line is complete."""
    eventually(lambda: path.exists() and path.read_text().endswith("\n"))
    return path.read_text()
