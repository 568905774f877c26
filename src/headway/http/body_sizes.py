"""How large the body of each call may be."""

from headway.scheduler.scheduler import Rules

ROOM_FOR_THE_REST = 64 * 1024
"""How much larger than its params or result a body may be."""

CLAIMS = "/api/claims"
BATCHES = (
    "/api/jobs/batch",
    "/api/job-groups",
    "/api/leases/releases",
    "/api/leases/{id}/suspend",
    "/api/leases/steps",
    CLAIMS,
)
"""Calls that carry many params or results; a claim reports how runs ended."""

SIZES = {
    "/api/leases/heartbeats": 16 * 1024 * 1024,  # the longest message for each of the most items
    "/api/leases/logs": 2 * 1024 * 1024,
    "/api/leases/{id}/logs": 2 * 1024 * 1024,
}
"""Calls whose size has nothing to do with params and results."""


def largest(rules: Rules, path: str) -> int:
    """The most bytes that a body may have for the operation at this path."""
    one = max(rules.largest_params, rules.largest_result) + ROOM_FOR_THE_REST
    return max(rules.largest_batch, one) if path in BATCHES else SIZES.get(path, one)
