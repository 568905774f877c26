"""A whole scheduler in a test, without threads of its own, without waiting."""

import random
import tempfile
import threading
from pathlib import Path
from types import TracebackType

import msgspec

from headway.client.app import App
from headway.client.client import Client
from headway.domain.runs import Outcome
from headway.domain.workers import Abilities, served_types
from headway.operations.local import LocalTransport
from headway.protocol.work_values import Report, Started
from headway.scheduler.claim import dispatch
from headway.scheduler.claim.dispatch import ClaimRequest
from headway.scheduler.manage import code_schedules
from headway.scheduler.programs import reports
from headway.scheduler.scheduler import Rules, Scheduler
from headway.scheduler.upkeep import timekeeper
from headway.storage.engine.store import Store
from headway.storage.engine.transaction import READY, Transaction
from headway.storage.sqlite.database import SqliteDatabase
from headway.testing.clock import MovableClock
from headway.worker import run_logs
from headway.worker.context import JobContext, Work
from headway.worker.executors import process_hooks
from headway.worker.executors.threads import ThreadExecutor
from headway.worker.local import LocalKeeper
from headway.worker.programs.recorder import StepRecorder
from headway.workspace import Workspace

WORKER = "test"
MOST_ROUNDS = 100_000


class Harness:
    """Runs an app's jobs on demand. The app's own client is put back at the end."""

    def __init__(self, app: App, *, clock: MovableClock | None = None, seed: int = 0) -> None:
        self.app = app
        self.clock = clock or MovableClock()
        self._folder = tempfile.TemporaryDirectory(prefix="headway-test-")
        root = Path(self._folder.name)
        self.database = root / "headway.db"
        """The SQLite file, for a connection of one's own."""
        database = SqliteDatabase(self.database, self.clock, durable=False)
        database.migrate()
        self.store = Store(database)
        self.scheduler = Scheduler(
            store=self.store,
            clock=self.clock,
            workspace=Workspace(root),
            data=root,
            chance=random.Random(seed),
            rules=Rules(),
            handlers=app.handlers,
            defaults=app.defaults,
        )
        self.store.write(lambda tx: code_schedules.match(self.scheduler, tx, "test", app.schedules))
        self._executor = ThreadExecutor(app.handlers, 1, app=app)
        self._journal = StepRecorder(LocalKeeper(self.scheduler, WORKER), now=self.clock.now)
        self._is_started = False
        self._started_at = self.clock.now()
        self._before = app._client
        app.client = Client(LocalTransport(self.scheduler))

    def run_until_idle(self) -> int:
        """Run jobs, one after the other, until nothing can run now; return how many ran."""
        run_logs.capture()
        if not self._is_started:
            process_hooks.start_up(self.app.startups, self._executor.on_loop)
            self._is_started = True
        for ran in range(MOST_ROUNDS):
            while timekeeper.run_due(self.scheduler, self._started_at) <= 0:
                pass
            if not self._run_next():
                return ran
        raise RuntimeError(f"still not idle after {MOST_ROUNDS} jobs")

    def advance(self, span: float | str) -> int:
        """Move the clock on and run what has come due; return how many jobs ran."""
        self.clock.advance(span)
        return self.run_until_idle()

    def close(self) -> None:
        """Give the app its own client back and remove the store."""
        if self._is_started:
            process_hooks.shut_down(self.app.shutdowns, self._executor.on_loop)
        self._executor.close()
        self._journal.close()
        self.store.close()
        self.app._client = self._before
        self._folder.cleanup()

    def __enter__(self) -> "Harness":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _run_next(self) -> bool:
        abilities = Abilities(job_types=served_types(self.app.handlers, commands=False))
        request = ClaimRequest(worker_id=WORKER, abilities=abilities)
        again, started = True, list[Started]()
        while again and not started:
            started, again = self.store.write(lambda tx: self._claim(tx, request))
        for job in started:
            self._report(job, self._execute(job))
        return bool(started)

    def _claim(self, tx: Transaction, request: ClaimRequest) -> tuple[list[Started], bool]:
        """Jobs, and whether the claim itself ended some, which may have set others free."""
        return dispatch.claim(self.scheduler, tx, request), READY in tx.wakes

    def _report(self, job: Started, outcome: Outcome) -> None:
        assert job.lease is not None
        reported = [Report(lease_id=job.lease.lease_id, outcome=outcome)]
        ready = reports.prepared(self.scheduler, reported)
        self.store.write(lambda tx: reports.record(self.scheduler, tx, WORKER, ready))

    def _execute(self, job: Started) -> Outcome:
        assert job.lease is not None
        work = Work(
            run_id=job.lease.lease_id,
            job_id=job.job_id,
            number=job.number,
            job_type=job.job_type,
            params=msgspec.json.decode(job.params),
            attempt=job.attempt,
            timeout_s=job.timeout_s,
            data=self.scheduler.data,
            steps=job.steps,
        )
        ended = threading.Event()
        outcomes: list[Outcome] = []

        def done(outcome: Outcome) -> None:
            outcomes.append(outcome)
            ended.set()

        self._executor.start(work, JobContext(work, None, self._journal), done)
        ended.wait()
        return outcomes[0]
