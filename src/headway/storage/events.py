"""The history as it is kept."""

import itertools
import operator
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
        self._lines: list[tuple[str, str]] = []

    def add(
        self, kind: str, job_number: int | None = None, data: Mapping[str, Any] | None = None
    ) -> None:
        """One line of history."""
        said = codec.dump(data) if data else "null"
        self._lines.append((kind, f'"{"" if job_number is None else job_number}":{said}'))

    def add_all(self, kind: str, data: Mapping[int, Mapping[str, Any]]) -> None:
        """One line of history for each of some jobs, by number."""
        if data:
            self._lines.append((kind, codec.dump(data)[1:-1]))

    def write(self) -> None:
        """Write the lines down, in the order in which they were added."""
        for kind, lines in itertools.groupby(self._lines, operator.itemgetter(0)):
            together = ",".join(line for _, line in lines)
            self._tx.do("insert_events", at=self._tx.now_ms, kind=kind, lines=f"{{{together}}}")
        if self._lines:
            self._tx.wake(EVENTS)
            self._lines = []


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
