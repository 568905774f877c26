"""A worker's way to the scheduler in the same process."""

import threading
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial

from headway.domain.steps import Step
from headway.protocol.work_shapes import HeartbeatItem
from headway.protocol.work_values import (
    BeatAnswer,
    Denied,
    Granted,
    Report,
    ReportAnswer,
    Started,
    StepAnswer,
    StepReport,
)
from headway.scheduler.change import cancel
from headway.scheduler.claim import claims, registration
from headway.scheduler.claim.dispatch import ClaimRequest
from headway.scheduler.lease import leases
from headway.scheduler.programs import reports as programs
from headway.scheduler.programs import signals, steps
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.transaction import READY, SAFETY_POLL_S, Transaction
from headway.worker.transport import Registration, Taken


class LocalKeeper:
    """The journals of a worker's jobs, straight from the scheduler in this process."""

    def __init__(self, scheduler: Scheduler, worker_id: str) -> None:
        self._scheduler = scheduler
        self._store = scheduler.store
        self._worker_id = worker_id

    def journal(self, lease_id: str) -> Sequence[Step]:
        """The journal of the job of a lease, if it was too large for the claim."""
        me = self._worker_id
        return self._store.read(lambda tx: steps.of_lease(tx, me, lease_id))

    def record_steps(self, done: Sequence[StepReport]) -> list[StepAnswer]:
        """Record steps in the journals of their jobs; they are on disk when this returns."""
        for one in done:
            steps.check(self._scheduler, one)
        me = self._worker_id
        return self._store.write_beside(lambda tx: steps.record(tx, me, done))

    def take_signal(self, lease_id: str, name: str, index: int) -> Step | None:
        """Take a signal that has come, if there is one."""
        me = self._worker_id
        return self._store.write(lambda tx: signals.take(tx, me, lease_id, name, index))


class LocalTransport(LocalKeeper):
    """Straight to the scheduler in this process."""

    claims_wait = False

    def __init__(
        self, scheduler: Scheduler, registration: Registration, only_job: int | None = None
    ) -> None:
        super().__init__(scheduler, registration.worker_id)
        self._me = registration
        self.takes_reports = not scheduler.store.database.parallel
        self._only_job = only_job
        self._ready = threading.Event()
        self._claimer: int | None = None
        self._closing = threading.Event()
        self._stop_listening = [self._store.wakeups.listen(READY, self._hear)]
        scheduler.threads.when_one_ends = lambda: self._store.wakeups.tell([READY])

    def register(self) -> None:
        """Register the worker, and renew its registration."""
        self._store.write_beside(self._see)

    def _see(self, tx: Transaction) -> None:
        me = self._me
        registration.see(
            self._scheduler,
            tx,
            worker_id=me.worker_id,
            host=me.host,
            pid=me.pid,
            process_started=me.process_started,
            built_in=True,
            abilities=me.abilities,
            slots=me.slots,
            home=me.home,
        )

    def claim(
        self,
        count: int,
        *,
        lease: bool,
        reports: Sequence[Report],
        holds: Collection[str] | None = None,
    ) -> Taken:
        """Jobs that can start now, those among them that the reports set free."""
        since = time.monotonic()
        request = ClaimRequest(
            worker_id=self._me.worker_id,
            abilities=self._me.abilities,
            max_jobs=count,
            lease=lease,
            only_job=self._only_job,
        )

        def claim(tx: Transaction) -> list[Started]:
            taken = claims.claim(self._scheduler, tx, request, holds)
            if READY in tx.wakes:  # what it sent to wait or skipped may have set others free
                self._ready.set()
            return taken

        self._claimer = threading.get_ident()
        try:
            if not reports:
                return Taken(jobs=self._store.write_apart(claim), since=since)
            ready = programs.prepared(self._scheduler, reports)
            reported, claimed = self._store.write_both(partial(self._finish, ready), claim)
            answers = None if reported.exception() else reported.result()
            return Taken(jobs=claimed.result(), since=since, reported=answers)
        finally:
            self._claimer = None

    def _hear(self) -> None:
        """Jobs were set free elsewhere; those of its own claim are known to that claim."""
        if threading.get_ident() != self._claimer:
            self._ready.set()

    def wait(self) -> None:
        """Sleep until there may be something to claim."""
        if not self._closing.is_set():
            self._ready.wait(SAFETY_POLL_S)
            # Here and not in `claim`, whose reports are chosen before it is called: a poke in
            # between would be forgotten.
            self._ready.clear()

    def poke(self) -> None:
        """Stop sleeping, this once."""
        if not self._ready.is_set():
            self._ready.set()

    def wake(self) -> None:
        """Stop sleeping, now and from now on."""
        self._closing.set()
        self._ready.set()

    def prepare(self, job_id: str) -> None:
        """The runtime for a claimed job is being set up."""
        self._store.write(
            lambda tx: leases.prepare(self._scheduler, tx, job_id, self._me.worker_id)
        )

    def request_lease(self, job_id: str) -> Granted | Denied:
        """Ask to start a claimed job."""
        return self._store.write(
            lambda tx: leases.request(self._scheduler, tx, job_id, self._me.worker_id, None)
        )

    def heartbeat(self, beats: Sequence[HeartbeatItem]) -> list[BeatAnswer]:
        """Keep leases alive."""
        return self._store.write_beside(
            lambda tx: leases.heartbeat(self._scheduler, tx, self._me.worker_id, beats)
        )

    def release(self, reports: Sequence[Report]) -> list[ReportAnswer]:
        """Report how runs ended."""
        ready = programs.prepared(self._scheduler, reports)
        return self._store.write_beside(partial(self._finish, ready))

    def _finish(self, reports: Sequence[Report], tx: Transaction) -> list[ReportAnswer]:
        return programs.record(self._scheduler, tx, self._me.worker_id, reports)

    def on_cancel(self, tell: Callable[[], None]) -> None:
        """Call this when a running job is to end."""
        self._stop_listening.append(self._store.wakeups.listen(cancel.CANCELS, tell))

    def close(self) -> None:
        """Deregister the worker; one that holds nothing is forgotten."""
        for stop in self._stop_listening:
            stop()
        self._store.write(lambda tx: claims.leave(self._scheduler, tx, self._me.worker_id))
