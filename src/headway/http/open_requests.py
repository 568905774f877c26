"""Requests that last: how many there may be, and the end of those whose token is not in force."""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from enum import Enum

from headway.domain import errors
from headway.domain.manage.tokens import Principal
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.transaction import SAFETY_POLL_S, TOKENS
from headway.storage.manage import tokens

SHORTEST_WAIT_S = 0.05
"""Between two looks at a token that has expired by our clock and not by the database's."""

Ended = asyncio.Future[None]
"""Done when the token of a request is revoked or expires."""

log = logging.getLogger("headway.http")


class Lasts(Enum):
    """For how long a request keeps its connection."""

    NOT = "as long as its work takes"
    CLAIM = "until there is a job"
    STREAM = "as long as its client reads, or until a slot is free"


class OpenRequests:
    """Event streams, followed logs and waiting claims, each with the token it was opened with.

    Together they have three quarters of the connections, without the claims half of them, and those
    of one token a quarter: there is always room for what is answered at once.
    """

    def __init__(self, scheduler: Scheduler, connections: int) -> None:
        self._scheduler = scheduler
        self._most = connections * 3 // 4
        self._most_streams = connections // 2
        self._most_of_token = connections // 4
        self._counts: Counter[Lasts] = Counter()
        self._streams_of: Counter[str | None] = Counter()
        self._open: dict[Ended, Principal] = {}
        self._poke = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stop_listening: Callable[[], None] | None = None

    def start(self, on_change: Callable[[], None]) -> None:
        """Begin to watch; the function is called when a token may have been revoked."""
        loop = asyncio.get_running_loop()

        def changed() -> None:
            on_change()
            self._poke.set()

        def tell() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is already closed
                loop.call_soon_threadsafe(changed)

        self._stop_listening = self._scheduler.store.wakeups.listen(TOKENS, tell)
        self._task = asyncio.create_task(self._watch())

    def stop(self) -> None:
        """End the watch."""
        if self._stop_listening is not None:
            self._stop_listening()
        if self._task is not None:
            self._task.cancel()

    @contextlib.contextmanager
    def lasting(self, principal: Principal, lasts: Lasts) -> Iterator[Ended]:
        """While a request lasts: a future that is done when its token is no longer in force.

        Enter it without an `await` since the principal was found, or a token that is revoked in
        between is not noticed before the next safety poll.
        """
        self._refuse_too_many(principal, lasts)
        ended: Ended = asyncio.get_running_loop().create_future()
        self._open[ended] = principal
        self._count(principal, lasts, 1)
        if principal.expires_at is not None:
            self._poke.set()
        try:
            yield ended
        finally:
            del self._open[ended]
            self._count(principal, lasts, -1)

    def _count(self, principal: Principal, lasts: Lasts, step: int) -> None:
        self._counts[lasts] += step
        if lasts is Lasts.STREAM:
            self._streams_of[principal.token_id] += step
            if not self._streams_of[principal.token_id]:
                del self._streams_of[principal.token_id]

    def _refuse_too_many(self, principal: Principal, lasts: Lasts) -> None:
        if lasts is Lasts.NOT:
            return
        streams = self._counts[Lasts.STREAM]
        if streams + self._counts[Lasts.CLAIM] >= self._most:
            raise errors.Busy(f"{self._most} streams, followed logs and waiting claims are open")
        if lasts is Lasts.STREAM and streams >= self._most_streams:
            raise errors.Busy(f"{self._most_streams} streams and followed logs are open")
        if lasts is Lasts.STREAM and self._streams_of[principal.token_id] >= self._most_of_token:
            raise errors.Busy(
                f"this token has {self._most_of_token} streams and followed logs open,"
                " the most that one token may have"
            )

    async def _watch(self) -> None:
        while True:
            self._poke.clear()
            try:
                await self._end_refused()
            except Exception as error:  # the next look may work
                log.warning("the tokens of open requests could not be read: %s", error)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._poke.wait(), self._wait_s())

    async def _end_refused(self) -> None:
        ids = {one.token_id for one in self._open.values() if one.token_id is not None}
        if not ids:
            return
        read = self._scheduler.store.read
        refused = ids - await asyncio.to_thread(read, lambda tx: tokens.in_force(tx, ids))
        for ended, principal in self._open.items():
            if principal.token_id in refused and not ended.done():
                ended.set_result(None)

    def _wait_s(self) -> float:
        """Until the first token expires, or a wake-up may have been lost."""
        open_now = [one for ended, one in self._open.items() if not ended.done()]
        ends = [one.expires_at for one in open_now if one.expires_at is not None]
        if not ends:
            return SAFETY_POLL_S
        left_s = (min(ends) - self._scheduler.clock.now()).total_seconds()
        return min(max(left_s, SHORTEST_WAIT_S), SAFETY_POLL_S)
