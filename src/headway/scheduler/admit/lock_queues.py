"""The queues for locks: a job that waits only for locks is in one queue for each of them.

When a lock is released or a job leaves a queue, those that may start now try: in each lane the
first of the exclusive ones, and some of the shared ones. Who finds a gate closed all the same makes
room for the next.
"""

from collections.abc import Collection, Iterable
from enum import IntEnum

import msgspec

from headway.domain.jobs import Mode
from headway.storage import records
from headway.storage.engine import codec
from headway.storage.engine.transaction import DUE, Row, Transaction
from headway.storage.records import JobRecord

AT_ONCE = {Mode.EXCLUSIVE: 1, Mode.SHARED: 20}
"""How many of a lane try at once."""


MOST_READY_AHEAD = 1000
"""So many that go first are named."""


class Standing(IntEnum):
    """A job's entry in a queue for a lock."""

    READY = 0
    WAITS = 1
    CLAIMED = 2


def keys_of(jobs: Iterable[JobRecord]) -> set[str]:
    """The locks that some jobs want."""
    return {lock.key for one in jobs for lock in one.terms.locks}


def stand(tx: Transaction, ready: Collection[JobRecord], waiting: Collection[JobRecord]) -> None:
    """Add these jobs to the queues for their locks, in the order of the queue."""
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
    """The jobs that may try for these locks now, without those that have tried."""
    found: set[int] = set()
    for line in tx.rows("open_lines", keys=records.listed(keys)) if keys else ():
        first = _heads(tx, line, Standing.WAITS, tried)
        if first and line["mode"] == Mode.EXCLUSIVE:
            ready = _heads(tx, line, Standing.READY, ())
            if ready and _order(ready[0]) < _order(first[0]):
                continue
        found |= {row["job_number"] for row in first}
    return found


def ready_ahead(tx: Transaction, record: JobRecord) -> list[tuple[str, Mode, int]]:
    """Which jobs are ready to take a lock that a job waits for, and go first."""
    found = []
    for lock in record.terms.locks:
        line = {"key": lock.key, "mode": lock.mode.value, "lane_id": record.lane_id}
        for row in _heads(tx, line, Standing.READY, (), count=MOST_READY_AHEAD):
            if _order(row) < record.order:
                found.append((lock.key, lock.mode, int(row["job_number"])))
    return found


class _Rest(msgspec.Struct):
    """Locks whose queues are still to be tried, and the jobs that have tried."""

    keys: set[str]
    tried: set[int]


REST = "lock lines to go on with"
"""The fact that keeps them, in the order in which they are to be seen to."""


def put_off(tx: Transaction, keys: set[str], tried: set[int], *, first: bool) -> None:
    """Too many have tried for these locks: the rest of their queues try later."""
    rests = _rests(tx)
    if first:
        rests.insert(0, _Rest(keys, tried))
    elif len(rests) < 2:
        rests.append(_Rest(keys, tried))
    else:  # the last has not begun: what it leaves out, this leaves out too, or both try it
        rests[-1] = _Rest(rests[-1].keys | keys, rests[-1].tried & tried)
    _keep(tx, rests)
    tx.wake(DUE)


def is_put_off(tx: Transaction) -> bool:
    """Whether there are queues left to try."""
    return bool(_rests(tx))


def take_up(tx: Transaction) -> tuple[set[str], set[int]]:
    """The locks to try now, and the jobs that have tried for them."""
    rests = _rests(tx)
    if not rests:
        return set(), set()
    _keep(tx, rests[1:])
    return rests[0].keys, rests[0].tried


def _rests(tx: Transaction) -> list[_Rest]:
    row = tx.row("fact", name=REST)
    return msgspec.json.decode(row["value"], type=list[_Rest]) if row else []


def _keep(tx: Transaction, rests: list[_Rest]) -> None:
    tx.do("put_fact", name=REST, value=codec.dump(rests))


def _heads(
    tx: Transaction,
    line: Row,
    standing: Standing,
    tried: Collection[int],
    *,
    count: int | None = None,
) -> list[Row]:
    return list(
        tx.rows(
            "heads_of_line",
            key=line["key"],
            mode=line["mode"],
            lane_id=line["lane_id"],
            standing=standing.value,
            tried=records.listed(tried),
            count=count or AT_ONCE[Mode(line["mode"])],
        )
    )


def _order(row: Row) -> tuple[int, int, int]:
    return (-row["priority"], row["position"], row["job_number"])
