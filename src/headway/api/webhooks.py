"""Operations on webhooks and their deliveries."""

from typing import Any

import msgspec

from headway.api import filters, paging
from headway.api.operation import Call, Nothing, Page, Paging, operation
from headway.domain.tokens import Role
from headway.domain.webhooks import Delivery, DeliveryStatus, Webhook
from headway.scheduler.manage import webhooks
from headway.storage import webhooks as kept


class WebhookRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The URL to notify, and of which events; all if none are given."""

    url: str
    events: list[str] | None = None


class WebhookSecret(msgspec.Struct, frozen=True, kw_only=True):
    """What signs messages to a job's own URL."""

    secret: str


class DeliveryQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Filters and paging of the list of deliveries."""

    limit: int = 50
    cursor: str | None = None
    status: str | None = None
    job_id: str | None = None


@operation("POST", "/api/webhooks", Role.ADMIN, body=WebhookRequest, answer=Webhook, status=201)
def create_webhook(call: Call[WebhookRequest, Nothing]) -> Any:
    """Register an endpoint; only this answer shows its secret."""
    return call.change(
        lambda tx: webhooks.register(call.scheduler, tx, call.body.url, call.body.events)
    )


@operation("GET", "/api/webhooks", Role.ADMIN, query=Paging, answer=Page[Webhook])
def list_webhooks(call: Call[Nothing, Paging]) -> Page[Webhook]:
    """List endpoints, newest first, without their secrets."""
    limit = paging.check_limit(call.query.limit)
    before = paging.read_cursor(call.query.cursor)
    found = call.scheduler.store.read(lambda tx: kept.page(tx, before=before, count=limit + 1))
    return paging.page(found, limit, lambda webhook: webhook.webhook_id)


@operation("GET", "/api/webhooks/secret", Role.ADMIN, answer=WebhookSecret)
def get_webhook_secret(call: Call[Nothing, Nothing]) -> Any:
    """Get the secret that signs messages to a job's own `webhook_url`."""
    return call.change(lambda tx: WebhookSecret(secret=webhooks.default_secret(tx)))


@operation("DELETE", "/api/webhooks/{id}", Role.ADMIN, answer=Webhook)
def remove_webhook(call: Call[Nothing, Nothing]) -> Any:
    """Remove an endpoint; its pending messages fail."""
    return call.change(lambda tx: webhooks.remove(tx, call.path["id"]))


@operation("GET", "/api/webhook-deliveries", Role.ADMIN, query=DeliveryQuery, answer=Page[Delivery])
def list_deliveries(call: Call[Nothing, DeliveryQuery]) -> Page[Delivery]:
    """List messages to endpoints, newest first."""
    query = call.query
    limit = paging.check_limit(query.limit)
    status = filters.read_word("status", query.status, DeliveryStatus)
    before = paging.read_cursor(query.cursor)
    found = call.scheduler.store.read(
        lambda tx: kept.deliveries(
            tx, status=status, job_id=query.job_id, before=before, count=limit + 1
        )
    )
    return paging.page(found, limit, lambda delivery: delivery.delivery_id)


@operation("GET", "/api/webhook-deliveries/{id}", Role.ADMIN, answer=Delivery)
def get_delivery(call: Call[Nothing, Nothing]) -> Delivery:
    """Get one message with its tries so far."""
    return call.scheduler.store.read(lambda tx: webhooks.get_delivery(tx, call.path["id"]))


@operation("POST", "/api/webhook-deliveries/{id}/redeliver", Role.ADMIN, answer=Delivery)
def redeliver(call: Call[Nothing, Nothing]) -> Any:
    """Send a delivered or failed message again."""
    return call.change(lambda tx: webhooks.redeliver(tx, call.path["id"]))
