"""The worker: claims jobs, has them executed, reports how they ended."""

import logging
import random
import threading
import time
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from headway.domain import errors
from headway.domain.runs import Outcome
from headway.files.log_parts import OutputBound
from headway.protocol.work_shapes import MOST_PER_CLAIM
from headway.protocol.work_values import Started
from headway.worker import run_logs
from headway.worker.backoff import LONGEST_S, Backoff
from headway.worker.claiming import Claiming
from headway.worker.context import JobContext, Work
from headway.worker.executors import calls
from headway.worker.executors.interface import Executor
from headway.worker.job_lines import JobLines
from headway.worker.lease_keeper import Held, LeaseKeeper, margin
from headway.worker.log_shipper import LogShipper
from headway.worker.programs.recorder import StepRecorder
from headway.worker.reporter import Reporter
from headway.worker.slots import Slots
from headway.worker.transport import Transport
from headway.worker.two_step import Prepare, TwoStep

REGISTER_EVERY_S = 10.0
LOOK_S = 1.0
"""How often a worker whose slots are full looks after other things."""

PATIENCE_S = 0.003
"""How long slots and reports wait for others while work is plenty, to go together."""

log = logging.getLogger("headway.worker")


class Worker:
    """One worker. `start` returns at once; `stop` lets running work end first."""

    def __init__(
        self,
        transport: Transport,
        executor: Executor,
        *,
        slots: int,
        data: Path,
        bound: OutputBound | None = None,
        prepares: Mapping[str, Prepare] | None = None,
        shipper: LogShipper | None = None,
        lines: JobLines | None = None,
    ) -> None:
        self.slots = Slots(slots)
        self.executor = executor
        self.bound = bound or OutputBound()
        self._transport = transport
        self._data = data
        self._shipper = shipper
        self._lines = lines or JobLines()
        self._chance = random.Random()
        self._stopping = threading.Event()
        self._register_at = 0.0
        self._is_work_plenty = False
        self._keeper = LeaseKeeper(transport)
        self._reporter = Reporter(transport, self._flush, self._forget, self._chance)
        self._recorder = StepRecorder(transport, self._keeper.holds)
        self._claiming = Claiming(transport, self._reporter, self._keeper, shipper)
        self._two_step = TwoStep(transport, prepares or {}, self._stopping, self._chance)
        self._thread = threading.Thread(target=self._loop, name="headway-claims", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        run_logs.capture()
        self._register()  # before the first claim: recovery knows by it whose a lease was
        if self._shipper is not None:
            self._shipper.start(self._keeper.live)
        self._thread.start()

    @property
    def is_retired(self) -> bool:
        """Whether it claims nothing more: it is being stopped or drained."""
        return self._stopping.is_set()

    def retire(self) -> None:
        """Claim nothing more."""
        self._stopping.set()
        self._transport.wake()

    def stop(self, grace_s: float) -> bool:
        """Claim nothing more, let running work end; return whether all of it did."""
        give_up = time.monotonic() + grace_s
        self.retire()
        while self._thread.is_alive() and (left_s := give_up - time.monotonic()) > 0:
            self._thread.join(min(left_s, 0.5))
            self._transport.wake()  # once more for a claim that was on its way before
        self._reporter.poke()  # what ended while the last claim was on its way
        is_idle = self._wait_idle(give_up)
        if not is_idle:
            self._abandon()
        self._recorder.close()
        self._reporter.close(5.0 if is_idle else 1.0)
        self._keeper.close()
        if self._shipper is not None:
            self._shipper.close()
        try:
            self._transport.close()
        except errors.HeadwayError as error:
            log.warning("could not sign off: %s", error)
        return is_idle

    def _wait_idle(self, give_up: float) -> bool:
        while not self.slots.wait_idle(min(LOOK_S, max(0.0, give_up - time.monotonic()))):
            if time.monotonic() >= give_up:
                return False
            self._stay_known()
        return True

    def _abandon(self) -> None:
        """Time is up: programs are ended, the rest is for the recovery of the next start."""
        for held in self._keeper.held():
            held.fenced = True
            held.ctx.cancel()
            if held.running is not None:
                held.running.stop()

    def _loop(self) -> None:
        backoff = Backoff(self._chance)
        told = None
        while not self._stopping.is_set():
            self._stay_known()
            self._claiming.announce()
            if not self._wait_for_slots():
                self._reporter.poke()
                continue
            try:
                has_more = self._claim()
            except errors.Unavailable as error:
                if error.detail != told:
                    log.warning("could not claim jobs: %s", error)
                    told = error.detail
                self._stopping.wait(backoff.next_s())
                continue
            except Exception as error:
                log.error("claims are refused: %s", error)
                self._stopping.wait(LONGEST_S)
                continue
            backoff.reset()
            told = None
            if not has_more:
                self._transport.wait()

    def _wait_for_slots(self) -> bool:
        """Wait for a slot, and while work is plenty a moment for some more; False if none is free.

        Ends that the scheduler does not know of yet hold leases. While they are as many as there
        are slots, nothing more is claimed.
        """
        while self._claiming.is_behind(self.slots.size):
            self._reporter.poke()
            if self._stopping.wait(PATIENCE_S):
                return False
        if self._is_work_plenty:
            self.slots.wait_free(PATIENCE_S, max(1, self.slots.size // 2))
        return self.slots.wait_free(LOOK_S) and not self._stopping.is_set()

    def _claim(self) -> bool:
        """Claim jobs and start them; return whether there may be more."""
        with self.slots.door:
            wanted = min(self.slots.free, MOST_PER_CLAIM)
            if wanted <= 0 or self._claiming.is_behind(self.slots.size):
                return True  # that changed while a slot was waited for
            taken = self._claiming.claim(
                wanted, lease=self._two_step.is_over, claimed=self._two_step.claimed
            )
            self.slots.take(len(taken.jobs))
        self._is_work_plenty = len(taken.jobs) == wanted
        self._reporter.patience_s = PATIENCE_S if self._is_work_plenty else 0.0
        with self.executor.together():
            for job in taken.jobs:
                if job.lease is not None:
                    self._run(job, taken.since)
                else:
                    self._two_step.begin(job, self._run, self.slots.give_back)
        if taken.drain:
            self.retire()
        return self._is_work_plenty

    def _run(self, job: Started, asked: float) -> None:
        """Have a job executed under its lease, which was asked for at this time."""
        assert job.lease is not None
        lease_id, ttl_s = job.lease.lease_id, job.lease.ttl_s
        work = Work(
            run_id=lease_id,
            job_id=job.job_id,
            number=job.number,
            job_type=job.job_type,
            params={} if job.params == "{}" else msgspec.json.decode(job.params),
            attempt=job.attempt,
            timeout_s=job.timeout_s,
            data=self._data,
            deadline=asked + ttl_s - margin(ttl_s),
            steps=job.steps,
        )
        ctx = JobContext(work, self.bound, self._recorder)
        held = self._keeper.hold(lease_id, ttl_s, asked, ctx)
        if self._shipper is not None:
            self._shipper.wake()

        def done(outcome: Outcome) -> None:
            self._end(held, outcome)
            ran_s = time.monotonic() - asked
            self._lines.ended(job, outcome, ran_s, cancelled=held.cancel is not None)

        if held.fence_at <= time.monotonic():  # the answer came too late to begin
            held.fenced = True
            log.warning("job %s is not started: its lease came too late", job.number)
            done(calls.failed("its lease came too late", 1))
            return
        self._lines.started(job)
        try:
            held.running = self.executor.start(work, ctx, done)
            if held.must_stop:  # that was said before there was anything to stop
                held.running.stop()
        except Exception as error:
            log.exception("job %s could not be started", job.number)
            done(calls.failed(f"could not be started: {error}", 1))

    def _end(self, held: Held, outcome: Outcome) -> None:
        """A run has ended: report it, unless its lease is lost, and free its slot."""
        if held.fenced:
            self.slots.give_back()
            self._forget(held.lease_id)
            return
        # Added before the slot is free: a claim that uses the slot takes the report along.
        self._reporter.add(held.lease_id, outcome)
        self.slots.give_back()
        self._claiming.report(may_claim=self.slots.free > 0 and not self._stopping.is_set())

    def _flush(self, run_ids: Collection[str]) -> None:
        """Runs have ended: what they printed goes before their outcome."""
        if self._shipper is not None:
            self._shipper.flush(run_ids)

    def _forget(self, run_id: str) -> None:
        """The scheduler knows of the end, or does not want to."""
        self._keeper.drop(run_id)
        if self._shipper is not None:
            self._shipper.forget(run_id)

    def _stay_known(self) -> None:
        """From time to time: renew the registration, and log what was not shown one by one."""
        if time.monotonic() >= self._register_at:
            self._register()
            self._lines.flush()

    def _register(self) -> None:
        self._register_at = time.monotonic() + REGISTER_EVERY_S
        try:
            self._transport.register()
        except errors.HeadwayError as error:
            log.warning("could not register: %s", error)
