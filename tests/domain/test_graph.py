"""The graph of jobs as plain numbers."""

import pytest

from headway.domain import graph

STUCK: list[tuple[dict[int, list[set[int]]], set[int]]] = [
    ({}, set()),
    ({1: []}, set()),
    ({1: [{2}]}, set()),
    ({1: [{1}]}, {1}),
    ({1: [{2}], 2: [{1}]}, {1, 2}),
    ({1: [{2}], 2: [{1}], 3: [{1}], 4: [{5}]}, {1, 2, 3}),
    ({1: [{2, 3}], 2: [{1}]}, set()),
    ({1: [{2, 3}, {2}], 2: [{1}]}, {1, 2}),
    ({1: [{2}, {3}], 2: [{3}], 3: []}, set()),
    ({1: [{2, 3}], 2: [{1}], 3: [{1, 2}]}, {1, 2, 3}),
]


@pytest.mark.parametrize(("waits", "expected"), STUCK)
def test_who_waits_in_a_circle_is_stuck_unless_another_way_leads_on(
    waits: dict[int, list[set[int]]], expected: set[int]
) -> None:
    assert graph.stuck(waits) == expected


def test_a_long_way_is_gone_without_recursion() -> None:
    waits = {number: [{number + 1}] for number in range(50_000)}
    assert graph.stuck(waits) == set()
    assert len(graph.stuck({**waits, 50_000: [{0}]})) == 50_001
