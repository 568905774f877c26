"""Direct requests: the next slot, first come, first served.

A direct request is not a job. It waits its turn, reserves the next slot, runs in the first one that
comes free, and lets the queue go on in unchanged order.
"""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from headway.domain import errors
from headway.domain.reservations import EXPIRES_AFTER_S, WAIT_TIMEOUT_S
from headway.domain.runs import Outcome, RunStatus
from headway.scheduler import direct
from headway.scheduler.scheduler import Scheduler
from headway.storage import log_files
from headway.storage.transaction import Transaction
from headway.worker.context import JobContext, Work
from headway.worker.loop import Worker

POLL_S = 0.2
LONGEST_WAIT_S = 86400.0


class DirectBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The params of a direct request and how long it may wait for a slot."""

    params: dict[str, Any] = msgspec.field(default_factory=dict)
    wait_timeout_s: float = WAIT_TIMEOUT_S


class DirectAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the handler returned."""

    result: Any
    waited_ms: int
    duration_ms: int


class DirectDesk:
    """Runs on the server's event loop, beside the built-in worker."""

    def __init__(self, scheduler: Scheduler, worker: Worker | None, server: str) -> None:
        self._scheduler = scheduler
        self._worker = worker
        self._server = server
        self._turn = asyncio.Lock()

    async def run(self, job_type: str, body: DirectBody) -> DirectAnswer:
        """Run a handler in the next slot and answer with its result."""
        self._check(job_type, body)
        asked = time.monotonic()
        request_id = self._scheduler.new_id(self._scheduler.clock.now())
        try:
            async with asyncio.timeout(body.wait_timeout_s) as waiting:
                async with self._turn:
                    return await self._run_in_turn(request_id, job_type, body, asked, waiting)
        except TimeoutError:
            await self._audit(job_type, "TIMEOUT", None, asked)
            raise errors.WaitedTooLong(body.wait_timeout_s) from None

    def _check(self, job_type: str, body: DirectBody) -> None:
        handler = self._scheduler.handlers.get(job_type)
        if handler is None or self._worker is None:
            raise errors.NotFound("handler for job type", job_type)
        if not 0 < body.wait_timeout_s <= LONGEST_WAIT_S:
            raise errors.InvalidRequest(
                "wait_timeout_s", f"{body.wait_timeout_s} is not between 0 and {LONGEST_WAIT_S:g}"
            )
        handler.check(body.params)

    async def _run_in_turn(
        self,
        request_id: str,
        job_type: str,
        body: DirectBody,
        asked: float,
        waiting: asyncio.Timeout,
    ) -> DirectAnswer:
        reservation_id = await self._reserve(job_type)
        taken = False
        try:
            await self._take_slot()
            taken = True
            waiting.reschedule(None)  # from here on it runs
            await self._write(lambda tx: direct.mark_running(self._scheduler, tx, reservation_id))
            started = time.monotonic()
            outcome = await self._execute(request_id, reservation_id, job_type, body.params)
            duration = time.monotonic() - started
        finally:
            if taken and self._worker is not None:
                self._worker.slots.give_back()
            await asyncio.shield(
                self._write(lambda tx: direct.release(self._scheduler, tx, reservation_id))
            )
        await self._audit(job_type, outcome.status, outcome.error, asked, duration)
        if outcome.status is RunStatus.FAILED:
            raise errors.HandlerFailed(outcome.error or "the handler failed")
        return DirectAnswer(
            result=outcome.result,
            waited_ms=int((started - asked) * 1000),
            duration_ms=int(duration * 1000),
        )

    async def _reserve(self, job_type: str) -> str:
        """Hold the next slot; somebody else's reservation is waited for."""
        holder = f"direct request {job_type}"
        while True:
            with contextlib.suppress(errors.SlotReserved):
                made = await self._write(
                    lambda tx: direct.reserve(self._scheduler, tx, holder, server=self._server)
                )
                return str(made.reservation_id)
            await asyncio.sleep(POLL_S)

    async def _take_slot(self) -> None:
        assert self._worker is not None
        while not await asyncio.to_thread(self._worker.slots.take_one, POLL_S):
            pass

    async def _execute(
        self, request_id: str, reservation_id: str, job_type: str, params: Mapping[str, Any]
    ) -> Outcome:
        assert self._worker is not None
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Outcome] = loop.create_future()
        work = Work(
            run_id=request_id,
            job_id=request_id,
            number=0,
            job_type=job_type,
            params=dict(params),
            attempt=0,
            timeout_s=None,
            log_dir=self._scheduler.data / log_files.folder(request_id),
        )

        def settle(outcome: Outcome) -> None:
            if not done.done():
                done.set_result(outcome)

        def tell(outcome: Outcome) -> None:
            loop.call_soon_threadsafe(settle, outcome)

        self._worker.executor.start(work, JobContext(work), tell)
        renewing = asyncio.create_task(self._renew(reservation_id))
        try:
            return await asyncio.shield(done)
        finally:
            renewing.cancel()
            if not done.done():
                await (
                    done
                )  # the client is gone, the handler is not: its slot is not free before it ends

    async def _renew(self, reservation_id: str) -> None:
        while True:
            await asyncio.sleep(EXPIRES_AFTER_S / 3)
            await self._write(lambda tx: direct.renew(self._scheduler, tx, reservation_id))

    async def _write(self, work: Any) -> Any:
        return await asyncio.wrap_future(self._scheduler.store.write_later(work))

    async def _audit(
        self,
        job_type: str,
        status: str,
        error: str | None,
        asked: float,
        duration: float | None = None,
    ) -> None:
        waited = time.monotonic() - asked - (duration or 0.0)

        def work(tx: Transaction) -> None:
            direct.record_request(
                self._scheduler,
                tx,
                job_type=job_type,
                status=status,
                error=error,
                waited_ms=int(waited * 1000),
                duration_ms=None if duration is None else int(duration * 1000),
            )

        await self._write(work)
