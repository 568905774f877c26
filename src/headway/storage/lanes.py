"""Lanes as they are kept, and the jobs that stand in them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from headway.domain.jobs import Lane
from headway.storage import records
from headway.storage.engine import codec, question
from headway.storage.engine.question import Question, Row
from headway.storage.engine.transaction import Transaction
from headway.storage.records import Head

Order = tuple[int, int, int]
"""The sort key of a job in the queue: smaller goes first."""


class LaneRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A lane, the gate that is known to close it as a whole, and how often that has changed."""

    lane_id: int
    lane: Lane
    mark: int
    closed: str | None


class ReadyLane(LaneRecord, frozen=True, kw_only=True):
    """A lane in which a job may start, and the place of its first job in the queue."""

    first: Order


def _closed(rows: Sequence[Row]) -> list[LaneRecord]:
    return [
        LaneRecord(
            lane_id=row["lane_id"], lane=records.lane(row), mark=row["mark"], closed=row["closed"]
        )
        for row in rows
    ]


def _ready(rows: Sequence[Row]) -> list[ReadyLane]:
    return [
        ReadyLane(
            lane_id=row["lane_id"],
            lane=records.lane(row),
            mark=row["mark"],
            closed=row["closed"],
            first=(-row["priority"], row["position"], row["number"]),
        )
        for row in rows
    ]


READY = question.of_rows(_ready, "ready_lanes")
"""The lanes in which a job may start."""

CLOSED = question.of_rows(_closed, "closed_lanes")
"""The lanes that are known to be closed as a whole."""


def heads(lane_id: int, behind: Order, count: int) -> Question[list[Head]]:
    """So many jobs of a lane that may start, behind a priority, position and number, in order."""
    priority, position, number = behind
    return question.of_values(
        Head,
        "lane_heads",
        lane_id=lane_id,
        priority=priority,
        position=position,
        number=number,
        count=count,
    )


def kept_waiting(before: int, count: int) -> Question[list[Head]]:
    """Jobs that a full limit has kept waiting since before a moment, the longest first."""
    return question.of_values(Head, "starved_jobs", before=before, count=count)


def mark(tx: Transaction, since: Mapping[int, int]) -> None:
    """Full limits have kept these jobs waiting since then, by number."""
    tx.many("limit_reached", [{"number": number, "since": at} for number, at in since.items()])


def read(tx: Transaction, lane_ids: Collection[int] | None = None) -> dict[int, Lane]:
    """Lanes by id."""
    rows = (
        tx.rows("lanes")
        if lane_ids is None
        else tx.rows("lanes_by_id", lane_ids=records.listed(lane_ids))
    )
    return {row["lane_id"]: records.lane(row) for row in rows}


class LaneIds:
    """The ids of lanes, looked up once in a transaction; a lane that is new is made."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._known: dict[tuple[Any, ...], int] = {}
        self._lanes: dict[int, Lane] = {}

    def find(self, lane: Lane) -> int:
        """The id of a lane."""
        parts = (lane.queue, lane.job_type, lane.cost_units, lane.requires, *lane.limits.items())
        if parts not in self._known:
            self._known[parts] = self._look_up(lane)
            self._lanes[self._known[parts]] = lane
        return self._known[parts]

    def lane(self, lane_id: int) -> Lane:
        """The lane with an id that was found here."""
        return self._lanes[lane_id]

    def _look_up(self, lane: Lane) -> int:
        key = codec.dump([lane.queue, lane.job_type, lane.cost_units, lane.requires, lane.limits])
        row = self._tx.row("lane_by_key", key=key)
        return row["lane_id"] if row else self._insert(key, lane)

    def _insert(self, key: str, lane: Lane) -> int:
        self._tx.alone()
        return int(
            self._tx.value(
                "insert_lane",
                key=key,
                queue=lane.queue,
                job_type=lane.job_type,
                cost_units=lane.cost_units,
                requires=codec.dump(lane.requires),
                limits=codec.dump(lane.limits),
            )
        )
