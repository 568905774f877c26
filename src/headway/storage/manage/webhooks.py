"""Endpoints, messages and the default secret as they are kept."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from headway.domain.manage.webhooks import Delivery, DeliveryStatus, Webhook
from headway.domain.values import moments
from headway.storage import records
from headway.storage.engine import codec, question
from headway.storage.engine.question import Row
from headway.storage.engine.transaction import Transaction

DEFAULT_SECRET = "webhook_secret"


def insert(tx: Transaction, webhook: Webhook) -> None:
    """A new endpoint, with its secret."""
    tx.do(
        "insert_webhook",
        webhook_id=webhook.webhook_id,
        url=webhook.url,
        events=codec.dump(webhook.events),
        secret=webhook.secret,
        created_at=moments.to_millis(webhook.created_at),
    )


def find(tx: Transaction, webhook_id: str) -> Webhook | None:
    """One endpoint, without its secret."""
    row = tx.row("webhook_by_id", webhook_id=webhook_id)
    return _webhook(row) if row else None


def page(tx: Transaction, *, before: str | None, count: int) -> list[Webhook]:
    """Endpoints, newest first, without their secrets."""
    return [_webhook(row) for row in tx.rows("webhooks_before", before=before, count=count)]


class Endpoint(NamedTuple):
    """Where messages go, and the events that are wanted there."""

    webhook_id: str | None
    url: str
    events: tuple[str, ...]


ENDPOINTS = question.of_rows(
    lambda rows: [
        Endpoint(row["webhook_id"], row["url"], records.words(row["events"])) for row in rows
    ],
    "webhooks",
)
"""Every endpoint that is registered."""


class NewDelivery(NamedTuple):
    """A message that is due at once. Times are in milliseconds."""

    delivery_id: str
    webhook_id: str | None
    url: str
    origin: str
    event: str
    job_number: int
    job_id: str
    payload: str


def insert_deliveries(tx: Transaction, messages: Iterable[NewDelivery]) -> None:
    """New messages, each due at once."""
    times = {"due_at": tx.now_ms, "created_at": tx.now_ms}
    tx.many("insert_delivery", [{**one._asdict(), **times} for one in messages])


def remove(tx: Transaction, webhook_id: str) -> None:
    """An endpoint is gone; what was not delivered to it fails."""
    tx.do("fail_deliveries_of_webhook", webhook_id=webhook_id)
    tx.do("remove_webhook", webhook_id=webhook_id)


def default_secret(tx: Transaction) -> str | None:
    """The secret for URLs that are not registered, if there is one yet."""
    row = tx.row("fact", name=DEFAULT_SECRET)
    return row["value"] if row else None


def set_default_secret(tx: Transaction, secret: str) -> None:
    """Set the default secret, unless it is set."""
    tx.do("set_fact", name=DEFAULT_SECRET, value=secret)


def find_delivery(tx: Transaction, delivery_id: str) -> Delivery | None:
    """One message."""
    row = tx.row("delivery_by_id", delivery_id=delivery_id)
    return _delivery(row) if row else None


def deliveries(
    tx: Transaction,
    *,
    status: DeliveryStatus | None,
    job_id: str | None,
    before: str | None,
    count: int,
) -> list[Delivery]:
    """Messages, newest first."""
    rows = tx.rows("deliveries", status=status, job_id=job_id, before=before, count=count)
    return [_delivery(row) for row in rows]


class DueMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message whose turn has come."""

    delivery_id: str
    url: str
    due_at: int


class TakenMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be known to send a message; one to no webhook has no secret of its own."""

    delivery_id: str
    webhook_id: str | None
    url: str
    payload: str
    attempts: int
    secret: str | None


BEFORE_ALL = (0, "")
"""Before the first message that is due: a moment and an id."""


def due(
    tx: Transaction, full_origins: Collection[str], count: int, behind: tuple[int, str]
) -> list[DueMessage]:
    """Messages whose turn has come behind a moment and an id, longest due first."""
    due_at, delivery_id = behind
    rows = tx.rows(
        "due_deliveries",
        now=tx.now_ms,
        full_origins=records.listed(full_origins),
        due_at=due_at,
        delivery_id=delivery_id,
        count=count,
    )
    return [DueMessage(**row) for row in rows]


def due_to(tx: Transaction, origins: Collection[str], count: int) -> list[DueMessage]:
    """Messages to these origins whose turn has come, longest due first."""
    if not origins:
        return []
    listed = records.listed(origins)
    rows = tx.rows("due_deliveries_to", now=tx.now_ms, origins=listed, count=count)
    return [DueMessage(**row) for row in rows]


def take(tx: Transaction, delivery_ids: Sequence[str], until: int) -> list[TakenMessage]:
    """Keep others from sending these until then; return those that no other server took before."""
    taken = [
        one
        for one in delivery_ids
        if tx.do("take_delivery", delivery_id=one, until=until, now=tx.now_ms)
    ]
    if not taken:
        return []
    rows = tx.rows("deliveries_to_send", delivery_ids=records.listed(taken))
    return [TakenMessage(**row) for row in rows]


def record(tx: Transaction, rows: Sequence[dict[str, Any]]) -> None:
    """How tries went."""
    tx.many("record_delivery", rows)


def send_again(tx: Transaction, delivery_id: str) -> None:
    """A message that was delivered or given up is sent afresh."""
    tx.do("redeliver", delivery_id=delivery_id, due_at=tx.now_ms)


def bring_back(tx: Transaction, latest: int) -> None:
    """The clock was set back: no message waits for longer than until then."""
    tx.do("bring_back_deliveries", latest=latest)


def counts(tx: Transaction) -> dict[DeliveryStatus, int]:
    """How many messages there are, by status."""
    return {DeliveryStatus(row["status"]): row["count"] for row in tx.rows("count_deliveries")}


def next_due(tx: Transaction) -> int | None:
    """When the next message is due that is not due yet."""
    moment: int | None = tx.rows("next_delivery_after", now=tx.now_ms)[0]["at"]
    return moment


def _webhook(row: Row) -> Webhook:
    return Webhook(
        webhook_id=row["webhook_id"],
        url=row["url"],
        events=records.words(row["events"]),
        created_at=moments.from_millis(row["created_at"]),
    )


def _delivery(row: Row) -> Delivery:
    return Delivery(
        delivery_id=row["delivery_id"],
        webhook_id=row["webhook_id"],
        url=row["url"],
        event=row["event"],
        job_id=row["job_id"],
        status=DeliveryStatus(row["status"]),
        attempts=row["attempts"],
        next_attempt_at=moments.maybe_from_millis(row["due_at"]),
        last_error=row["last_error"],
        response_status=row["response_status"],
        payload=codec.load(row["payload"]),
        created_at=moments.from_millis(row["created_at"]),
        delivered_at=moments.maybe_from_millis(row["delivered_at"]),
    )
