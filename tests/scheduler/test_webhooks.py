"""Webhooks: registered, signed, delivered at least once, given up in the end."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from tests.helpers import MovableClock, ask, claim, finish, run_next, submit
from tests.scheduler.endpoints import deliveries

from headway.domain import errors
from headway.domain.manage.webhooks import EVENTS, Delivery, DeliveryStatus, Webhook, origin_of
from headway.domain.runs import RunStatus
from headway.operations.manage import webhooks as operations
from headway.protocol.operation import Paging
from headway.protocol.webhooks import DeliveryQuery, WebhookRequest
from headway.scheduler.manage import webhooks
from headway.scheduler.manage.webhooks import DueDelivery, Tried
from headway.scheduler.scheduler import Scheduler

URL = "http://127.0.0.1:9/hook"


def register(scheduler: Scheduler, url: str = URL, events: Sequence[str] | None = None) -> Webhook:
    return scheduler.store.write(lambda tx: webhooks.register(scheduler, tx, url, events))


def take(scheduler: Scheduler, count: int = 100, **bounds: Any) -> list[DueDelivery]:
    return scheduler.store.write(lambda tx: webhooks.take(tx, webhooks.choose(tx, count, **bounds)))


def record(scheduler: Scheduler, *results: Tried) -> None:
    scheduler.store.write(lambda tx: webhooks.record(tx, results))


def fail(scheduler: Scheduler, taken: DueDelivery) -> Delivery:
    """One more try that goes wrong."""
    attempts = taken.attempts + 1
    record(scheduler, Tried(delivery_id=taken.delivery_id, attempts=attempts, error="no answer"))
    return scheduler.store.read(lambda tx: webhooks.get_delivery(tx, taken.delivery_id))


def test_an_end_is_told_to_every_endpoint_that_wants_the_event(scheduler: Scheduler) -> None:
    register(scheduler)
    register(scheduler, events=["job.run.failed"])
    job = submit(scheduler, webhook_url="http://127.0.0.1:9/own")
    run_next(scheduler)
    found = deliveries(scheduler)
    assert sorted(one.url for one in found) == [URL, "http://127.0.0.1:9/own"]
    assert {(one.event, one.job_id) for one in found} == {("job.run.completed", job.job_id)}


def test_the_payload_is_flat_and_says_what_the_run_says(scheduler: Scheduler) -> None:
    register(scheduler)
    submit(scheduler, retry_policy={"max_attempts": 0})
    failed = run_next(scheduler, RunStatus.FAILED, error="boom", artifacts=("file:a",))
    (taken,) = take(scheduler)
    body = json.loads(taken.body)
    assert body["event"] == "job.run.failed"
    assert (body["run_id"], body["job_id"]) == (failed.run_id, failed.job_id)
    assert (body["status"], body["error"], body["artifacts"]) == ("FAILED", "boom", ["file:a"])
    assert body["finished_at"].endswith("Z")


@pytest.mark.parametrize(
    ("url", "events"),
    [
        ("ftp://x", None),
        ("http://", None),
        ("http://[::1", None),
        ("http://host:99999/", None),
        (URL, []),
        (URL, ["job.exploded"]),
    ],
)
def test_an_endpoint_that_makes_no_sense_is_refused(
    scheduler: Scheduler, url: str, events: list[str] | None
) -> None:
    with pytest.raises(errors.InvalidRequest):
        register(scheduler, url, events)


def test_the_secret_is_shown_once(scheduler: Scheduler) -> None:
    body = WebhookRequest(url=URL)
    made = ask(operations.create_webhook, scheduler, body=body)
    assert made.secret.startswith("whsec_")
    assert made.events == EVENTS
    (listed,) = ask(operations.list_webhooks, scheduler, query=Paging()).items
    assert listed.webhook_id == made.webhook_id
    assert listed.secret is None


def test_messages_to_a_jobs_own_url_are_signed_with_the_default_secret(
    scheduler: Scheduler,
) -> None:
    registered = register(scheduler)
    secret = ask(operations.get_webhook_secret, scheduler).secret
    assert ask(operations.get_webhook_secret, scheduler).secret == secret
    submit(scheduler, webhook_url="http://127.0.0.1:9/own")
    run_next(scheduler)
    secrets = {one.url: one.secret for one in take(scheduler)}
    assert secrets == {URL: registered.secret, "http://127.0.0.1:9/own": secret}


def test_a_message_that_was_taken_belongs_to_its_sender_for_a_minute(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    register(scheduler)
    submit(scheduler)
    run_next(scheduler)
    (first,) = take(scheduler)
    assert take(scheduler) == []
    clock.move(60)
    assert [one.delivery_id for one in take(scheduler)] == [first.delivery_id]


def test_a_message_that_two_servers_chose_at_once_is_taken_by_one(scheduler: Scheduler) -> None:
    register(scheduler)
    submit(scheduler)
    run_next(scheduler)
    chosen = scheduler.store.read(lambda tx: webhooks.choose(tx, 10))
    taken = [scheduler.store.write(lambda tx: webhooks.take(tx, chosen)) for _ in range(2)]
    assert [len(some) for some in taken] == [1, 0]


def test_the_status_in_a_message_is_that_of_the_run(scheduler: Scheduler) -> None:
    register(scheduler)
    submit(scheduler)
    run_next(scheduler)
    (taken,) = take(scheduler)
    assert json.loads(taken.body)["status"] == "COMPLETED"


def test_a_word_that_comes_twice_counts_once(scheduler: Scheduler) -> None:
    register(scheduler)
    submit(scheduler)
    run_next(scheduler)
    (taken,) = take(scheduler)
    first = fail(scheduler, taken)
    record(scheduler, Tried(delivery_id=taken.delivery_id, attempts=1, response_status=200))
    again = scheduler.store.read(lambda tx: webhooks.get_delivery(tx, taken.delivery_id))
    assert again == first


def test_a_message_is_tried_four_times_and_then_kept_as_failed(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    register(scheduler)
    submit(scheduler)
    run_next(scheduler)
    for wait_s in (5, 15, 45):
        (taken,) = take(scheduler)
        delivery = fail(scheduler, taken)
        assert delivery.status is DeliveryStatus.PENDING
        clock.move(wait_s - 0.001)
        assert take(scheduler) == []
        clock.move(0.001)
    (taken,) = take(scheduler)
    delivery = fail(scheduler, taken)
    assert (delivery.status, delivery.attempts) == (DeliveryStatus.FAILED, 4)
    assert (delivery.next_attempt_at, delivery.last_error) == (None, "no answer")


def test_a_failed_message_can_be_sent_afresh(scheduler: Scheduler, clock: MovableClock) -> None:
    webhook = register(scheduler)
    submit(scheduler)
    run_next(scheduler)
    (taken,) = take(scheduler)
    with pytest.raises(errors.Conflict, match="pending"):
        ask(operations.redeliver, scheduler, id=taken.delivery_id)
    record(scheduler, Tried(delivery_id=taken.delivery_id, attempts=1, response_status=204))
    delivered = ask(operations.get_delivery, scheduler, id=taken.delivery_id)
    assert delivered.status is DeliveryStatus.DELIVERED
    assert delivered.delivered_at == clock.now()
    again = ask(operations.redeliver, scheduler, id=taken.delivery_id)
    assert (again.status, again.attempts) == (DeliveryStatus.PENDING, 0)
    (taken,) = take(scheduler)
    record(scheduler, Tried(delivery_id=taken.delivery_id, attempts=1, response_status=204))
    ask(operations.remove_webhook, scheduler, id=webhook.webhook_id)
    with pytest.raises(errors.Conflict, match="removed"):
        ask(operations.redeliver, scheduler, id=taken.delivery_id)


def test_a_removed_endpoint_is_told_nothing_more(scheduler: Scheduler) -> None:
    webhook = register(scheduler)
    submit(scheduler)
    run_next(scheduler)
    (taken,) = take(scheduler)
    ask(operations.remove_webhook, scheduler, id=webhook.webhook_id)
    delivery = fail(scheduler, taken)
    assert delivery.status is DeliveryStatus.FAILED
    assert delivery.last_error == "the webhook was removed"
    with pytest.raises(errors.NotFound):
        ask(operations.remove_webhook, scheduler, id=webhook.webhook_id)


def test_a_word_on_an_earlier_try_comes_too_late(scheduler: Scheduler, clock: MovableClock) -> None:
    register(scheduler)
    submit(scheduler)
    run_next(scheduler)
    (stale,) = take(scheduler)
    clock.move(60)
    (taken,) = take(scheduler)
    record(scheduler, Tried(delivery_id=taken.delivery_id, attempts=1, response_status=200))
    assert fail(scheduler, stale).status is DeliveryStatus.DELIVERED


def test_one_endpoints_many_messages_do_not_stand_before_anothers(scheduler: Scheduler) -> None:
    for n in range(webhooks.LOOKED_AT + 100):
        submit(scheduler, webhook_url=f"http://dead.example/{n}")
    submit(scheduler, webhook_url="http://dead.example.org/x")
    while _run_many(scheduler):
        pass
    taken = take(scheduler, 10, room=lambda origin: 4)
    assert sorted({origin_of(one.url) for one in taken}) == [
        "dead.example.org:80",
        "dead.example:80",
    ]
    assert len(taken) == 5
    assert take(scheduler, full_origins=["dead.example:80"]) == []


def test_an_endpoint_is_its_host_and_port_whatever_user_stands_before_it(
    scheduler: Scheduler,
) -> None:
    for n in range(webhooks.LOOKED_AT + 100):
        submit(scheduler, webhook_url=f"http://user{n}:secret@DEAD.example:80/")
    submit(scheduler, webhook_url="http://other.example/")
    while _run_many(scheduler):
        pass
    taken = take(scheduler, 10, room=lambda origin: 4)
    assert [origin_of(one.url) for one in taken] == 4 * ["dead.example:80"] + ["other.example:80"]
    assert take(scheduler, full_origins=["dead.example:80"]) == []


def test_messages_of_an_earlier_version_are_sent_too(scheduler: Scheduler) -> None:
    for n in range(webhooks.LOOKED_AT + 1):
        submit(scheduler, webhook_url=f"http://user{n}@dead.example/")
    while _run_many(scheduler):
        pass
    forget = "UPDATE deliveries SET origin = NULL RETURNING 1 AS done"
    scheduler.store.write(lambda tx: tx.select(forget, {}))
    assert len(take(scheduler, 10, room=lambda origin: 4)) == 4


def _run_many(scheduler: Scheduler) -> bool:
    started = claim(scheduler, 1000)
    finish(scheduler, started)
    return bool(started)


def test_deliveries_are_listed_and_filtered(scheduler: Scheduler) -> None:
    register(scheduler)
    for _ in range(3):
        job = submit(scheduler)
        run_next(scheduler)

    def listed(**query: Any) -> list[Delivery]:
        asked = DeliveryQuery(**query)
        items: list[Delivery] = ask(operations.list_deliveries, scheduler, query=asked).items
        return items

    assert len(listed(status="pending")) == 3
    assert listed(status="failed") == []
    assert [one.job_id for one in listed(job_id=job.job_id)] == [job.job_id]
    with pytest.raises(errors.InvalidRequest):
        listed(status="lost")
