"""The lines for locks: whoever may start but for locks stands in one line for each of them.

When a lock comes free or somebody leaves a line, those try who may go on now: in each lane the
first of the exclusive ones, and some of the shared ones. Who finds a gate closed all the same makes
room for the next.
"""

from collections.abc import Collection, Iterable
from enum import IntEnum

from headway.domain.jobs import Mode
from headway.storage import records
from headway.storage.records import JobRecord
from headway.storage.transaction import Row, Transaction

AT_ONCE = {Mode.EXCLUSIVE: 1, Mode.SHARED: 20}
"""How many of a lane try at once."""


class Standing(IntEnum):
    """How somebody stands in a line."""

    READY = 0
    WAITS = 1
    CLAIMED = 2


def keys_of(jobs: Iterable[JobRecord]) -> set[str]:
    """The locks that some jobs want."""
    return {lock.key for one in jobs for lock in one.terms.locks}


def stand(tx: Transaction, ready: Collection[JobRecord], waiting: Collection[JobRecord]) -> None:
    """These jobs stand in the lines for their locks, at their places in the queue."""
    tx.many(
        "stand_in_line",
        [
            {
                "key": lock.key,
                "job_number": record.number,
                "mode": lock.mode.value,
                "standing": standing.value,
                "lane_id": record.lane_id,
                "priority": record.priority,
                "position": record.position,
            }
            for standing, some in ((Standing.READY, ready), (Standing.WAITS, waiting))
            for record in some
            for lock in record.terms.locks
        ],
    )


def claimed(tx: Transaction, numbers: Collection[int]) -> None:
    """A worker has taken these jobs; they keep their places until they start."""
    if numbers:
        tx.do("claim_in_line", numbers=records.listed(numbers))


def leave(tx: Transaction, numbers: Collection[int]) -> None:
    """These jobs want no lock any more."""
    if numbers:
        tx.do("leave_lines", numbers=records.listed(numbers))


def next_in_line(tx: Transaction, keys: Collection[str], tried: Collection[int]) -> set[int]:
    """Who may try for these locks now, leaving out those who have tried."""
    found: set[int] = set()
    for line in tx.rows("open_lines", keys=records.listed(keys)) if keys else ():
        first = _heads(tx, line, Standing.WAITS, tried)
        if first and line["mode"] == Mode.EXCLUSIVE:
            ready = _heads(tx, line, Standing.READY, ())
            if ready and _order(ready[0]) < _order(first[0]):
                continue
        found |= {row["job_number"] for row in first}
    return found


def _heads(tx: Transaction, line: Row, standing: Standing, tried: Collection[int]) -> list[Row]:
    return list(
        tx.rows(
            "heads_of_line",
            key=line["key"],
            mode=line["mode"],
            lane_id=line["lane_id"],
            standing=standing.value,
            tried=records.listed(tried),
            count=AT_ONCE[Mode(line["mode"])],
        )
    )


def _order(row: Row) -> tuple[int, int, int]:
    return (-row["priority"], row["position"], row["job_number"])
