"""The courier, with real endpoints on this machine."""

import base64
import dataclasses
import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from tests.helpers import MovableClock, ask, run_next, submit
from tests.scheduler.endpoints import WAIT_S, deliveries, endpoint, silent_endpoint

from headway.domain.manage.webhooks import Delivery, DeliveryStatus
from headway.operations.manage import webhooks as operations
from headway.protocol.webhooks import WebhookRequest
from headway.scheduler.manage import webhooks
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep.courier import MOST_IN_FLIGHT, MOST_PER_ORIGIN, Courier
from headway.storage.engine.transaction import DELIVERIES


@contextmanager
def courier(scheduler: Scheduler) -> Iterator[None]:
    made = Courier(scheduler)
    made.start()
    try:
        yield
    finally:
        made.stop()


def end_a_job(scheduler: Scheduler, url: str) -> None:
    submit(scheduler, webhook_url=url)
    run_next(scheduler)


def eventually(scheduler: Scheduler, holds: Callable[[list[Delivery]], bool]) -> list[Delivery]:
    """The deliveries, once they are as they should be."""
    looking = threading.Event()
    for _ in range(WAIT_S * 50):
        if holds(found := deliveries(scheduler)):
            return found
        looking.wait(0.02)
    raise AssertionError(f"this is not how it should be: {found}")


def test_a_message_is_signed_and_delivered(scheduler: Scheduler, clock: MovableClock) -> None:
    with endpoint() as there, courier(scheduler):
        body = WebhookRequest(url=f"{there.url}/hook")
        secret = ask(operations.create_webhook, scheduler, body=body).secret
        submit(scheduler)
        job = run_next(scheduler)
        message = there.receive()
        (delivery,) = eventually(
            scheduler, lambda found: found[0].status is DeliveryStatus.DELIVERED
        )
    assert message.path == "/hook"
    assert json.loads(message.body)["job_id"] == job.job_id
    assert message.headers["webhook-id"] == delivery.delivery_id
    stamp = message.headers["webhook-timestamp"]
    assert int(stamp) == int(clock.now().timestamp())
    signed = f"{delivery.delivery_id}.{stamp}.".encode() + message.body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert message.headers["webhook-signature"] == f"v1,{expected}"
    assert (delivery.attempts, delivery.response_status) == (1, 200)


def test_what_was_due_before_the_start_is_sent(scheduler: Scheduler) -> None:
    with endpoint() as there:
        end_a_job(scheduler, there.url)
        with courier(scheduler):
            there.receive()


def test_a_refused_message_is_tried_again_under_the_same_id(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    with endpoint(500, 200) as there, courier(scheduler):
        end_a_job(scheduler, there.url)
        first = there.receive()
        (delivery,) = eventually(scheduler, lambda found: found[0].attempts == 1)
        assert delivery.last_error == "the endpoint answered 500"
        assert delivery.response_status == 500
        clock.move(5)
        scheduler.store.wakeups.tell([DELIVERIES])
        second = there.receive()
        assert first.headers["webhook-id"] == second.headers["webhook-id"]
        eventually(scheduler, lambda found: found[0].status is DeliveryStatus.DELIVERED)


def test_a_redirect_is_not_followed(scheduler: Scheduler) -> None:
    with endpoint(302) as there, courier(scheduler):
        end_a_job(scheduler, f"{there.url}/here")
        assert there.receive().path == "/here"
        (delivery,) = eventually(scheduler, lambda found: found[0].attempts == 1)
        assert delivery.last_error == "the endpoint answered 302"
        assert there.is_empty


def test_an_endpoint_that_never_responds_delays_no_other(scheduler: Scheduler) -> None:
    with silent_endpoint() as silent, endpoint() as there, courier(scheduler):
        for n in range(5 * MOST_PER_ORIGIN):
            end_a_job(scheduler, f"{silent}/{n}")
        for n in range(5 * MOST_PER_ORIGIN):
            end_a_job(scheduler, f"{there.url}/{n}")
        paths = {there.receive().path for _ in range(5 * MOST_PER_ORIGIN)}
        assert len(paths) == 5 * MOST_PER_ORIGIN
        answered = eventually(
            scheduler,
            lambda found: (
                sum(one.status is DeliveryStatus.DELIVERED for one in found) == 5 * MOST_PER_ORIGIN
            ),
        )
    assert all(one.url.startswith(there.url) for one in answered if one.delivered_at is not None)


def test_users_of_one_endpoint_share_its_places(scheduler: Scheduler) -> None:
    with silent_endpoint() as silent, endpoint() as there, courier(scheduler):
        for n in range(2 * MOST_IN_FLIGHT):
            end_a_job(scheduler, silent.replace("//", f"//user{n}@"))
        end_a_job(scheduler, there.url)
        there.receive()
        tried = [one for one in deliveries(scheduler) if one.next_attempt_at != one.created_at]
    assert len(tried) <= MOST_PER_ORIGIN + 1


def test_endpoints_that_answer_are_not_held_up_by_many_that_do_not(scheduler: Scheduler) -> None:
    with ExitStack() as stack, endpoint() as there, courier(scheduler):
        end_a_job(scheduler, there.url)
        eventually(scheduler, lambda found: found[0].status is DeliveryStatus.DELIVERED)
        there.receive()
        for _ in range(MOST_IN_FLIGHT + 10):
            end_a_job(scheduler, stack.enter_context(silent_endpoint()))
        end_a_job(scheduler, there.url)
        there.receive()
        assert sum(one.attempts for one in deliveries(scheduler) if one.delivered_at is None) == 0


def test_a_name_that_leads_to_a_link_local_address_is_not_called(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("169.254.169.254", 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_options: found)
    with courier(scheduler):
        end_a_job(scheduler, "http://metadata.example/latest")
        (delivery,) = eventually(scheduler, lambda found: found[0].attempts == 1)
    assert delivery.last_error == "not sent: its address is link-local"


def test_public_targets_leave_out_this_machine(scheduler: Scheduler) -> None:
    rules = dataclasses.replace(scheduler.rules, webhook_targets="public")
    with endpoint() as there, courier(dataclasses.replace(scheduler, rules=rules)):
        end_a_job(scheduler, there.url)
        (delivery,) = eventually(scheduler, lambda found: found[0].attempts == 1)
        assert there.is_empty
    assert delivery.last_error is not None
    assert "webhook_targets is public" in delivery.last_error


def test_an_error_never_holds_what_is_in_the_url(scheduler: Scheduler) -> None:
    with silent_endpoint() as gone:
        pass
    with courier(scheduler):
        end_a_job(scheduler, gone.replace("//", "//ann:hush@") + "/hush?token=hush")
        (delivery,) = eventually(scheduler, lambda found: found[0].attempts == 1)
    assert delivery.last_error is not None
    assert "hush" not in delivery.last_error


def test_what_is_cut_off_by_a_stop_is_sent_again_later(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    with silent_endpoint() as silent:
        with courier(scheduler):
            end_a_job(scheduler, silent)
            eventually(scheduler, lambda found: found[0].next_attempt_at != clock.now())
        clock.move(60)
        taken = scheduler.store.write(lambda tx: webhooks.take(tx, webhooks.choose(tx, 10)))
    assert len(taken) == 1


def test_a_courier_that_has_just_started_can_be_stopped(scheduler: Scheduler) -> None:
    with courier(scheduler):
        pass
    end_a_job(scheduler, "http://127.0.0.1:9/")
    assert deliveries(scheduler)[0].attempts == 0
