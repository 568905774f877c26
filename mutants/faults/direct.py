"""Direct requests: the next slot."""

from mutants.fault import Fault, NamedTest, Simulation

FAULTS = (
    Fault(
        name="slot-taken",
        section=11,
        promise="while a reservation waits, nothing new is dispatched",
        planted="jobs go on to be dispatched",
        file="scheduler/claim/dispatch.py",
        text="if reserved is not None:",
        instead="if reserved is False:",
        caught_by=Simulation(),
    ),
    Fault(
        name="slot-in-lease",
        section=11,
        promise="while a reservation waits, nothing new is dispatched",
        planted="a claimed job gets its lease",
        file="scheduler/lease/leases.py",
        text="pause.check(lane, limits.pauses(tx), reservations.waiting(tx))",
        instead="pause.check(lane, limits.pauses(tx), None)",
        caught_by=Simulation(),
    ),
    Fault(
        name="slot-kept",
        section=11,
        promise="then the queue goes on in unchanged order",
        planted="the queue waits while the direct request runs",
        file="storage/manage/reservations.py",
        text="return found if found and not found.running else None",
        instead="return found",
        caught_by=NamedTest(
            "tests/scheduler/test_reservations.py::test_once_the_direct_request_runs_the_queue_uses_the_other_slots"
        ),
    ),
    Fault(
        name="two-reservations",
        section=11,
        promise="At most one reservation is ACTIVE",
        planted="the database lets two be active",
        file="storage/sqlite/migrations/0001_first_tables.sql",
        text="CREATE UNIQUE INDEX one_active_reservation",
        instead="CREATE INDEX one_active_reservation",
        caught_by=NamedTest(
            "tests/storage/test_uniqueness.py::test_the_database_itself_refuses_a_second_one"
        ),
    ),
    Fault(
        name="second-reserve",
        section=11,
        promise="a second reserve: 409 naming the holder",
        planted="it is refused without a name",
        file="scheduler/upkeep/direct.py",
        text="raise errors.SlotReserved(holder.reserved_by)",
        instead='raise errors.SlotReserved("")',
        caught_by=NamedTest(
            "tests/scheduler/test_reservations.py::test_a_second_reserve_is_refused_and_names_the_holder"
        ),
    ),
    Fault(
        name="hold-forever",
        section=11,
        promise="`expires_at` (10 min) is checked at every dispatch",
        planted="a hold has no end",
        file="storage/manage/reservations.py",
        text='return _view(rows[0]) if rows and rows[0]["expires_at"] > now_ms else None',
        instead="return _view(rows[0]) if rows else None",
        caught_by=NamedTest(
            "tests/scheduler/test_reservations.py::test_a_hold_whose_time_is_up_keeps_nothing_waiting_even_before_it_is_ended"
        ),
    ),
    Fault(
        name="hold-not-renewed",
        section=11,
        promise="`expires_at` is renewed while the handler lives",
        planted="a renewal changes nothing",
        file="storage/queries/reservations.sql",
        text=(
            "UPDATE reservations SET expires_at = :expires_at WHERE reservation_id = "
            ":reservation_id AND state = 'ACTIVE';"
        ),
        instead=(
            "UPDATE reservations SET expires_at = least(expires_at, :expires_at::bigint) "
            "WHERE reservation_id = :reservation_id AND state = 'ACTIVE';"
        ),
        caught_by=NamedTest("tests/scheduler/test_reservations.py::test_a_renewed_hold_lasts"),
    ),
    Fault(
        name="too-long",
        section=11,
        promise="Wait longer than `wait_timeout_s`: 504",
        planted="the code is another one",
        file="domain/errors/refused.py",
        text='    code = "waited_too_long"\n    http_status = 504',
        instead='    code = "waited_too_long"\n    http_status = 503',
        caught_by=NamedTest(
            "tests/scenarios/test_direct.py::test_a_direct_request_that_waits_too_long_is_not_executed"
        ),
    ),
    Fault(
        name="too-long-held",
        section=11,
        promise="Wait longer than `wait_timeout_s`: reservation released, not executed",
        planted="the reservation is kept",
        file="http/direct_requests.py",
        text="                await asyncio.shield(self._hand_on(reservation_id))\n",
        instead="                pass\n",
        caught_by=NamedTest(
            "tests/scenarios/test_direct.py::test_a_direct_request_that_waits_too_long_is_not_executed"
        ),
    ),
    Fault(
        name="out-of-turn",
        section=11,
        promise="further direct requests wait their turn first-come first-served",
        planted="jobs come between direct requests",
        file="http/direct_requests.py",
        text="        if self._present == 1:\n",
        instead="        if self._present:\n",
        caught_by=NamedTest(
            "tests/scenarios/test_direct.py::test_waiting_direct_requests_all_go_before_the_queue_goes_on"
        ),
    ),
    Fault(
        name="direct-after-jobs",
        section=11,
        promise="it runs in the first slot that frees",
        planted="the queue goes first",
        file="http/direct_requests.py",
        text="reservation_id = await self._reserve(job_type)",
        instead="reservation_id = request_id",
        caught_by=NamedTest(
            "tests/scenarios/test_direct.py::test_a_direct_request_goes_before_ten_waiting_jobs"
        ),
    ),
    Fault(
        name="no-record",
        section=11,
        promise="an audit record of its own",
        planted="a direct request leaves no event",
        file="scheduler/upkeep/direct.py",
        text="if reservations.insert_request(tx, request):",
        instead="if reservations.insert_request(tx, request) is None:",
        caught_by=NamedTest(
            "tests/scheduler/test_reservations.py::test_a_direct_request_leaves_a_record_and_an_event"
        ),
    ),
)
