"""Refused logins, noted in the audit log; a flood of them costs an entry now and then."""

import asyncio
import logging

from headway.domain.manage.audit import LOGIN_REFUSED, UNKNOWN, AuditEntry
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.awaiting import awaiting
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import audit

FIRST_AFTER_S = 0.2
NEXT_AFTER_S = 10.0
MOST_ADDRESSES = 50

log = logging.getLogger("headway.http")


class RefusedLogins:
    """Counts refused tokens and codes by address, and writes the counts down together."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._counts: dict[str, int] = {}
        self._writing: asyncio.Task[None] | None = None

    def note(self, address: str) -> None:
        """Count a token or code from this address that is not in force."""
        known = address in self._counts or len(self._counts) < MOST_ADDRESSES
        key = address if known else "other addresses"
        self._counts[key] = self._counts.get(key, 0) + 1
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def stop(self) -> None:
        """Write down what was counted last."""
        if self._writing is not None:
            self._writing.cancel()
        await self._write_counts()

    async def _write(self) -> None:
        await asyncio.sleep(FIRST_AFTER_S)
        while self._counts:
            await self._write_counts()
            await asyncio.sleep(NEXT_AFTER_S)

    async def _write_counts(self) -> None:
        counts, self._counts = self._counts, {}
        if not counts:
            return

        def work(tx: Transaction) -> None:
            audit.insert(
                tx,
                [
                    AuditEntry(
                        entry_id=self._scheduler.new_id(tx.now),
                        at=tx.now,
                        actor=UNKNOWN,
                        action=LOGIN_REFUSED,
                        target=address if count == 1 else f"{address}, {count} times",
                    )
                    for address, count in counts.items()
                ],
            )

        try:
            await awaiting(self._scheduler.store.write_beside_later(work))
        except Exception as error:  # they are in the log at least
            log.warning("refused logins could not be noted: %s: %s", counts, error)
