"""The worker: claims jobs, has them executed, reports how they ended."""

import logging
import random
import threading
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from headway.domain import errors
from headway.domain.leases import Lease
from headway.domain.runs import Outcome
from headway.files.log_parts import OutputBound
from headway.protocol.work_shapes import MOST_PER_CLAIM, Denied, Started
from headway.worker import run_logs
from headway.worker.context import JobContext, Work
from headway.worker.executors import calls
from headway.worker.executors.interface import Executor
from headway.worker.job_lines import JobLines
from headway.worker.lease_keeper import LeaseKeeper, margin
from headway.worker.log_shipper import LogShipper
from headway.worker.reporter import Reporter
from headway.worker.slots import Slots
from headway.worker.transport import Ended, Taken, Transport

REGISTER_EVERY_S = 10.0
FIRST_WAIT_S = 0.1
LONGEST_WAIT_S = 15.0
PATIENCE_S = 0.003

Prepare = Callable[[], Any]

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
        self._transport = transport
        self._data = data
        self.bound = bound or OutputBound()
        self._unprepared = dict(prepares or {})
        self._preparing = threading.Lock()
        self._chance = random.Random()
        self._plenty = False
        self._claimed: set[str] = set()
        self._all_answered = True
        self._collects = False
        self._takes_reports = transport.takes_reports
        self._stopping = threading.Event()
        self._leaving = threading.Event()
        self._keeper = LeaseKeeper(transport)
        self._shipper = shipper
        self._lines = lines or JobLines()
        self._reporter = Reporter(transport, self._flush, self._reported, self._chance)
        self._claimer = threading.Thread(
            target=self._claim_loop, name="headway-claims", daemon=True
        )
        self._registrar = threading.Thread(
            target=self._register_loop, name="headway-worker", daemon=True
        )

    def start(self) -> None:
        """Begin to work."""
        run_logs.capture()
        self._register()  # before the first claim: recovery knows by it whose a lease was
        if self._shipper is not None:
            self._shipper.start(self._keeper.live)
        self._registrar.start()
        self._claimer.start()

    @property
    def is_retired(self) -> bool:
        """Whether it claims nothing more: it was told to stop or to drain."""
        return self._stopping.is_set()

    def retire(self) -> None:
        """Claim nothing more."""
        self._stopping.set()
        self._transport.wake()

    def stop(self, grace_s: float) -> bool:
        """Claim nothing more, let running work end; return whether all of it did."""
        give_up = time.monotonic() + grace_s
        self.retire()
        while self._claimer.is_alive() and (left_s := give_up - time.monotonic()) > 0:
            self._claimer.join(min(left_s, 0.5))
            self._transport.wake()  # once more for a claim that was on its way before
        self._reporter.poke()  # what ended while the last claim was on its way
        idle = self.slots.wait_idle(max(0.0, give_up - time.monotonic()))
        if not idle:
            self._abandon()
        self._reporter.close(5.0 if idle else 1.0)
        self._keeper.close()
        if self._shipper is not None:
            self._shipper.close()
        self._leaving.set()
        self._registrar.join()
        try:
            self._transport.close()
        except errors.HeadwayError as error:
            log.warning("could not sign off: %s", error)
        return idle

    def _abandon(self) -> None:
        """Time is up: programs are ended, the rest is for the recovery of the next start."""
        for held in self._keeper.held():
            held.fenced = True
            held.ctx.cancel()
            if held.running is not None:
                held.running.stop()

    def _register_loop(self) -> None:
        while not self._leaving.wait(REGISTER_EVERY_S):
            self._register()
            self._lines.flush()

    def _register(self) -> None:
        try:
            self._transport.register()
        except errors.HeadwayError as error:
            log.warning("could not register: %s", error)

    def _claim_loop(self) -> None:
        wait_s = FIRST_WAIT_S
        told = None
        while not self._stopping.is_set():
            self._collects = self._takes_reports
            self._gather_slots()
            if not self.slots.wait_free(1.0) or self._stopping.is_set():
                self._reporter.poke()
                continue
            try:
                took_all = self._claim()
                wait_s, told = FIRST_WAIT_S, None
            except errors.Unavailable as error:
                if error.detail != told:
                    log.warning("could not claim jobs: %s", error)
                    told = error.detail
                self._stopping.wait(wait_s * self._chance.uniform(0.5, 1.0))
                wait_s = min(wait_s * 2, LONGEST_WAIT_S)
                continue
            except Exception as error:
                log.error("claims are refused: %s", error)
                self._stopping.wait(LONGEST_WAIT_S)
                continue
            if took_all:
                self._transport.wait()

    def _gather_slots(self) -> None:
        """While work is plenty, claims wait a moment for some slots, to take more at once.

        Ends that the scheduler does not know of yet hold leases. While they are as many as there
        are slots, nothing more is claimed.
        """
        while self._has_too_much_to_report:
            self._reporter.poke()
            if self._stopping.wait(PATIENCE_S):
                return
        if self._plenty:
            self.slots.wait_free(PATIENCE_S, max(1, self.slots.size // 2))

    @property
    def _has_too_much_to_report(self) -> bool:
        return not self._takes_reports and self._reporter.unreported >= self.slots.size

    def _claim(self) -> bool:
        """Claim jobs and start them; return whether no more are left for now."""
        with self.slots.door:
            wanted = min(self.slots.free, MOST_PER_CLAIM)
            if wanted <= 0 or self._has_too_much_to_report:  # it may while a slot was waited for
                return False
            taken = self._take(wanted)
            self.slots.take(len(taken.jobs))
            self._plenty = len(taken.jobs) == wanted
            self._reporter.patience_s = PATIENCE_S if self._plenty else 0.0
        for job in taken.jobs:
            if job.lease is not None:
                self._run(job, taken.since)
            else:
                self._claimed.add(job.job_id)
                threading.Thread(target=self._prepare_and_run, args=(job,), daemon=True).start()
        if taken.drain:
            self.retire()
        return not self._plenty

    def _take(self, count: int) -> Taken:
        """Claim jobs, and say in the same breath which have ended."""
        self._collects = False
        self._keeper.catch_up()
        ended = self._silent(self._reporter.take()) if self._takes_reports else []
        self._takes_reports = self._transport.takes_reports
        # After an answer that never came: what was leased to us may be more than we know of.
        holds = None if self._all_answered else [*self._claimed, *self._keeper.known()]
        self._all_answered = False
        try:
            taken = self._transport.claim(
                count, lease=not self._unprepared, ended=ended, holds=holds
            )
        except Exception as error:
            self._reporter.put_back(ended)
            if not ended or isinstance(error, errors.Unavailable):
                raise
            self._takes_reports = False  # one of them is bad: the reporter finds out which
            return Taken(jobs=[], since=0.0)
        self._all_answered = True
        if taken.reported is not None:
            self._reporter.taken_along(ended, taken.reported)
        else:
            self._reporter.put_back(ended)
        return taken

    def _run(self, job: Started, asked: float) -> None:
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
        )
        ctx = JobContext(work, self.bound)
        held = self._keeper.hold(lease_id, ttl_s, asked, ctx)
        if self._shipper is not None:
            self._shipper.wake()

        def done(outcome: Outcome) -> None:
            lost = held.fenced
            if not lost:  # first of all: a claim that uses the slot takes it along
                self._reporter.add(lease_id, outcome)
            self.slots.give_back()
            self._reported(lease_id) if lost else self._report()
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

    def _report(self) -> None:
        """With the next claim if there can be one, or else at once."""
        way = self._transport
        taken_along = way.takes_reports and (self._collects or not way.claims_wait)
        if taken_along and self.slots.free > 0 and not self._stopping.is_set():
            way.poke()
        else:
            self._reporter.poke()

    def _silent(self, ended: list[Ended]) -> list[Ended]:
        """Claims do not wait for output to be sent: runs that have some are reported apart."""
        if self._shipper is None:
            return ended
        loud = [one for one in ended if self._shipper.has_output(one.lease_id)]
        if not loud:
            return ended
        self._reporter.put_back(loud)
        return [one for one in ended if one not in loud]

    def _flush(self, run_ids: Collection[str]) -> None:
        """Runs have ended: what they printed goes before their outcome."""
        if self._shipper is not None:
            self._shipper.flush(run_ids)

    def _reported(self, run_id: str) -> None:
        self._keeper.drop(run_id)
        if self._shipper is not None:
            self._shipper.forget(run_id)

    def _prepare_and_run(self, job: Started) -> None:
        """The two-step way: set up what the job needs, then ask for the lease."""
        try:
            self._prepare(job)
            granted = self._ask_for_lease(job)
        except Exception as error:
            log.warning("job %s was claimed and could not be started: %s", job.number, error)
            granted = None
        if granted is None:
            self.slots.give_back()
        else:
            lease, asked = granted
            self._run(msgspec.structs.replace(job, lease=lease), asked)
        self._claimed.discard(job.job_id)

    def _ask_for_lease(self, job: Started) -> tuple[Lease, float] | None:
        """A lease and when it was asked for; None when this worker stops first."""
        wait_s = FIRST_WAIT_S
        while True:
            asked = time.monotonic()
            try:
                answer = self._transport.request_lease(job.job_id)
            except errors.Unavailable as error:
                log.warning("job %s waits for the scheduler: %s", job.number, error)
                pause_s = wait_s * self._chance.uniform(0.5, 1.0)
                wait_s = min(wait_s * 2, LONGEST_WAIT_S)
            else:
                if not isinstance(answer, Denied):
                    return answer.lease, asked
                pause_s = answer.retry_after_ms / 1000
            if self._stopping.wait(pause_s):
                return None

    def _prepare(self, job: Started) -> None:
        with self._preparing:
            hook = self._unprepared.get(job.job_type)
            if hook is not None:
                self._transport.prepare(job.job_id)
                hook()
                del self._unprepared[job.job_type]
