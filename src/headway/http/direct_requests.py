"""Direct requests: the next slot, first come, first served.

A direct request is not a job. It waits its turn, reserves the next slot, runs in the first one that
comes free, and lets the queue go on in unchanged order.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

import msgspec

from headway.domain import errors, secrets, taken
from headway.domain.answers import DirectAnswer
from headway.domain.manage.reservations import EXPIRES_AFTER_S
from headway.domain.manage.tokens import Principal
from headway.domain.requests.job_requests import DirectBody
from headway.domain.runs import Outcome, RunStatus
from headway.domain.values import plain_json
from headway.scheduler.manage import audit
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import direct
from headway.storage.engine.awaiting import awaiting
from headway.storage.engine.transaction import Transaction
from headway.worker.context import JobContext, Work
from headway.worker.executors import calls
from headway.worker.loop import Worker

POLL_S = 0.2
LONGEST_WAIT_S = 86400.0
NEXT = "the next direct request"

Value = TypeVar("Value")


class DirectRequests:
    """Runs on the server's event loop, beside the built-in worker."""

    def __init__(self, scheduler: Scheduler, worker: Worker | None) -> None:
        self._scheduler = scheduler
        self._worker = worker
        self._turn = asyncio.Lock()
        self._present = 0
        self._closed = asyncio.Event()
        self._inherited: str | None = None

    def close(self) -> None:
        """The server stops and has waited long enough: handlers that still run are given up."""
        self._closed.set()

    async def run(self, by: Principal, job_type: str, body: DirectBody) -> DirectAnswer:
        """Run a handler in the next slot and answer with its result."""
        await asyncio.to_thread(self._check, job_type, body)  # params may be long
        asked = time.monotonic()
        request_id = self._scheduler.new_id(self._scheduler.clock.now())
        self._present += 1
        try:
            async with asyncio.timeout(body.wait_timeout_s) as waiting:
                async with self._turn:
                    return await self._run_in_turn(by, request_id, job_type, body, asked, waiting)
        except TimeoutError:
            await self._audit(request_id, job_type, "TIMEOUT", None, asked)
            raise errors.WaitedTooLong(body.wait_timeout_s) from None
        except asyncio.CancelledError:
            await asyncio.shield(self._audit(request_id, job_type, "CLIENT_GONE", None, asked))
            raise
        finally:
            self._present -= 1
            await self._lock_up()

    def _check(self, job_type: str, body: DirectBody) -> None:
        handler = self._scheduler.handlers.get(job_type)
        if handler is None or self._worker is None:
            raise errors.NotFound("handler for job type", job_type)
        if not 0 < body.wait_timeout_s <= LONGEST_WAIT_S:
            raise errors.InvalidRequest(
                "wait_timeout_s", f"{body.wait_timeout_s} is not between 0 and {LONGEST_WAIT_S:g}"
            )
        plain_json.refuse_nonsense(body.params, "params")
        for one in taken.found(body.params):
            problem = "a direct request waits for no job: send the result itself"
            raise errors.InvalidRequest(one.field, problem)
        handler.check(body.params)

    async def _run_in_turn(
        self,
        by: Principal,
        request_id: str,
        job_type: str,
        body: DirectBody,
        asked: float,
        waiting: asyncio.Timeout,
    ) -> DirectAnswer:
        reservation_id = await self._reserve(job_type)
        renewing = asyncio.create_task(self._renew(reservation_id))
        taken = False
        try:
            taken = await self._take_slot()
            waiting.reschedule(None)  # from here on it runs
            await self._write(lambda tx: self._mark_running(tx, by, job_type, reservation_id))
            started = time.monotonic()
            outcome = self._shown(await self._execute(request_id, job_type, body.params), body)
            if outcome.wait is not None:
                outcome = calls.failed(outcome.error or "a direct request cannot wait")
            duration = time.monotonic() - started
        finally:
            renewing.cancel()
            try:
                await asyncio.shield(self._hand_on(reservation_id))
            finally:
                if taken and self._worker is not None:
                    self._worker.slots.give_back()
        record = self._audit(request_id, job_type, outcome.status, outcome.error, asked, duration)
        await asyncio.shield(record)
        if outcome.status is RunStatus.FAILED:
            raise errors.HandlerFailed(
                calls.without_traceback(outcome.error or "") or "the handler failed"
            )
        return DirectAnswer(
            result=outcome.result,
            waited_ms=int((started - asked) * 1000),
            duration_ms=int(duration * 1000),
        )

    def _mark_running(
        self, tx: Transaction, by: Principal, job_type: str, reservation_id: str
    ) -> None:
        direct.mark_running(self._scheduler, tx, reservation_id)
        audit.note(self._scheduler, tx, by, "run_direct", f"job_type {job_type}")

    async def _reserve(self, job_type: str) -> str:
        """Hold the next slot; another request's reservation is waited for."""
        if self._inherited is not None:
            inherited, self._inherited = self._inherited, None
            return inherited
        holder = f"direct request {job_type}"
        while True:
            with contextlib.suppress(errors.SlotReserved):
                return await _or_undo(self._write_reservation(holder), self._release)
            await asyncio.sleep(POLL_S)

    async def _write_reservation(self, holder: str) -> str:
        server = self._scheduler.server
        made = await self._write(
            lambda tx: direct.reserve(self._scheduler, tx, holder, server=server)
        )
        return str(made.reservation_id)

    async def _release(self, reservation_id: str) -> None:
        await self._write(lambda tx: direct.release(self._scheduler, tx, reservation_id))

    async def _hand_on(self, reservation_id: str) -> None:
        """Hand the slot to the next request before it is free, so that no job takes it."""
        if self._present == 1:
            await self._release(reservation_id)
            return

        def work(tx: Transaction) -> str:
            direct.release(self._scheduler, tx, reservation_id)
            server = self._scheduler.server
            return direct.reserve(self._scheduler, tx, NEXT, server=server).reservation_id

        self._inherited = await self._write(work)

    async def _lock_up(self) -> None:
        """The last request releases a slot that was handed on to one that has ended."""
        if not self._present and self._inherited is not None:
            inherited, self._inherited = self._inherited, None
            await asyncio.shield(self._release(inherited))

    async def _take_slot(self) -> bool:
        assert self._worker is not None
        slots = self._worker.slots

        async def give_back(taken: bool) -> None:
            if taken:
                slots.give_back()

        while not await _or_undo(asyncio.to_thread(slots.take_one, POLL_S), give_back):
            pass
        return True

    async def _execute(self, request_id: str, job_type: str, params: Mapping[str, Any]) -> Outcome:
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
            data=self._scheduler.data,
        )

        def settle(outcome: Outcome) -> None:
            if not done.done():
                done.set_result(outcome)

        def tell(outcome: Outcome) -> None:
            loop.call_soon_threadsafe(settle, outcome)

        self._worker.executor.start(work, JobContext(work, self._worker.bound), tell)
        try:
            await self._ended(done)
        except asyncio.CancelledError:  # the client is gone, the handler is not: its slot is taken
            await self._ended(done)
            raise
        if not done.done():
            raise errors.Stopping()
        return done.result()

    async def _ended(self, done: "asyncio.Future[Outcome]") -> None:
        """Wait for the end of a handler; when the server stops, for no longer than its grace."""
        closed = asyncio.ensure_future(self._closed.wait())
        either: set[asyncio.Future[Any]] = {done, closed}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            closed.cancel()

    def _shown(self, outcome: Outcome, body: DirectBody) -> Outcome:
        """An outcome whose error quotes no secret param."""
        if outcome.error is None:
            return outcome
        names = secrets.names(self._scheduler.rules.secret_params)
        error = secrets.hidden(outcome.error, body.params, names)
        return msgspec.structs.replace(outcome, error=error)

    async def _renew(self, reservation_id: str) -> None:
        while True:
            await asyncio.sleep(EXPIRES_AFTER_S / 3)
            await self._write(lambda tx: direct.renew(tx, reservation_id))

    async def _write(self, work: Any) -> Any:
        return await awaiting(self._scheduler.store.write_later(work))

    async def _audit(
        self,
        request_id: str,
        job_type: str,
        status: str,
        error: str | None,
        asked: float,
        duration: float | None = None,
    ) -> None:
        waited = time.monotonic() - asked - (duration or 0.0)

        def work(tx: Transaction) -> None:
            direct.record_request(
                tx,
                request_id=request_id,
                job_type=job_type,
                status=status,
                error=error,
                waited_ms=int(waited * 1000),
                duration_ms=None if duration is None else int(duration * 1000),
            )

        await self._write(work)


async def _or_undo(
    step: Coroutine[Any, Any, Value], undo: Callable[[Value], Coroutine[Any, Any, None]]
) -> Value:
    """Await a step that cannot be interrupted; if cancelled meanwhile, release what it got."""
    doing = asyncio.ensure_future(step)
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        with contextlib.suppress(errors.HeadwayError):
            await undo(await doing)
        raise
