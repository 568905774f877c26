"""Reservations of the next slot."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import pytest
from tests.helpers import MovableClock, ask, claim, event_kinds, submit
from tests.scheduler.asking import register

from headway.domain import errors, events
from headway.domain.manage.reservations import EXPIRES_AFTER_S, Reservation, ReservationState
from headway.domain.workers import Abilities
from headway.operations.manage import reservations as operations
from headway.protocol.operation import Paging
from headway.protocol.reservations import ReservationRequest
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import direct, timekeeper
from headway.storage.engine.transaction import READY, Transaction
from headway.storage.manage import workers

T = TypeVar("T")


def reserve(scheduler: Scheduler, by: str = "ann", server: str | None = None) -> Reservation:
    return scheduler.store.write(lambda tx: direct.reserve(scheduler, tx, by, server))


def write(
    scheduler: Scheduler, verb: Callable[[Scheduler, Transaction, str], T], held: Reservation
) -> T:
    return scheduler.store.write(lambda tx: verb(scheduler, tx, held.reservation_id))


def renew(scheduler: Scheduler, held: Reservation) -> bool:
    return scheduler.store.write(lambda tx: direct.renew(tx, held.reservation_id))


def test_while_a_reservation_waits_for_the_slot_nothing_is_dispatched(scheduler: Scheduler) -> None:
    submit(scheduler)
    held = reserve(scheduler)
    assert claim(scheduler) == []
    write(scheduler, direct.release, held)
    assert len(claim(scheduler)) == 1


def test_once_the_direct_request_runs_the_queue_uses_the_other_slots(scheduler: Scheduler) -> None:
    submit(scheduler)
    held = reserve(scheduler)
    assert write(scheduler, direct.mark_running, held)
    assert len(claim(scheduler)) == 1


def test_a_second_reserve_is_refused_and_names_the_holder(scheduler: Scheduler) -> None:
    reserve(scheduler, "ann")
    with pytest.raises(errors.SlotReserved, match="ann"):
        reserve(scheduler, "bob")


def test_a_reservation_that_is_not_renewed_is_lost(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    held = reserve(scheduler)
    clock.move(EXPIRES_AFTER_S)
    again = reserve(scheduler, "bob")
    assert write(scheduler, direct.release, held).state is ReservationState.EXPIRED
    assert not renew(scheduler, held)
    assert not write(scheduler, direct.mark_running, held)
    assert again.state is ReservationState.ACTIVE


def test_a_hold_whose_time_is_up_keeps_nothing_waiting_even_before_it_is_ended(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler)
    reserve(scheduler)
    assert claim(scheduler) == []
    clock.move(EXPIRES_AFTER_S)
    assert len(claim(scheduler)) == 1


def test_a_renewed_hold_lasts(scheduler: Scheduler, clock: MovableClock) -> None:
    held = reserve(scheduler)
    clock.move(EXPIRES_AFTER_S - 1)
    assert renew(scheduler, held)
    clock.move(EXPIRES_AFTER_S - 1)
    assert scheduler.store.write(lambda tx: direct.expire(scheduler, tx)) == 0
    clock.move(1)
    assert scheduler.store.write(lambda tx: direct.expire(scheduler, tx)) == 1


def test_releasing_the_slot_wakes_the_dispatcher(scheduler: Scheduler, clock: MovableClock) -> None:
    woken: list[str] = []
    scheduler.store.wakeups.listen(READY, lambda: woken.append(READY))
    held = reserve(scheduler)
    assert woken == []
    write(scheduler, direct.release, held)
    scheduler.store.write(lambda tx: None)  # a later commit: the wake-up before it has been told
    assert woken == [READY]
    reserve(scheduler)
    clock.move(EXPIRES_AFTER_S)
    scheduler.store.write(lambda tx: direct.expire(scheduler, tx))
    scheduler.store.write(lambda tx: None)
    assert woken == [READY, READY]


def test_releasing_twice_changes_nothing(scheduler: Scheduler, clock: MovableClock) -> None:
    held = reserve(scheduler)
    first = write(scheduler, direct.release, held)
    clock.move(5)
    assert write(scheduler, direct.release, held) == first
    with pytest.raises(errors.NotFound):
        ask(operations.release_reservation, scheduler, id="nobody")


@pytest.mark.parametrize(("server", "expired"), [("here", 0), ("gone", 1), (None, 1)])
def test_a_hold_ends_with_the_process_of_its_server(
    scheduler: Scheduler, server: str | None, expired: int
) -> None:
    scheduler.store.write(_see_here_and_gone)
    reserve(scheduler, server=server)
    count = scheduler.store.write(
        lambda tx: direct.expire_of_dead_servers(
            scheduler, tx, lambda row: bool(row.worker_id == "here")
        )
    )
    assert count == expired


def _see_here_and_gone(tx: Transaction) -> None:
    for worker_id in ("here", "gone"):
        _see(tx, worker_id)


def _see(tx: Transaction, worker_id: str) -> None:
    workers.see(
        tx,
        worker_id=worker_id,
        host="h",
        pid=1,
        process_started="1",
        built_in=True,
        abilities=Abilities(),
        slots=1,
    )


def test_a_direct_request_leaves_a_record_and_an_event(scheduler: Scheduler) -> None:
    facts: dict[str, Any] = {"request_id": "r1", "job_type": "write", "waited_ms": 7}
    for status, error in (("FAILED", "boom"), ("CLIENT_GONE", None)):
        scheduler.store.write(partial(direct.record_request, status=status, error=error, **facts))
    rows = scheduler.store.read(lambda tx: tx.select("SELECT * FROM direct_requests", {}))
    assert [(row["request_id"], row["error"]) for row in rows] == [("r1", "boom")]
    assert event_kinds(scheduler) == [events.DIRECT_FINISHED]


def test_reservations_are_listed(scheduler: Scheduler) -> None:
    body = ReservationRequest(reserved_by="ann")
    made = ask(operations.create_reservation, scheduler, body=body)
    assert ask(operations.list_reservations, scheduler, query=Paging()).items == [made]


def test_a_hold_whose_server_is_silent_for_too_long_is_lost(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    register(scheduler, "server")
    held = reserve(scheduler, server="server")
    clock.move(20)
    register(scheduler, "server")
    clock.move(20)
    timekeeper.run_due(scheduler, clock.now())
    assert scheduler.store.read(lambda tx: direct.get(tx, held.reservation_id)).ended_at is None
    clock.move(11)
    timekeeper.run_due(scheduler, clock.now())
    found = scheduler.store.read(lambda tx: direct.get(tx, held.reservation_id))
    assert found.state is ReservationState.EXPIRED
