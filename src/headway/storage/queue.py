"""The queue: the rank of jobs in it, and its length."""

from collections.abc import Collection, Mapping

import msgspec

from headway.domain.jobs import Lane
from headway.domain.states import JobStatus
from headway.storage import records
from headway.storage.engine.question import Row
from headway.storage.engine.slices import Sized
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord


def length(tx: Transaction) -> int:
    """How many jobs wait."""
    return int(tx.value("count_waiting"))


class WaitingInLane(msgspec.Struct, frozen=True, kw_only=True):
    """How many jobs of a lane wait for the same, and when the oldest was made."""

    lane: Lane
    status: JobStatus
    wait_kind: str | None
    count: int
    oldest: int


def waiting_by_lane(tx: Transaction) -> list[WaitingInLane]:
    """How many jobs wait in which lane, with which status and for what."""
    return [
        WaitingInLane(
            lane=records.lane(row),
            status=JobStatus(row["status"]),
            wait_kind=row["wait_kind"],
            count=row["count"],
            oldest=row["oldest"],
        )
        for row in tx.rows("waiting_by_lane")
    ]


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


def other_at(tx: Transaction, place: int, without: int) -> int | None:
    """The number of the job at a 1-based place of the queue without one job."""
    row = tx.row("job_at_place", **{"except": without, "skip": place - 1})
    return row["number"] if row else None


def position_before(tx: Transaction, job: JobRecord, without: int) -> int | None:
    """The position of the job just before another of its priority, if there is one."""
    return _neighbour(tx, "neighbour_before", job, without)


def position_after(tx: Transaction, job: JobRecord, without: int) -> int | None:
    """The position of the job just after another of its priority, if there is one."""
    return _neighbour(tx, "neighbour_after", job, without)


def _neighbour(tx: Transaction, query: str, job: JobRecord, without: int) -> int | None:
    place = {"priority": job.priority, "position": job.position, "number": job.number}
    row = tx.row(query, **place, **{"except": without})
    return row["position"] if row else None


def band(tx: Transaction, priority: int) -> list[int]:
    """The waiting jobs of a priority, in order."""
    return [row["number"] for row in tx.rows("band", priority=priority)]


def place(tx: Transaction, positions: Mapping[int, int]) -> None:
    """Give jobs other positions, by number."""
    rows = [{"number": number, "position": position} for number, position in positions.items()]
    tx.many("set_position", rows)


def _sized(row: Row) -> Sized[int]:
    return Sized(row["number"], row["size"])


def children(tx: Transaction, parents: Collection[int], count: int) -> list[int]:
    """Some of the jobs that the handlers of these chains submitted, the newest first."""
    rows = tx.rows("children", parents=records.listed(parents), count=count)
    return [row["number"] for row in rows]
