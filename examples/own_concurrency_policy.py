"""A concurrency policy of your own: each customer has its own limit.

    concurrency_policy = "examples.own_concurrency_policy:PerCustomer"   # headway.toml

A job of the queue `customer-acme` uses 1 of the limit `customer:acme`, besides what every job uses.
Until somebody defines that limit, it is unlimited: `headway limits set customer:acme 2`.
"""

from collections.abc import Mapping

import headway

PREFIX = "customer-"


class PerCustomer(headway.StandardPolicy):
    """The standard limits, and one for each customer."""

    def uses(self, lane: headway.Lane) -> Mapping[str, int]:
        """The limits that a job of this lane uses, and how much of each."""
        standard = super().uses(lane)
        if not lane.queue.startswith(PREFIX):
            return standard
        return {**standard, f"customer:{lane.queue.removeprefix(PREFIX)}": 1}
