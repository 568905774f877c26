"""The history as it is kept."""

from collections.abc import Mapping
from typing import Any

from headway.domain import moments
from headway.domain.events import Event
from headway.storage import codec
from headway.storage.transaction import EVENTS, Row, Transaction


class Chronicle:
    """Collects what happens in a transaction and writes it down in one go."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._rows: list[dict[str, Any]] = []

    def add(
        self, kind: str, job_number: int | None = None, data: Mapping[str, Any] | None = None
    ) -> None:
        """One line of history."""
        self._rows.append(
            {
                "at": self._tx.now_ms,
                "kind": kind,
                "job_number": job_number,
                "data": codec.dump(data) if data else None,
            }
        )

    def write(self) -> None:
        """Write the lines down, in the order in which they were added."""
        if self._rows:
            self._tx.many("insert_event", self._rows)
            self._tx.wake(EVENTS)
            self._rows = []


def after(tx: Transaction, seq: int, count: int) -> list[Event]:
    """What happened after a line of history."""
    return [_event(row) for row in tx.rows("events_after", seq=seq, count=count)]


def of_job(tx: Transaction, number: int, seq: int, count: int) -> list[Event]:
    """A job's timeline."""
    return [_event(row) for row in tx.rows("events_of_job", number=number, seq=seq, count=count)]


def bounds(tx: Transaction) -> tuple[int, int]:
    """The numbers of the first and the last line there is."""
    row = tx.rows("event_bounds")[0]
    return row["first"], row["last"]


def _event(row: Row) -> Event:
    return Event(
        seq=row["seq"],
        at=moments.from_millis(row["at"]),
        kind=row["kind"],
        job_id=row["job_id"],
        number=row["job_number"],
        data=codec.load(row["data"]) if row["data"] else {},
    )
