"""Operations on webhooks and their deliveries."""

import msgspec

from headway.domain.manage.tokens import Role
from headway.domain.manage.webhooks import Delivery, Webhook
from headway.protocol.operation import Opens, Page, Paging, operation


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


create_webhook = operation(
    "POST", "/api/webhooks", Role.ADMIN, body=WebhookRequest, answer=Webhook, status=201
)
list_webhooks = operation("GET", "/api/webhooks", Role.ADMIN, query=Paging, answer=Page[Webhook])
get_webhook_secret = operation(
    "GET", "/api/webhooks/secret", Role.ADMIN, answer=WebhookSecret, opens=Opens.WRITE
)
remove_webhook = operation("DELETE", "/api/webhooks/{id}", Role.ADMIN, answer=Webhook)
list_deliveries = operation(
    "GET", "/api/webhook-deliveries", Role.ADMIN, query=DeliveryQuery, answer=Page[Delivery]
)
get_delivery = operation("GET", "/api/webhook-deliveries/{id}", Role.ADMIN, answer=Delivery)
redeliver = operation("POST", "/api/webhook-deliveries/{id}/redeliver", Role.ADMIN, answer=Delivery)
