"""Long polls for claims: workers that wait for jobs, served in the order of their requests.

However many wait, a wake-up costs one transaction: workers that want the same and would get nothing
are not asked twice. A worker that comes back just to wait on costs none.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from headway.domain import errors
from headway.domain.jobs import Lane
from headway.domain.manage.tokens import Principal
from headway.domain.workers import Abilities
from headway.http.open_requests import Ended
from headway.operations.work.claims import (
    claimed,
    drained,
    read_claim,
    read_reports,
    register,
    report,
)
from headway.protocol.work_shapes import BriefClaimed, ClaimBody, Claimed
from headway.protocol.work_values import Report
from headway.scheduler.claim import claims
from headway.scheduler.claim.dispatch import ClaimRequest
from headway.scheduler.scheduler import Scheduler
from headway.storage import lanes
from headway.storage.engine.awaiting import awaiting
from headway.storage.engine.transaction import READY, SAFETY_POLL_S, Transaction
from headway.storage.manage import tokens, workers

LONGEST_WAIT_S = 60.0
MOST_REMEMBERED = 10_000

log = logging.getLogger("headway.http")


_Face = tuple[str | None, Abilities, int | None, tuple[str | None, int | None, str | None]]


@dataclass(eq=False)
class _Waiter:
    principal: Principal
    body: ClaimBody
    request: ClaimRequest
    reports: list[Report]
    answer: "asyncio.Future[_Claimed | None]"
    ended: Ended
    came: float = field(default_factory=time.monotonic)
    leaving: bool = False
    draining: bool | None = None
    """Whether the worker is to take no more jobs; None before it was looked at."""

    @property
    def face(self) -> _Face:
        """By what a worker that comes again is recognized."""
        body = self.body
        process = (body.host, body.pid, body.process_started)
        return self.principal.token_id, self.request.abilities, body.slots, process

    @property
    def kind(self) -> "_Kind":
        """Equal requests get nothing either; without a lease limits do not count."""
        return self.request.abilities, self.request.lease

    @property
    def waits(self) -> bool:
        """Whether it stays when there is nothing."""
        return self.body.wait_s > 0 and not self.leaving and not self.reports


_Claimed = Claimed | BriefClaimed
_Answer = _Claimed | errors.HeadwayError
_Kind = tuple[Abilities, bool]


class ClaimPolls:
    """Runs on the server's event loop."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._new: list[_Waiter] = []
        self._waiting: dict[_Waiter, None] = {}
        self._registered: dict[str, _Face] = {}
        self._nothing_for: set[_Kind] = set()
        self._work_came = False
        self._look_at = 0.0
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
        self._nothing_for.clear()
        self._poke.set()

    async def stop(self) -> None:
        """End all long polls, after the claims under way have returned."""
        self.open = False
        if self._stop_listening is not None:
            self._stop_listening()
        self._poke.set()
        if self._task is not None:
            await self._task
        for waiter in (*self._new, *self._waiting):
            if waiter.answer.done():
                continue
            if waiter.reports:  # they were not delivered and have to be sent again
                waiter.answer.set_exception(errors.Stopping())
            else:
                waiter.answer.set_result(None)

    def end_poll(self, worker_id: str) -> None:
        """End the long poll of this worker."""
        for waiter in [one for one in self._waiting if one.body.worker_id == worker_id]:
            del self._waiting[waiter]
            if not waiter.answer.done():
                waiter.answer.set_result(None)
        self._registered.pop(worker_id, None)

    async def claim(self, principal: Principal, body: ClaimBody, ended: Ended) -> _Claimed | None:
        """Jobs for a worker, or None if there are none within its time; none once it `ended`."""
        if not self.open:
            raise errors.Stopping()
        answer = asyncio.get_running_loop().create_future()
        reports = read_reports(self._scheduler, body)
        waiter = _Waiter(principal, body, read_claim(body), reports, answer, ended)
        ended.add_done_callback(lambda _: self._turn_away(waiter))
        if self._would_wait_in_vain(waiter):
            waiter.draining = False
            self._waiting[waiter] = None
        else:
            self._new.append(waiter)
            self._poke.set()
        try:
            wait_s = min(body.wait_s, LONGEST_WAIT_S)
            got = await asyncio.wait_for(asyncio.shield(waiter.answer), wait_s or None)
        except TimeoutError:
            got = await self._leave(waiter)
        finally:
            waiter.leaving = True
            self._waiting.pop(waiter, None)
        return drained(body) if got is None and waiter.draining else got

    def _turn_away(self, waiter: _Waiter) -> None:
        """Its token is no longer in force; the transaction decides for one that is being served."""
        if waiter in self._waiting and not waiter.answer.done():
            waiter.answer.set_exception(errors.TokenRefused())

    def _would_wait_in_vain(self, waiter: _Waiter) -> bool:
        """A known worker, and no wake-up since there was nothing for its like."""
        return (
            waiter.waits
            and waiter.body.holds is None
            and waiter.kind in self._nothing_for
            and self._is_registered(waiter)
        )

    async def _leave(self, waiter: _Waiter) -> _Claimed | None:
        """Time is up; what is claimed for this worker in the same moment is still its own."""
        waiter.leaving = True
        if waiter in self._waiting:
            return None
        return await waiter.answer

    async def _loop(self) -> None:
        while self.open:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._poke.wait(), self._look_at - time.monotonic())
            if not self.open:
                return
            self._poke.clear()
            waiters, self._new = self._new, []
            look = time.monotonic() >= self._look_at
            if look:
                self._look_at = time.monotonic() + SAFETY_POLL_S
                self._registered.clear()
            if self._work_came or look:
                self._work_came = False
                self._nothing_for.clear()
                waiters = [*self._waiting, *waiters]
                self._waiting.clear()
            if waiters:
                await self._serve(waiters)

    async def _serve(self, waiters: list[_Waiter]) -> None:
        """Claim for these; those that get nothing wait on, unless their time is up."""
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
            elif got is not None or not waiter.waits:
                waiter.answer.set_result(got)
            elif waiter.ended.done():
                waiter.answer.set_exception(errors.TokenRefused())
            else:
                self._waiting[waiter] = None

    async def _ask(self, waiters: list[_Waiter]) -> dict[_Waiter, _Answer]:
        asked = time.monotonic()
        strangers = {one for one in waiters if not self._is_registered(one)}
        work = self._scheduler.store.write_apart_later(
            lambda tx: self._claim_all(tx, waiters, strangers)
        )
        answers, nothing_for = await awaiting(work)
        if not self._work_came:
            self._nothing_for |= nothing_for
        self._remember(one for one in strangers if not isinstance(answers.get(one), Exception))
        for waiter, got in answers.items():
            if not isinstance(got, errors.HeadwayError):
                waited_ms = int((asked - waiter.came) * 1000)
                answers[waiter] = msgspec.structs.replace(got, waited_ms=waited_ms)
        return answers

    def _claim_all(
        self, tx: Transaction, waiters: list[_Waiter], strangers: set[_Waiter]
    ) -> tuple[dict[_Waiter, _Answer], set[_Kind]]:
        """What each waiter gets, and the kinds of request that nothing is left for."""
        refused = _refused_tokens(tx, waiters)
        found, draining = tx.ask(lanes.READY, workers.DRAINING)
        ready = [one.lane for one in found]
        nothing_for: set[_Kind] = set()
        answers: dict[_Waiter, _Answer] = {}
        for waiter in waiters:
            if waiter.leaving:
                continue
            if waiter.principal.token_id in refused:
                answers[waiter] = errors.TokenRefused()
                continue
            if waiter in strangers:
                try:
                    register(self._scheduler, tx, waiter.principal, waiter.body, waiter.request)
                except errors.Forbidden as error:  # its own trouble, not that of the others
                    answers[waiter] = error
                    continue
            body, asks = waiter.body, waiter.reports or waiter.body.holds is not None
            told, waiter.draining = waiter.draining, body.worker_id in draining
            if waiter.draining and told is False:  # it waits, and is drained meanwhile
                answers[waiter] = drained(body)
                continue
            if not asks and self._is_in_vain(waiter, ready, nothing_for):
                continue
            ended = report(self._scheduler, tx, waiter.principal, body.worker_id, waiter.reports)
            got = claims.claim(self._scheduler, tx, waiter.request, body.holds)
            if got or ended:
                answers[waiter] = claimed(tx, body, got, ended, drain=bool(waiter.draining))
            if len(got) < waiter.request.max_jobs and not waiter.draining:
                nothing_for.add(waiter.kind)
        return answers, nothing_for

    def _is_in_vain(self, waiter: _Waiter, ready: list[Lane], nothing_for: set[_Kind]) -> bool:
        if waiter.kind not in nothing_for and not any(map(waiter.request.abilities.takes, ready)):
            nothing_for.add(waiter.kind)
        return waiter.kind in nothing_for

    def _is_registered(self, waiter: _Waiter) -> bool:
        return self._registered.get(waiter.body.worker_id) == waiter.face

    def _remember(self, waiters: Iterable[_Waiter]) -> None:
        if len(self._registered) > MOST_REMEMBERED:
            self._registered.clear()
        self._registered.update((one.body.worker_id, one.face) for one in waiters)


def _refused_tokens(tx: Transaction, waiters: list[_Waiter]) -> set[str]:
    """Tokens that were revoked or expired while their workers waited."""
    ids = {one.principal.token_id for one in waiters if one.principal.token_id is not None}
    return ids - tokens.in_force(tx, ids) if ids else set()
