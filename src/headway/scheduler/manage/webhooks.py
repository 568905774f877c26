"""Webhooks: endpoints, the secrets that sign, and messages on their way."""

import base64
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import msgspec

from headway.domain import errors
from headway.domain.manage import webhooks
from headway.domain.manage.webhooks import Delivery, DeliveryStatus, Webhook
from headway.domain.requests import job_requests
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.transaction import DELIVERIES, Transaction
from headway.storage.manage import webhooks as kept

TAKEN_FOR_MS = 60_000
"""How long a message belongs to its sender; far longer than a try may take."""
SECRET_BYTES = 32
LOOKED_AT = 500
"""How many due messages are looked at for some that may go now."""


class DueDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """A message that is to be sent now, by the server that took it."""

    delivery_id: str
    url: str
    body: bytes
    secret: str
    attempts: int


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """How a try went: delivered, unless there is an error. `attempts` counts this one."""

    delivery_id: str
    attempts: int
    response_status: int | None = None
    error: str | None = None


def register(
    scheduler: Scheduler, tx: Transaction, url: str, events: Sequence[str] | None = None
) -> Webhook:
    """A new endpoint for some events, or for all; only this answer ever holds its secret."""
    job_requests.check_url("url", url)
    wanted = tuple(dict.fromkeys(webhooks.EVENTS if events is None else events))
    if not wanted:
        raise errors.InvalidRequest("events", "name at least one event")
    for event in wanted:
        if event not in webhooks.EVENTS:
            known = ", ".join(webhooks.EVENTS)
            raise errors.InvalidRequest("events", f"{event!r} is not one of {known}")
    webhook = Webhook(
        webhook_id=scheduler.new_id(tx.now),
        url=url,
        events=wanted,
        created_at=tx.now,
        secret=_new_secret(),
    )
    kept.insert(tx, webhook)
    return webhook


def remove(tx: Transaction, webhook_id: str) -> Webhook:
    """Remove an endpoint: nothing more is sent to it."""
    webhook = kept.find(tx, webhook_id)
    if webhook is None:
        raise errors.NotFound("webhook", webhook_id)
    kept.remove(tx, webhook_id)
    return webhook


def default_secret(tx: Transaction) -> str:
    """What signs messages to a job's own URL; it is made when it is first asked for."""
    secret = kept.default_secret(tx)
    if secret is None:
        secret = _new_secret()
        kept.set_default_secret(tx, secret)
    return secret


def get_delivery(tx: Transaction, delivery_id: str) -> Delivery:
    """One message with its tries."""
    delivery = kept.find_delivery(tx, delivery_id)
    if delivery is None:
        raise errors.NotFound("delivery", delivery_id)
    return delivery


def redeliver(tx: Transaction, delivery_id: str) -> Delivery:
    """Send a message that was delivered or given up once more, with all its tries."""
    delivery = get_delivery(tx, delivery_id)
    if delivery.status is DeliveryStatus.PENDING:
        raise errors.Conflict(f"delivery {delivery_id} is still pending")
    if delivery.webhook_id is not None and kept.find(tx, delivery.webhook_id) is None:
        raise errors.Conflict(f"the webhook of delivery {delivery_id} was removed")
    kept.send_again(tx, delivery_id)
    tx.wake(DELIVERIES)
    return get_delivery(tx, delivery_id)


class Share(NamedTuple):
    """Some origins, and how many messages may go to them together."""

    origins: Collection[str]
    most: int


def choose(
    tx: Transaction,
    count: int,
    *,
    room: Callable[[str], int] | None = None,
    full_origins: Collection[str] = (),
    first: Share | None = None,
    others: int | None = None,
) -> list[str]:
    """Which messages may go now: the first share, then at most so many to other origins.

    `room` says how many more an origin takes; those in `full_origins` take none and are not even
    looked at, so that a dead endpoint's many messages never delay another's few.
    """
    first = first or Share((), 0)
    picks = _Picks(min(count, first.most), room)
    picks.add(kept.due_to(tx, set(first.origins).difference(full_origins), LOOKED_AT))
    picks.most = count if others is None else min(count, len(picks.found) + others)
    left_out = {*full_origins, *first.origins}
    behind = kept.BEFORE_ALL
    while not picks.is_full:
        due = kept.due(tx, picks.full | left_out, LOOKED_AT, behind)
        picks.add(due)
        if len(due) < LOOKED_AT:
            break
        behind = due[-1].due_at, due[-1].delivery_id
    return picks.found


class _Picks:
    """Messages that were chosen, as many as there may be and as their origins take."""

    def __init__(self, most: int, room: Callable[[str], int] | None) -> None:
        self.most = most
        self.found: list[str] = []
        self._room = room
        self._chosen: Counter[str] = Counter()

    @property
    def is_full(self) -> bool:
        return len(self.found) >= self.most

    @property
    def full(self) -> set[str]:
        """The origins that take no more than was chosen."""
        return {one for one in self._chosen if not self._fits(one)}

    def add(self, due: Sequence[kept.DueMessage]) -> None:
        """Choose those of these messages that may go."""
        for one in due:
            origin = webhooks.origin_of(one.url)
            if not self.is_full and self._fits(origin):
                self.found.append(one.delivery_id)
                self._chosen[origin] += 1

    def _fits(self, origin: str) -> bool:
        return self._room is None or self._chosen[origin] < self._room(origin)


def take(tx: Transaction, delivery_ids: Sequence[str]) -> list[DueDelivery]:
    """Take those of these messages that no other server took; they are ours for a minute."""
    return [
        DueDelivery(
            delivery_id=one.delivery_id,
            url=one.url,
            body=one.payload.encode(),
            secret=one.secret or default_secret(tx),
            attempts=one.attempts,
        )
        for one in kept.take(tx, delivery_ids, tx.now_ms + TAKEN_FOR_MS)
    ]


def record(tx: Transaction, results: Sequence[Tried]) -> None:
    """Write down how tries went, and when the next is due."""
    kept.record(tx, [_row(tx, one) for one in results])


def _row(tx: Transaction, one: Tried) -> dict[str, Any]:
    delay_s = None if one.error is None else webhooks.next_delay_s(one.attempts)
    status = DeliveryStatus.PENDING
    if delay_s is None:
        status = DeliveryStatus.DELIVERED if one.error is None else DeliveryStatus.FAILED
    return {
        "delivery_id": one.delivery_id,
        "status": status,
        "attempts": one.attempts,
        "due_at": None if delay_s is None else tx.now_ms + delay_s * 1000,
        "last_error": one.error,
        "response_status": one.response_status,
        "delivered_at": tx.now_ms if one.error is None else None,
    }


def _new_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()
