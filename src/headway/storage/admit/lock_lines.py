"""The queues for locks as they are kept: a job is in one for each lock that it wants."""

from collections.abc import Collection, Iterable
from enum import IntEnum
from typing import NamedTuple

from headway.domain.gates import Gate
from headway.domain.jobs import Lock, Mode
from headway.storage import records
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord


class Standing(IntEnum):
    """A job's entry in a queue for a lock."""

    READY = 0
    WAITS = 1
    CLAIMED = 2


class Line(NamedTuple):
    """The queue for a lock, of the jobs of one lane that want it in the same mode."""

    key: str
    mode: Mode
    lane_id: int


class InLine(NamedTuple):
    """A job in a queue for a lock."""

    number: int
    order: tuple[int, int, int]


class Exclusive(NamedTuple):
    """A job in the queue for a lock that wants it alone; a claimed one may have been denied it."""

    key: str
    job_id: str
    order: tuple[int, int, int]
    lane_id: int
    standing: Standing
    denied: bool

    @property
    def number(self) -> int:
        """The number of the job."""
        return self.order[2]


def stand(tx: Transaction, jobs: Iterable[tuple[Standing, JobRecord]]) -> None:
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
            for standing, record in jobs
            for lock in record.terms.locks
        ],
    )


def claim(tx: Transaction, numbers: Collection[int]) -> None:
    """A worker has taken these jobs; they keep their places until they start."""
    if numbers:
        tx.do("claim_in_line", numbers=records.listed(numbers))


def leave(tx: Transaction, numbers: Collection[int]) -> None:
    """These jobs want no lock any more."""
    if numbers:
        tx.do("leave_lines", numbers=records.listed(numbers))


def open_lines(tx: Transaction, keys: Collection[str]) -> list[Line]:
    """The queues for these locks in which a job waits although no holder keeps it out."""
    return _lines(tx, "open_lines", keys)


def ready_lines(tx: Transaction, keys: Collection[str]) -> list[Line]:
    """The queues for these locks in which a job is ready to take one."""
    return _lines(tx, "ready_lines", keys)


def _lines(tx: Transaction, query: str, keys: Collection[str]) -> list[Line]:
    rows = tx.rows(query, keys=records.listed(keys)) if keys else ()
    return [Line(row["key"], Mode(row["mode"]), row["lane_id"]) for row in rows]


def first(
    tx: Transaction, line: Line, standing: Standing, count: int, without: Collection[int] = ()
) -> list[InLine]:
    """The first of a queue; of those that wait, the first for which every other lock is free."""
    rows = tx.rows(
        "heads_of_line",
        key=line.key,
        mode=line.mode.value,
        lane_id=line.lane_id,
        standing=standing.value,
        tried=records.listed(without),
        count=count,
    )
    return [
        InLine(row["job_number"], (-row["priority"], row["position"], row["job_number"]))
        for row in rows
    ]


def first_exclusives(tx: Transaction, keys: Collection[str], most: int) -> list[Exclusive]:
    """Of each lane, those that decide whether a job waits that wants one of these locks alone.

    So many of a lane are looked at.
    """
    return _exclusives(tx, "first_exclusives", keys, most)


def all_exclusives(tx: Transaction, keys: Collection[str], most: int) -> list[Exclusive]:
    """The jobs that want one of these locks alone, so many."""
    return _exclusives(tx, "exclusives_in_line", keys, most)


def _exclusives(tx: Transaction, query: str, keys: Collection[str], most: int) -> list[Exclusive]:
    return [
        Exclusive(
            row["key"],
            row["job_id"],
            (-row["priority"], row["position"], row["job_number"]),
            row["lane_id"],
            Standing(row["standing"]),
            row["wait_kind"] == Gate.LOCKS,
        )
        for row in tx.rows(query, keys=records.listed(keys), most=most)
    ]


def wanted(tx: Transaction, numbers: Collection[int]) -> dict[int, tuple[Lock, ...]]:
    """The locks that these jobs stand in line for."""
    found: dict[int, list[Lock]] = {}
    for row in tx.rows("locks_in_line", numbers=records.listed(numbers)):
        lock = Lock(key=row["key"], mode=Mode(row["mode"]))
        found.setdefault(row["job_number"], []).append(lock)
    return {number: tuple(locks) for number, locks in found.items()}
