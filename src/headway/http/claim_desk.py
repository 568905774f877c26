"""The claim desk: workers that wait for jobs, served in the order in which they came.

However many wait, a wake-up costs one transaction: workers that want the same and would get nothing
are not asked twice.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from headway.api.claims import claimed, read_claim, register
from headway.api.lease_shapes import ClaimBody, Claimed
from headway.domain import errors
from headway.domain.tokens import Principal
from headway.domain.workers import Abilities
from headway.scheduler import dispatch
from headway.scheduler.dispatch import ClaimRequest
from headway.scheduler.scheduler import Scheduler
from headway.storage import records
from headway.storage.awaiting import awaiting
from headway.storage.transaction import READY, SAFETY_POLL_S, Transaction

LONGEST_WAIT_S = 60.0

log = logging.getLogger("headway.http")


@dataclass(eq=False)
class _Waiter:
    principal: Principal
    body: ClaimBody
    request: ClaimRequest
    answer: "asyncio.Future[Claimed | None]"
    came: float = field(default_factory=time.monotonic)
    known: bool = False
    leaving: bool = False


_Answer = Claimed | errors.HeadwayError


class ClaimDesk:
    """Runs on the server's event loop."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._new: list[_Waiter] = []
        self._waiting: dict[_Waiter, None] = {}
        self._work_came = False
        self._poke = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stop_listening: Callable[[], None] | None = None
        self.open = True

    def start(self) -> None:
        """Begin to serve."""
        loop = asyncio.get_running_loop()

        def tell() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is already closed
                loop.call_soon_threadsafe(self._wake)

        self._stop_listening = self._scheduler.store.wakeups.listen(READY, tell)
        self._task = asyncio.create_task(self._loop())

    def _wake(self) -> None:
        self._work_came = True
        self._poke.set()

    async def stop(self) -> None:
        """Send everybody home, after those who are being served have what they came for."""
        self.open = False
        if self._stop_listening is not None:
            self._stop_listening()
        self._poke.set()
        if self._task is not None:
            await self._task
        for waiter in (*self._new, *self._waiting):
            if not waiter.answer.done():
                waiter.answer.set_result(None)

    async def claim(self, principal: Principal, body: ClaimBody) -> Claimed | None:
        """Jobs for a worker, or None if there are none within its time."""
        if not self.open:
            raise errors.Stopping()
        answer = asyncio.get_running_loop().create_future()
        waiter = _Waiter(principal, body, read_claim(body), answer)
        self._new.append(waiter)
        self._poke.set()
        try:
            wait_s = min(body.wait_s, LONGEST_WAIT_S)
            return await asyncio.wait_for(asyncio.shield(waiter.answer), wait_s or None)
        except TimeoutError:
            return await self._leave(waiter)
        finally:
            waiter.leaving = True
            self._waiting.pop(waiter, None)

    async def _leave(self, waiter: _Waiter) -> Claimed | None:
        """Time is up; what is claimed for this worker in the same moment is still its own."""
        waiter.leaving = True
        if waiter in self._waiting:
            return None
        return await waiter.answer

    async def _loop(self) -> None:
        while self.open:
            try:
                await asyncio.wait_for(self._poke.wait(), SAFETY_POLL_S)
            except TimeoutError:
                self._work_came = True
            if not self.open:
                return
            self._poke.clear()
            waiters, self._new = self._new, []
            if self._work_came:
                self._work_came = False
                waiters = [*self._waiting, *waiters]
                self._waiting.clear()
            if waiters:
                await self._serve(waiters)

    async def _serve(self, waiters: list[_Waiter]) -> None:
        """Ask for these; whoever gets nothing waits on, unless its time is up."""
        try:
            answers = await self._ask(waiters)
        except Exception as error:  # whatever it is, the next ones are served
            log.warning("%d workers could not be served: %r", len(waiters), error)
            for waiter in waiters:
                if not waiter.answer.done():
                    waiter.answer.set_exception(error)
            return
        for waiter in waiters:
            got = answers.get(waiter)
            if waiter.answer.done():
                continue
            if isinstance(got, errors.HeadwayError):
                waiter.answer.set_exception(got)
            elif got is not None or waiter.leaving or waiter.body.wait_s <= 0:
                waiter.answer.set_result(got)
            else:
                self._waiting[waiter] = None

    async def _ask(self, waiters: list[_Waiter]) -> dict[_Waiter, _Answer]:
        asked = time.monotonic()
        work = self._scheduler.store.write_later(lambda tx: self._claim_all(tx, waiters))
        answers = await awaiting(work)
        for waiter in waiters:
            waiter.known = True
        return {
            waiter: msgspec.structs.replace(got, waited_ms=int((asked - waiter.came) * 1000))
            if isinstance(got, Claimed)
            else got
            for waiter, got in answers.items()
        }

    def _claim_all(self, tx: Transaction, waiters: list[_Waiter]) -> dict[_Waiter, _Answer]:
        lanes = [records.lane(row) for row in tx.rows("ready_lanes")]
        empty_handed: set[Abilities] = set()
        answers: dict[_Waiter, _Answer] = {}
        for waiter in waiters:
            if waiter.leaving:
                continue
            if not waiter.known:
                try:
                    register(tx, waiter.principal, waiter.body, waiter.request)
                except errors.Forbidden as error:  # its own trouble, not that of the others
                    answers[waiter] = error
                    continue
            wanted = waiter.request.abilities
            if wanted in empty_handed or all(wanted.refusal(lane) for lane in lanes):
                continue
            got = dispatch.claim(self._scheduler, tx, waiter.request)
            if got:
                answers[waiter] = claimed(tx, got)
            if len(got) < waiter.request.max_jobs:
                empty_handed.add(wanted)
        return answers
