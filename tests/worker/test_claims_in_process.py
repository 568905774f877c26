"""The built-in worker claims when there may be something to claim, and not more often."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pytest
from tests.worker.executor_helpers import PATIENCE_S, eventually

from headway.clock import SystemClock
from headway.domain.handlers import Handler
from headway.domain.requests.job_requests import BatchJobRequest, JobRequest
from headway.domain.workers import Abilities
from headway.protocol.work_values import Report
from headway.scheduler.claim import pick
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import submit
from headway.storage.engine.store import Store
from headway.storage.sqlite.database import SqliteDatabase
from headway.worker import local as local_way
from headway.worker.executors.threads import ThreadExecutor
from headway.worker.local import LocalTransport
from headway.worker.loop import Worker
from headway.worker.transport import Registration, Taken
from headway.workspace import Workspace

SLOTS = 4


def noop() -> None:
    """Do nothing."""


class Counting(LocalTransport):
    """Counts the claims."""

    claims = 0

    def claim(
        self,
        count: int,
        *,
        lease: bool,
        reports: Sequence[Report],
        holds: Collection[str] | None = None,
    ) -> Taken:
        self.claims += 1
        return super().claim(count, lease=lease, reports=reports, holds=holds)


@pytest.fixture
def scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scheduler]:
    """A scheduler whose workers have nobody to wake them but each other."""
    monkeypatch.setattr(local_way, "SAFETY_POLL_S", 10 * PATIENCE_S)
    database = SqliteDatabase(tmp_path / "headway.db", SystemClock(), durable=False)
    database.migrate()
    store = Store(database)
    yield Scheduler(store=store, clock=SystemClock(), workspace=Workspace(tmp_path), data=tmp_path)
    store.close()


@pytest.fixture
def local(scheduler: Scheduler) -> Counting:
    """The way of a worker to the scheduler in its process."""
    abilities = Abilities(job_types=("noop",))
    return Counting(
        scheduler,
        Registration(
            worker_id="w", host="here", pid=1, process_started="1", abilities=abilities, slots=SLOTS
        ),
    )


@pytest.fixture
def worker(local: Counting, tmp_path: Path) -> Iterator[Worker]:
    """A worker that does nothing, quickly."""
    executor = ThreadExecutor({"noop": Handler.of(noop)}, SLOTS)
    worker = Worker(local, executor, slots=SLOTS, data=tmp_path)
    yield worker
    worker.stop(PATIENCE_S)


def ended(scheduler: Scheduler) -> dict[str, int]:
    return scheduler.store.read(lambda tx: {r["status"]: r["count"] for r in tx.rows("totals")})


def test_each_link_of_a_chain_costs_one_claim(
    scheduler: Scheduler, local: Counting, worker: Worker
) -> None:
    links = [
        BatchJobRequest(job_type="noop", ref=str(n), after=(f"ref:{n - 1}",) if n else ())
        for n in range(40)
    ]
    scheduler.store.write(lambda tx: submit.submit_all(scheduler, tx, links))
    worker.start()
    eventually(lambda: ended(scheduler) == {"SUCCEEDED": 40})
    assert local.claims < 60  # its end goes with the claim of the next; somebody else may wake it


def test_a_claim_that_passed_over_many_is_followed_by_another(
    scheduler: Scheduler, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pick, "MOST_PASSED_OVER", 2)
    same = JobRequest(job_type="noop", dedup_key="same", dedup_window_s=3600)
    scheduler.store.write(lambda tx: submit.submit_all(scheduler, tx, [same]))
    worker.start()
    eventually(lambda: ended(scheduler) == {"SUCCEEDED": 1})
    rest = [same] * 9 + [JobRequest(job_type="noop")]
    scheduler.store.write(lambda tx: submit.submit_all(scheduler, tx, rest))
    eventually(lambda: ended(scheduler) == {"SUCCEEDED": 2, "SKIPPED": 9})
