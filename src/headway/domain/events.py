"""The history: numbered lines that never change."""

from datetime import datetime
from typing import Any

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One line of history."""

    seq: int
    at: datetime
    kind: str
    job_id: str | None = None
    number: int | None = None
    data: dict[str, Any] = msgspec.field(default_factory=dict)


SUBMITTED = "job.submitted"
CHANGED = "job.changed"
WAITING = "job.waiting"
QUEUED = "job.queued"
CLAIMED = "job.claimed"
PREPARING = "job.preparing"
LEASE_DENIED = "job.lease_denied"
CLAIM_EXPIRED = "job.claim_expired"
STARTED = "job.started"
FINISHED = "job.finished"
SUSPENDED = "job.suspended"
RESUMED_JOB = "job.resumed"
STEP = "job.step"
SIGNAL = "job.signal"
CANCEL_REQUESTED = "job.cancel_requested"
APPROVED = "job.approved"
REJECTED = "job.rejected"
RETRY_SCHEDULED = "job.retry_scheduled"
REWOUND = "job.rewound"
GROUP_ENDED = "group.ended"
SCHEDULE_FIRED = "schedule.fired"
SCHEDULE_SKIPPED = "schedule.skipped"
SCHEDULE_FAILED = "schedule.failed"
PAUSED = "queue.paused"
RESUMED = "queue.resumed"
DIRECT_FINISHED = "direct.finished"
LOST = "events.lost"
TICK = "events.tick"
"""Not of the history: it has gone on. Streams with an interval send only this."""
