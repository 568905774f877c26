"""Calls about webhooks and their deliveries."""

from collections.abc import Sequence

from headway.api.operation import Page, Paging
from headway.api.webhooks import DeliveryQuery, WebhookRequest, WebhookSecret
from headway.client.calls.call import Call, step, words
from headway.domain.webhooks import Delivery, Webhook


def create_webhook(url: str, events: Sequence[str] | None = None) -> Call[Webhook]:
    """Register an endpoint; only this answer shows its secret."""
    body = WebhookRequest(url=url, events=list(events) if events else None)
    return Call("POST", "/api/webhooks", Webhook, body, safe_to_repeat=False)


def list_webhooks(paging: Paging | None = None) -> Call[Page[Webhook]]:
    """List endpoints, newest first."""
    return Call("GET", "/api/webhooks", Page[Webhook], query=words(paging))


def get_webhook_secret() -> Call[WebhookSecret]:
    """Get the secret that signs messages to a job's own URL."""
    return Call("GET", "/api/webhooks/secret", WebhookSecret)


def remove_webhook(webhook_id: str) -> Call[Webhook]:
    """Remove an endpoint."""
    return Call("DELETE", f"/api/webhooks/{step(webhook_id)}", Webhook, safe_to_repeat=False)


def list_deliveries(query: DeliveryQuery | None = None) -> Call[Page[Delivery]]:
    """List messages to endpoints, newest first."""
    return Call("GET", "/api/webhook-deliveries", Page[Delivery], query=words(query))


def get_delivery(delivery_id: str) -> Call[Delivery]:
    """Get one message with its tries so far."""
    return Call("GET", f"/api/webhook-deliveries/{step(delivery_id)}", Delivery)


def redeliver(delivery_id: str) -> Call[Delivery]:
    """Send a message again."""
    path = f"/api/webhook-deliveries/{step(delivery_id)}/redeliver"
    return Call("POST", path, Delivery, safe_to_repeat=False)
