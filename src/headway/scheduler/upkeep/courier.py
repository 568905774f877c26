"""The courier: sends webhook messages that are due.

It has a thread and an event loop of its own. Each origin has a few places and one that failed has a
single one, so a slow or dead endpoint uses up its own places and not those of others. Origins whose
last message arrived, and all others, have a share of the places each: neither holds up the other.
"""

import asyncio
import contextlib
import logging
import threading
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

import httpx

from headway.domain import errors
from headway.domain.manage.webhooks import origin_of, signature
from headway.domain.values import moments
from headway.scheduler.manage import webhooks
from headway.scheduler.manage.webhooks import DueDelivery, Share, Tried
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep.webhook_targets import CheckedTransport, TargetRefusedError
from headway.storage.engine.awaiting import awaiting
from headway.storage.engine.transaction import DELIVERIES, Transaction
from headway.storage.manage import webhooks as kept

T = TypeVar("T")

MOST_IN_FLIGHT = 100
MOST_PER_ORIGIN = 4
MOST_PROVEN = 75
"""How many places those have together whose last message arrived."""
MOST_UNPROVEN = 50
"""How many places those have together whose last message did not arrive, or who had none yet."""
MOST_REMEMBERED = 10_000
TIMEOUT_S = 10.0
GRACE_S = 2.0
SAFETY_POLL_S = 5.0
MOST_READ = 64 * 1024
"""How much of an answer is read so that its connection can be used again."""

log = logging.getLogger("headway.courier")


class Courier:
    """A thread that sleeps while there is nothing to send."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()
        self._stopping = False
        self._in_flight: Counter[str] = Counter()
        self._failing: set[str] = set()
        self._proven: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._results: list[Tried] = []
        self._thread = threading.Thread(target=self._work, name="headway-courier", daemon=True)
        self._stop_listening: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Begin to deliver."""
        self._stop_listening = self._scheduler.store.wakeups.listen(DELIVERIES, self._poke)
        self._thread.start()

    def stop(self) -> None:
        """Give what is on its way a moment, then end. What was cut off is sent again later."""
        self._stop_listening()
        self._stopping = True
        self._poke()
        self._thread.join()

    def _poke(self) -> None:
        # A wake-up may come a moment after the stop, and must not fail for it.
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake.set)

    def _work(self) -> None:
        asyncio.run(self._deliver())

    async def _deliver(self) -> None:
        self._loop = asyncio.get_running_loop()
        transport = CheckedTransport(
            public_only=self._scheduler.rules.webhook_targets == "public",
            most_connections=MOST_IN_FLIGHT,
        )
        async with httpx.AsyncClient(timeout=TIMEOUT_S, transport=transport) as client:
            while not self._stopping:
                self._wake.clear()
                try:
                    wait_s = await self._round(client)
                except errors.Unavailable as error:
                    log.warning("webhook messages are delayed: %s", error)
                    wait_s = 1.0
                except Exception:
                    log.exception("webhook messages could not be sent; they will be tried again")
                    wait_s = 1.0
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), min(wait_s, SAFETY_POLL_S))
            await self._wind_up()

    async def _round(self, client: httpx.AsyncClient) -> float:
        """Write down what was tried, send what may go; return how long there is nothing to do."""
        await self._record()
        free = MOST_IN_FLIGHT - self._in_flight.total()
        if free:
            chosen = await self._read(self._chooser(free))
            for delivery in await self._take(chosen) if chosen else ():
                self._send_later(client, delivery)
        next_at = await self._read(kept.next_due)
        if next_at is None:
            return SAFETY_POLL_S
        return max(0.0, (next_at - moments.to_millis(self._scheduler.clock.now())) / 1000)

    def _chooser(self, count: int) -> Callable[[Transaction], list[str]]:
        """Chooses what goes next by the current state: it runs in another thread."""
        in_flight, failing = self._in_flight.copy(), self._failing.copy()
        proven = self._proven.copy()
        to_proven = sum(in_flight[origin] for origin in in_flight.keys() & proven)

        def room(origin: str) -> int:
            most = 1 if origin in failing else MOST_PER_ORIGIN
            return most - in_flight[origin]

        full = [origin for origin in in_flight if room(origin) <= 0]
        first = Share(proven, MOST_PROVEN - to_proven)
        others = MOST_UNPROVEN - (in_flight.total() - to_proven)
        return lambda tx: webhooks.choose(
            tx, count, room=room, full_origins=full, first=first, others=others
        )

    async def _take(self, delivery_ids: list[str]) -> list[DueDelivery]:
        write = self._scheduler.store.write_later
        return await awaiting(write(lambda tx: webhooks.take(tx, delivery_ids)))

    async def _record(self) -> None:
        """All results that have come in since the last time, in one write."""
        if results := self._results[:]:
            write = self._scheduler.store.write_later
            await awaiting(write(lambda tx: webhooks.record(tx, results)))
            del self._results[: len(results)]

    async def _read(self, work: Callable[[Transaction], T]) -> T:
        # A long backlog takes a while to look through; what is on its way goes on meanwhile.
        return await asyncio.to_thread(self._scheduler.store.read, work)

    def _send_later(self, client: httpx.AsyncClient, delivery: DueDelivery) -> None:
        self._in_flight[origin_of(delivery.url)] += 1
        task = asyncio.ensure_future(self._send(client, delivery))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, client: httpx.AsyncClient, delivery: DueDelivery) -> None:
        origin = origin_of(delivery.url)
        try:
            status, error = await self._try(client, delivery)
        finally:
            self._in_flight[origin] -= 1
            if not self._in_flight[origin]:
                del self._in_flight[origin]
        self._judge(origin, arrived=error is None)
        self._results.append(
            Tried(
                delivery_id=delivery.delivery_id,
                attempts=delivery.attempts + 1,
                response_status=status,
                error=error,
            )
        )
        self._wake.set()

    def _judge(self, origin: str, *, arrived: bool) -> None:
        """Remember how the last message to an origin went."""
        good, bad = self._proven, self._failing
        (bad if arrived else good).discard(origin)
        kept_in = good if arrived else bad
        if len(kept_in) >= MOST_REMEMBERED:
            kept_in.clear()
        kept_in.add(origin)

    async def _try(
        self, client: httpx.AsyncClient, delivery: DueDelivery
    ) -> tuple[int | None, str | None]:
        """The status and, unless it was delivered, what went wrong, in words without secrets."""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                status = await self._post(client, delivery)
        except (TimeoutError, httpx.TimeoutException):
            return None, f"no answer within {TIMEOUT_S:g} s"
        except TargetRefusedError as refusal:
            return None, f"not sent: {refusal}"
        except httpx.ConnectError:
            return None, "no connection"
        except Exception as error:
            return None, f"not sent: {type(error).__name__}"
        return status, None if 200 <= status < 300 else f"the endpoint answered {status}"

    async def _post(self, client: httpx.AsyncClient, delivery: DueDelivery) -> int:
        timestamp = int(self._scheduler.clock.now().timestamp())
        headers = {
            "content-type": "application/json",
            "user-agent": "headway",
            "webhook-id": delivery.delivery_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": signature(
                delivery.secret, delivery.delivery_id, timestamp, delivery.body
            ),
        }
        async with client.stream(
            "POST", delivery.url, content=delivery.body, headers=headers, follow_redirects=False
        ) as response:
            await _read_a_little(response)
            return response.status_code

    async def _wind_up(self) -> None:
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=GRACE_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        try:
            await self._record()
        except Exception as error:
            log.warning("results were lost; their webhook messages will be sent again: %s", error)


async def _read_a_little(response: httpx.Response) -> None:
    """The answer's status counts, whatever becomes of its body."""
    size = 0
    with contextlib.suppress(httpx.HTTPError):
        async for chunk in response.aiter_raw():
            size += len(chunk)
            if size > MOST_READ:
                return
