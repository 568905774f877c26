"""Deadlines: until when a job must have started to be worth its while."""

from headway.domain.jobs import WaitReason
from headway.domain.values import moments

EXPIRED = "expired"
"""The kind of the wait reason with which a job ends that did not start in time."""


def start_by(span_s: float | None, scheduled_for: int | None, now_ms: int) -> int | None:
    """Until when a job must start that is made now: its span counts from when it may start."""
    if span_s is None:
        return None
    return max(now_ms, scheduled_for or now_ms) + round(span_s * 1000)


def expired(start_by_ms: int) -> WaitReason:
    """Why a job ended that had not started by then."""
    moment = moments.show(moments.from_millis(start_by_ms))
    return WaitReason(kind=EXPIRED, detail=f"not started by {moment}")
