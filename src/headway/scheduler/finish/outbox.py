"""Webhook messages about ended jobs: written with the end itself, delivered later."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

import msgspec

from headway.domain import states
from headway.domain.manage import webhooks
from headway.domain.manage.webhooks import Payload
from headway.domain.values import moments
from headway.scheduler.finish.ends import Ended
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.transaction import DELIVERIES, Transaction
from headway.storage.manage import webhooks as stored_webhooks
from headway.storage.manage.webhooks import Endpoint, NewDelivery


class Message(NamedTuple):
    """One event of one job for one endpoint."""

    one: Ended
    payload: Payload
    endpoint: Endpoint


def add(
    scheduler: Scheduler,
    tx: Transaction,
    ended: Sequence[Ended],
    endpoints: Sequence[Endpoint],
) -> None:
    """One message for each end, event and endpoint that wants it."""
    if not endpoints and not any(one.record.says("webhook_url") for one in ended):
        return
    new_id = partial(scheduler.new_id, tx.now)
    deliveries = [_delivery(new_id(), one) for one in messages(ended, endpoints, tx.now)]
    stored_webhooks.insert_deliveries(tx, deliveries)
    if deliveries:
        tx.wake(DELIVERIES)


def messages(
    ended: Sequence[Ended], endpoints: Sequence[Endpoint], now: datetime
) -> Iterator[Message]:
    """What is to be sent where: to the endpoints that want an event, and to a job's own URL."""
    for one in ended:
        own = one.record.terms.webhook_url
        for payload in _payloads(one, now):
            for endpoint in endpoints:
                if payload.event in endpoint.events:
                    yield Message(one, payload, endpoint)
            if own:
                yield Message(one, payload, Endpoint(None, own, ()))


def _payloads(one: Ended, now: datetime) -> Iterator[Payload]:
    """A cancelled run is announced as a run and as a cancelled job."""
    if one.run_status is not None and (event := webhooks.RUN_EVENTS.get(one.run_status)):
        yield _payload(one, now, event, one.run_status)
    if one.status is states.CANCELLED:
        yield _payload(one, now, webhooks.JOB_CANCELLED, one.status)
    if one.status in states.BLOCKED:
        yield _payload(one, now, webhooks.JOB_BLOCKED, one.status)


def _payload(one: Ended, now: datetime, event: str, status: str) -> Payload:
    started = one.record.started_at if one.record.started_at is not None else one.started_at
    return Payload(
        event=event,
        run_id=one.run_id,
        job_id=one.record.job_id,
        status=status,
        started_at=moments.maybe_from_millis(started),
        finished_at=now,
        artifacts=one.artifacts,
        error=one.error or (one.reason.detail if one.reason else None),
    )


def _delivery(delivery_id: str, message: Message) -> NewDelivery:
    one, payload, endpoint = message
    return NewDelivery(
        delivery_id=delivery_id,
        webhook_id=endpoint.webhook_id,
        url=endpoint.url,
        origin=webhooks.origin_of(endpoint.url),
        event=payload.event,
        job_number=one.record.number,
        job_id=one.record.job_id,
        payload=msgspec.json.encode(payload).decode(),
    )
