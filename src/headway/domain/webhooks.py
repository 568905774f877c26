"""Who is told what happened, and each attempt to tell."""

import base64
import hashlib
import hmac
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from headway.domain.runs import RunStatus

RETRY_DELAYS_S = (5, 15, 45)

RUN_EVENTS = {
    RunStatus.COMPLETED: "job.run.completed",
    RunStatus.FAILED: "job.run.failed",
    RunStatus.SKIPPED: "job.run.skipped",
}
JOB_CANCELLED = "job.cancelled"
JOB_BLOCKED = "job.blocked"
EVENTS = (*RUN_EVENTS.values(), JOB_CANCELLED, JOB_BLOCKED)


class DeliveryStatus(StrEnum):
    """PENDING until the endpoint accepts it or all tries are used up."""

    PENDING = "PENDING"
    DELIVERED = "DELIVERED"
    FAILED = "FAILED"


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """A registered endpoint; the secret is shown once, when it is made."""

    webhook_id: str
    url: str
    events: tuple[str, ...]
    created_at: datetime
    secret: str | None = None


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent: flat, with the values that the run API gives."""

    event: str
    run_id: str | None
    job_id: str
    status: str
    started_at: datetime | None
    finished_at: datetime | None
    artifacts: tuple[str, ...] = ()
    error: str | None = None


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """One message to one endpoint, with its tries so far."""

    delivery_id: str
    webhook_id: str | None
    url: str
    event: str
    job_id: str
    status: DeliveryStatus
    attempts: int
    next_attempt_at: datetime | None
    last_error: str | None
    response_status: int | None
    payload: dict[str, Any]
    created_at: datetime
    delivered_at: datetime | None


def next_delay_s(attempts: int) -> int | None:
    """How long to wait after so many failed tries; None when that was the last."""
    return RETRY_DELAYS_S[attempts - 1] if attempts <= len(RETRY_DELAYS_S) else None


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """The Standard Webhooks signature, version 1."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
