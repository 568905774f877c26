"""Who is to be told about jobs that ended: written with the end itself, delivered later."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from headway.domain import states, webhooks
from headway.domain.values import moments
from headway.domain.webhooks import Payload
from headway.scheduler.finish.ends import Ended
from headway.scheduler.scheduler import Scheduler
from headway.storage import records
from headway.storage.transaction import DELIVERIES, Transaction


def add(scheduler: Scheduler, tx: Transaction, ended: Sequence[Ended]) -> None:
    """One message for each end, event and endpoint that wants it."""
    endpoints = [
        (row["webhook_id"], row["url"], records.words(row["events"])) for row in tx.rows("webhooks")
    ]
    if not endpoints and not any(one.record.says("webhook_url") for one in ended):
        return
    rows = []
    for one in ended:
        for payload in _payloads(tx, one):
            targets = [(id_, url) for id_, url, wanted in endpoints if payload.event in wanted]
            if one.record.terms.webhook_url:
                targets.append((None, one.record.terms.webhook_url))
            rows += [
                _row(scheduler, tx, one, payload, webhook_id, url) for webhook_id, url in targets
            ]
    tx.many("insert_delivery", rows)
    if rows:
        tx.wake(DELIVERIES)


def _payloads(tx: Transaction, one: Ended) -> Iterator[Payload]:
    """A cancelled run is told as a run and as a cancelled job."""
    if one.run_status is not None:
        yield _payload(tx, one, webhooks.RUN_EVENTS[one.run_status], one.run_status)
    if one.status is states.CANCELLED:
        yield _payload(tx, one, webhooks.JOB_CANCELLED, one.status)
    if one.status in states.BLOCKED:
        yield _payload(tx, one, webhooks.JOB_BLOCKED, one.status)


def _payload(tx: Transaction, one: Ended, event: str, status: str) -> Payload:
    started = one.record.started_at if one.record.started_at is not None else one.started_at
    return Payload(
        event=event,
        run_id=one.run_id,
        job_id=one.record.job_id,
        status=status,
        started_at=moments.maybe_from_millis(started),
        finished_at=tx.now,
        artifacts=one.artifacts,
        error=one.error or (one.reason.detail if one.reason else None),
    )


def _row(
    scheduler: Scheduler,
    tx: Transaction,
    one: Ended,
    payload: Payload,
    webhook_id: str | None,
    url: str,
) -> dict[str, Any]:
    return {
        "delivery_id": scheduler.new_id(tx.now),
        "webhook_id": webhook_id,
        "url": url,
        "origin": webhooks.origin_of(url),
        "event": payload.event,
        "job_number": one.record.number,
        "job_id": one.record.job_id,
        "due_at": tx.now_ms,
        "payload": msgspec.json.encode(payload).decode(),
        "created_at": tx.now_ms,
    }
