"""Webhooks, their messages, and each attempt to deliver one."""

import base64
import hashlib
import hmac
import ipaddress
import re
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import msgspec

from headway.domain.run_status import RunStatus

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


@lru_cache(maxsize=1000)
def origin_of(url: str) -> str:
    """Host and port of an endpoint, however they are written: what is slow or dead as one."""
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    port = parts.port or (443 if parts.scheme.lower() == "https" else 80)
    return f"{address_of(host) or host}:{port}"


def address_of(host: str) -> str | None:
    """The address that a host is written as, in its usual form; None for a name."""
    try:
        return str(_meant(_read_old_form(host) or ipaddress.ip_address(host)))
    except ValueError:
        return None


_NUMBER = re.compile(r"0x[0-9a-f]+|0[0-7]*|[1-9][0-9]*", re.IGNORECASE)


def _read_old_form(host: str) -> ipaddress.IPv4Address | None:
    """`127.1` and `0x7f000001` lead to addresses, too; the last number fills what is left."""
    parts = host.split(".")
    if len(parts) > 4 or not all(_NUMBER.fullmatch(part) for part in parts):
        return None
    *first, last = (_whole_number(part) for part in parts)
    if any(one > 255 for one in first) or last >= 256 ** (4 - len(first)):
        return None
    return ipaddress.IPv4Address(bytes(first) + last.to_bytes(4 - len(first), "big"))


def _whole_number(text: str) -> int:
    if text[:2].lower() == "0x":
        return int(text, 16)
    return int(text, 8 if text.startswith("0") else 10)


def refusal_of_address(text: str, *, public_only: bool) -> str | None:
    """Why no webhook is sent to this address, or None if it may be called."""
    address = _meant(ipaddress.ip_address(text))
    if address.is_link_local:
        return "its address is link-local"
    if public_only and (not address.is_global or address.is_multicast):
        return "its address is not public, and webhook_targets is public"
    return None


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _meant(address: _Address) -> _Address:
    """The IPv4 address that is called by way of an IPv6 one, or the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address
