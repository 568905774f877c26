"""The jobs of many lanes in the order of the queue; a lane is read once its head is the next."""

import heapq
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from headway.storage.lanes import Order

Item = TypeVar("Item")


def merged(
    heads: Mapping[int, Order],
    read: Callable[[int], Iterator[Item]],
    order: Callable[[Item], Order],
) -> Iterator[Item]:
    """The jobs of all lanes, from their heads on; `read` gives those of a lane in order.

    A head may have been taken since it was looked up: the lane goes on where its next job stands.
    """
    lanes: dict[int, Iterator[Item]] = {}
    first: dict[int, Item] = {}
    waiting = [(place, lane_id) for lane_id, place in heads.items()]
    heapq.heapify(waiting)
    while waiting:
        _, lane_id = heapq.heappop(waiting)
        if lane_id in first:
            yield first.pop(lane_id)
        else:
            lanes[lane_id] = read(lane_id)
        following = next(lanes[lane_id], None)
        if following is not None:
            first[lane_id] = following
            heapq.heappush(waiting, (order(following), lane_id))
