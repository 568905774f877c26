"""Where waiting jobs stand after their gates were looked at."""

from collections.abc import Iterable
from typing import NamedTuple

from headway.domain.gates import Closed
from headway.domain.states import QUEUED, JobStatus
from headway.storage import records
from headway.storage.engine import codec
from headway.storage.engine.transaction import Transaction


class Place(NamedTuple):
    """Where a job stands: the gate that it waits for, and all that it has waited for.

    Times are in milliseconds.
    """

    waits: Closed | None
    waited_on: tuple[str, ...]
    due_at: int | None
    queued_at: int | None
    """Since when nothing of its own keeps it from starting, unless that is known."""

    @property
    def status(self) -> JobStatus:
        """The status of a job that stands here."""
        return self.waits.status if self.waits else QUEUED


def record(tx: Transaction, places: Iterable[tuple[int, Place]]) -> None:
    """Jobs stand at these places from now on, by number."""
    rows = ((number, _row(place)) for number, place in places)
    tx.many("admit_jobs", records.grouped(rows, "numbers"))


class _Row(NamedTuple):
    """Jobs with equal values are updated in one statement."""

    status: JobStatus
    due_at: int | None
    wait_kind: str | None
    wait_detail: str | None
    waited_on: str
    queued_at: int | None


def _row(place: Place) -> _Row:
    waits = place.waits
    return _Row(
        place.status,
        place.due_at,
        waits.kind if waits else None,
        waits.detail if waits else None,
        codec.dump(place.waited_on),
        place.queued_at,
    )
