"""A lease: permission to consume resources, for one worker, for a while."""

from datetime import datetime
from enum import StrEnum

import msgspec

from headway.domain import errors

DEFAULT_TTL_S = 30.0
CLAIM_TTL_S = 60.0
"""How long a claimed job waits for its worker to ask for a lease."""

HEARTBEATS_PER_TTL = 3
LONGEST_TTL_S = 3600.0
"""A worker that is gone holds its job and its capacity for no longer than this."""

LONGEST_MESSAGE = 200
"""Workers cut progress to this many characters: heartbeats of many runs go together."""

LARGEST_MESSAGE = 1024
"""A heartbeat's message has at most this many bytes in UTF-8."""


class LeaseState(StrEnum):
    """ACTIVE until it is released, or expires without a renewal."""

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


def check_ttl(ttl_s: float | None) -> None:
    """Refuse a lease that lasts no time, or too long without a heartbeat."""
    if ttl_s is not None and not 0 < ttl_s <= LONGEST_TTL_S:
        problem = f"{ttl_s} is not more than 0 and at most {LONGEST_TTL_S:.0f} seconds (one hour)"
        raise errors.InvalidRequest("ttl_s", problem)


def check_beat(progress: float | None, message: str | None) -> None:
    """Refuse progress that is no fraction, and messages that are longer than a line or two."""
    if progress is not None and not 0 <= progress <= 1:
        raise errors.InvalidRequest("progress", f"{progress} is not between 0 and 1")
    if message is not None and (size := len(message.encode())) > LARGEST_MESSAGE:
        problem = f"it has {size} bytes; the limit is {LARGEST_MESSAGE}"
        raise errors.InvalidRequest("message", problem)


def expires_at(now_ms: int, ttl_ms: int, deadline_ms: int | None) -> int:
    """One TTL from now, but never past the job's own time-out, and never in the past."""
    renewed = now_ms + ttl_ms
    return renewed if deadline_ms is None else max(now_ms, min(renewed, deadline_ms))


def back_off_ms(denials: int, fullness: float, jitter: float) -> int:
    """How long a denied worker waits: longer after more denials and in a fuller limit."""
    base = min(200 * 2 ** min(denials, 7), 15_000)
    return int(base * (0.5 + min(max(fullness, 0.0), 1.0)) * (0.75 + 0.5 * jitter))
