"""What closed lanes as a whole, as it is kept for the jobs in them."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from headway.storage import records
from headway.storage.engine.transaction import Transaction


class LaneWait(NamedTuple):
    """A gate that closed the lane of a job while it was ready, and since when. In milliseconds."""

    number: int
    kind: str
    since: int


def close(tx: Transaction, kinds: Mapping[int, str], most: int) -> None:
    """These gates close lanes from now on, by lane; so many waits are kept for each."""
    closings = [{"lane_id": lane_id, "kind": kind} for lane_id, kind in sorted(kinds.items())]
    tx.many("close_lane", closings)
    tx.many("forget_lane_waits", [{**one, "most": most} for one in closings])
    tx.many("insert_lane_wait", [{"lane_id": lane_id, "since": tx.now_ms} for lane_id in kinds])


def open_again(tx: Transaction, lane_ids: Collection[int]) -> None:
    """Nothing closes these lanes as a whole any more."""
    if lane_ids:
        tx.put("open_lanes", lane_ids=records.listed(lane_ids))


def since_ready(tx: Transaction, numbers: Collection[int]) -> list[LaneWait]:
    """What closed the lanes of these jobs since they became ready, in order."""
    rows = tx.rows("lane_waits_of", numbers=records.listed(numbers)) if numbers else ()
    return [LaneWait(**row) for row in rows]
