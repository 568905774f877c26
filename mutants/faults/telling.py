"""Telling others."""

from mutants.fault import Fault, NamedTest, Simulation

FAULTS = (
    Fault(
        name="end-without-event",
        section=12,
        promise="every transition appends an event in the same transaction",
        planted="the end of a job is not noted",
        file="scheduler/finish/consequences.py",
        text="    tx.note_all(events.FINISHED, wave.history)\n",
        instead="",
        caught_by=NamedTest(
            "tests/storage/test_verbs.py::test_events_are_numbered_in_the_order_in_which_they_happened"
        ),
    ),
    Fault(
        name="start-without-event",
        section=12,
        promise="every transition appends an event in the same transaction",
        planted="an event is written although the work failed",
        file="storage/engine/writer.py",
        text="            self._session.undo()\n",
        instead="            transaction.write_notes()\n",
        caught_by=NamedTest(
            "tests/storage/test_transactions.py::test_history_is_written_with_the_work_and_undone_with_it"
        ),
    ),
    Fault(
        name="resume-loses",
        section=12,
        promise="`Last-Event-ID` resumes without loss",
        planted="one event is left out",
        file="storage/queries/events.sql",
        text=("WHERE e.seq > :seq ORDER BY e.seq LIMIT :count;\n\n-- name: events_of_job"),
        instead=("WHERE e.seq > :seq + 1 ORDER BY e.seq LIMIT :count;\n\n-- name: events_of_job"),
        caught_by=NamedTest(
            "tests/http/test_streams.py::test_a_stream_goes_on_where_another_ended"
        ),
    ),
    Fault(
        name="outbox-empty",
        section=12,
        promise="Written to an outbox in the finishing transaction",
        planted="nothing is written",
        file="scheduler/finish/consequences.py",
        text="    outbox.add(scheduler, tx, ended, endpoints)\n",
        instead="",
        caught_by=Simulation(),
    ),
    Fault(
        name="unwanted-event",
        section=12,
        promise="registered endpoints with event filters",
        planted="every event goes to every endpoint",
        file="scheduler/finish/outbox.py",
        text="if payload.event in endpoint.events:",
        instead="if payload.event:",
        caught_by=NamedTest(
            "tests/scheduler/test_webhooks.py::test_an_end_is_told_to_every_endpoint_that_wants_the_event"
        ),
    ),
    Fault(
        name="own-url",
        section=12,
        promise="plus `webhook_url` on a job or template",
        planted="a job's own URL is not told",
        file="scheduler/finish/outbox.py",
        text="            if own:\n",
        instead="            if own is True:\n",
        caught_by=NamedTest(
            "tests/scheduler/test_finish_decisions.py::test_messages_go_to_endpoints_that_want_the_event_and_to_the_url_of_the_job"
        ),
    ),
    Fault(
        name="blocked-untold",
        section=12,
        promise="also `job.cancelled`, `job.blocked`",
        planted="a blocked job is not told",
        file="scheduler/finish/outbox.py",
        text="if one.status in states.BLOCKED:",
        instead="if one.status in states.SUCCESS:",
        caught_by=NamedTest(
            "tests/scheduler/test_webhooks.py::test_an_end_is_told_to_every_endpoint_that_wants_the_event"
        ),
    ),
    Fault(
        name="payload-status",
        section=12,
        promise="with the values the run API gives",
        planted="the payload says the job's status",
        file="scheduler/finish/outbox.py",
        text="yield _payload(one, now, event, one.run_status)",
        instead="yield _payload(one, now, event, one.status)",
        caught_by=NamedTest(
            "tests/scheduler/test_webhooks.py::test_the_status_in_a_message_is_that_of_the_run"
        ),
    ),
    Fault(
        name="fewer-tries",
        section=12,
        promise="first try then up to 3 retries after 5, 15, 45 s",
        planted="there are two retries",
        file="domain/manage/webhooks.py",
        text="RETRY_DELAYS_S = (5, 15, 45)",
        instead="RETRY_DELAYS_S = (5, 15)",
        caught_by=NamedTest(
            "tests/scheduler/test_webhooks.py::test_a_message_is_tried_four_times_and_then_kept_as_failed"
        ),
    ),
    Fault(
        name="given-up-lost",
        section=12,
        promise="then FAILED and kept, with `redeliver`",
        planted="a message that was given up counts as delivered",
        file="scheduler/manage/webhooks.py",
        text="DeliveryStatus.DELIVERED if one.error is None else DeliveryStatus.FAILED",
        instead="DeliveryStatus.DELIVERED",
        caught_by=NamedTest(
            "tests/scheduler/test_webhooks.py::test_a_message_is_tried_four_times_and_then_kept_as_failed"
        ),
    ),
    Fault(
        name="new-id",
        section=12,
        promise="`webhook-id` stable across tries",
        planted="each try has its own id",
        file="scheduler/upkeep/courier.py",
        text='"webhook-id": delivery.delivery_id,',
        instead='"webhook-id": f"{delivery.delivery_id}-{delivery.attempts}",',
        caught_by=NamedTest(
            "tests/scheduler/test_courier.py::test_a_refused_message_is_tried_again_under_the_same_id"
        ),
    ),
    Fault(
        name="unsigned-id",
        section=12,
        promise="Signed (Standard Webhooks)",
        planted="the id is not part of what is signed",
        file="domain/manage/webhooks.py",
        text='signed = f"{message_id}.{timestamp}.".encode() + body',
        instead='signed = f"{timestamp}.".encode() + body',
        caught_by=NamedTest(
            "tests/scheduler/test_courier.py::test_a_message_is_signed_and_delivered"
        ),
    ),
    Fault(
        name="sent-by-two",
        section=12,
        promise="delivered at least once, by one server at a time",
        planted="two servers take one message",
        file="storage/queries/webhooks.sql",
        text=(
            "UPDATE deliveries SET due_at = :until WHERE delivery_id = :delivery_id AND "
            "due_at <= :now;"
        ),
        instead=(
            "UPDATE deliveries SET due_at = :until WHERE delivery_id = :delivery_id AND :now > 0;"
        ),
        caught_by=NamedTest(
            "tests/scheduler/test_webhooks.py::test_a_message_that_two_servers_chose_at_once_is_taken_by_one"
        ),
    ),
    Fault(
        name="late-word",
        section=12,
        promise="first try then up to 3 retries",
        planted="a word on an earlier try counts",
        file="storage/queries/webhooks.sql",
        text="AND status = 'PENDING' AND attempts = :attempts - 1;",
        instead="AND status = 'PENDING';",
        caught_by=NamedTest(
            "tests/scheduler/test_webhooks.py::test_a_word_that_comes_twice_counts_once"
        ),
    ),
    Fault(
        name="slow-endpoint",
        section=12,
        promise="A slow or dead endpoint delays nobody else",
        planted="an endpoint may have every place",
        file="scheduler/upkeep/courier.py",
        text="most = 1 if origin in failing else MOST_PER_ORIGIN",
        instead="most = MOST_IN_FLIGHT",
        caught_by=NamedTest(
            "tests/scheduler/test_courier.py::test_users_of_one_endpoint_share_its_places"
        ),
    ),
    Fault(
        name="never-sent",
        section=12,
        promise="delivered at least once",
        planted="a message that is due is not found",
        file="storage/queries/webhooks.sql",
        text="WHERE d.due_at <= :now AND (d.origin IS NULL OR",
        instead="WHERE d.due_at <= :now AND d.attempts > 0 AND (d.origin IS NULL OR",
        caught_by=Simulation(),
    ),
)
