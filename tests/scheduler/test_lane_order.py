"""Jobs of many lanes come in the order of the queue, and no lane is read before its turn."""

import random
from collections.abc import Iterator

import pytest

from headway.scheduler.claim import lane_order
from headway.storage.lanes import Order


class Lanes:
    """Lanes whose jobs are their places in the queue, and which of them were read."""

    def __init__(self, jobs: dict[int, list[Order]]) -> None:
        self.jobs = jobs
        self.read_so_far: list[int] = []

    def read(self, lane_id: int) -> Iterator[Order]:
        """The jobs of a lane in order."""
        self.read_so_far.append(lane_id)
        return iter(self.jobs[lane_id])


def some_lanes(chance: random.Random) -> Lanes:
    """Lanes with a few jobs each."""
    orders = [(chance.randrange(3), chance.randrange(5), number) for number in range(40)]
    jobs: dict[int, list[Order]] = {}
    for order in sorted(orders):
        jobs.setdefault(chance.randrange(8), []).append(order)
    return Lanes(jobs)


@pytest.mark.parametrize("seed", range(20))
def test_everything_comes_in_order_and_a_lane_is_read_when_its_head_is_the_next(seed: int) -> None:
    lanes = some_lanes(random.Random(seed))
    heads = {lane_id: orders[0] for lane_id, orders in lanes.jobs.items()}
    found = []
    for place in lane_order.merged(heads, lanes.read, lambda order: order):
        found.append(place)
        assert {lane_id for lane_id in heads if heads[lane_id] <= place} == set(lanes.read_so_far)
    assert found == sorted(place for orders in lanes.jobs.values() for place in orders)


def test_a_head_that_was_taken_meanwhile_costs_its_lane_no_other_job() -> None:
    lanes = Lanes({1: [(0, 5, 5), (0, 6, 6)], 2: [(0, 3, 3)], 3: []})
    heads = {1: (0, 1, 1), 2: (0, 3, 3), 3: (0, 2, 2)}
    found = lane_order.merged(heads, lanes.read, lambda order: order)
    assert [number for *_, number in found] == [3, 5, 6]
