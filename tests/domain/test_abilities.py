"""Which jobs a worker takes, said shortly for a claim and at length for a person."""

import itertools

import pytest

from headway.domain.jobs import Lane
from headway.domain.workers import Abilities

LANES = [
    Lane(queue=queue, job_type=job_type, cost_units=cost, requires=requires, limits={})
    for queue, job_type, cost, requires in itertools.product(
        ("a", "b"), ("x", "command"), (1, 5), ((), ("gpu",), ("gpu", "disk"))
    )
]


@pytest.mark.parametrize("queues", [None, (), ("a",), ("a", "b")])
@pytest.mark.parametrize("job_types", [None, ("x",), ("x", "command")])
@pytest.mark.parametrize("capabilities", [(), ("gpu",), ("disk", "gpu")])
@pytest.mark.parametrize("most", [None, 1, 5])
def test_both_say_the_same(
    queues: tuple[str, ...] | None,
    job_types: tuple[str, ...] | None,
    capabilities: tuple[str, ...],
    most: int | None,
) -> None:
    abilities = Abilities(
        queues=queues, job_types=job_types, capabilities=capabilities, max_cost_units=most
    )
    takes = abilities.takes
    for lane in LANES:
        assert takes(lane) == (abilities.refusal(lane) is None)
