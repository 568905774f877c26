"""Operations on webhooks and their deliveries."""

from headway.domain.manage.webhooks import Delivery, DeliveryStatus, Webhook
from headway.operations import filters, paging
from headway.operations.bound import Call, serves
from headway.protocol import webhooks as protocol
from headway.protocol.operation import Nothing, Page, Paging
from headway.protocol.webhooks import DeliveryQuery, WebhookRequest, WebhookSecret
from headway.scheduler.manage import webhooks
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import webhooks as kept


@serves(protocol.create_webhook)
def create_webhook(call: Call[WebhookRequest, Nothing], tx: Transaction) -> Webhook:
    """Register an endpoint; only this answer shows its secret."""
    return webhooks.register(call.scheduler, tx, call.body.url, call.body.events)


@serves(protocol.list_webhooks)
def list_webhooks(call: Call[Nothing, Paging], tx: Transaction) -> Page[Webhook]:
    """List endpoints, newest first, without their secrets."""
    limit = paging.check_limit(call.query.limit)
    before = paging.read_cursor(call.query.cursor)
    found = kept.page(tx, before=before, count=limit + 1)
    return paging.page(found, limit, lambda webhook: webhook.webhook_id)


@serves(protocol.get_webhook_secret)
def get_webhook_secret(_: Call[Nothing, Nothing], tx: Transaction) -> WebhookSecret:
    """Get the secret that signs messages to a job's own `webhook_url`."""
    return WebhookSecret(secret=webhooks.default_secret(tx))


@serves(protocol.remove_webhook)
def remove_webhook(call: Call[Nothing, Nothing], tx: Transaction) -> Webhook:
    """Remove an endpoint; its pending messages fail."""
    return webhooks.remove(tx, call.path["id"])


@serves(protocol.list_deliveries)
def list_deliveries(call: Call[Nothing, DeliveryQuery], tx: Transaction) -> Page[Delivery]:
    """List messages to endpoints, newest first."""
    query = call.query
    limit = paging.check_limit(query.limit)
    status = filters.read_word("status", query.status, DeliveryStatus)
    before = paging.read_cursor(query.cursor)
    found = kept.deliveries(tx, status=status, job_id=query.job_id, before=before, count=limit + 1)
    return paging.page(found, limit, lambda delivery: delivery.delivery_id)


@serves(protocol.get_delivery)
def get_delivery(call: Call[Nothing, Nothing], tx: Transaction) -> Delivery:
    """Get one message with its tries so far."""
    return webhooks.get_delivery(tx, call.path["id"])


@serves(protocol.redeliver)
def redeliver(call: Call[Nothing, Nothing], tx: Transaction) -> Delivery:
    """Send a delivered or failed message again."""
    return webhooks.redeliver(tx, call.path["id"])
