"""A lease: permission to consume resources, for one worker, for a while."""

from datetime import datetime
from enum import StrEnum

import msgspec

DEFAULT_TTL_S = 30.0
CLAIM_TTL_S = 60.0
"""How long a claimed job waits for its worker to ask for a lease."""

HEARTBEATS_PER_TTL = 3
LONGEST_MESSAGE = 200
"""Progress is told in this many characters: heartbeats of many runs go together."""


class LeaseState(StrEnum):
    """ACTIVE until it is released or nobody renews it."""

    ACTIVE = "ACTIVE"
    EXPIRED = "EXPIRED"
    RELEASED = "RELEASED"


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """A lease as it is shown."""

    lease_id: str
    job_id: str
    worker_id: str
    cost_units: int
    ttl_s: float
    granted_at: datetime
    expires_at: datetime
    state: LeaseState


def expires_at(now_ms: int, ttl_ms: int, deadline_ms: int | None) -> int:
    """One TTL from now, but never past the job's own time-out, and never in the past."""
    renewed = now_ms + ttl_ms
    return renewed if deadline_ms is None else max(now_ms, min(renewed, deadline_ms))


def back_off_ms(denials: int, fullness: float, jitter: float) -> int:
    """How long a denied worker waits: longer after more denials and in a fuller limit."""
    base = min(200 * 2 ** min(denials, 7), 15_000)
    return int(base * (0.5 + min(max(fullness, 0.0), 1.0)) * (0.75 + 0.5 * jitter))
