"""The queue: where jobs stand in it, and how long it is."""

from collections.abc import Collection

from headway.storage import records
from headway.storage.slices import Sized
from headway.storage.transaction import Row, Transaction


def length(tx: Transaction) -> int:
    """How many jobs wait."""
    return int(tx.value("count_waiting"))


def places(tx: Transaction, numbers: Collection[int], furthest: int) -> dict[int, int]:
    """The 1-based places of those of these jobs that are not behind the furthest one."""
    rows = tx.rows("places_in_queue", numbers=records.listed(numbers), bound=furthest)
    return {row["number"]: row["place"] for row in rows}


def after(tx: Transaction, place: tuple[int, int, int], count: int) -> list[Sized[int]]:
    """A stretch of the queue behind a priority, position and number, in dispatch order."""
    priority, position, number = place
    behind = {"priority": priority, "position": position, "number": number}
    return [_sized(row) for row in tx.rows("queue_after", **behind, count=count)]


def newest(tx: Transaction, count: int) -> list[Sized[int]]:
    """The newest jobs, whatever became of them."""
    return [_sized(row) for row in tx.rows("newest_numbers", count=count)]


def newest_active_or_blocked(tx: Transaction, count: int) -> list[Sized[int]]:
    """The newest jobs that are active or ended blocked."""
    return [_sized(row) for row in tx.rows("shown_numbers", count=count)]


def _sized(row: Row) -> Sized[int]:
    return Sized(row["number"], row["size"])
