"""Reservations of the next slot, and the records of direct requests."""

from collections.abc import Callable
from datetime import timedelta

import msgspec

from headway.domain import errors, events
from headway.domain.manage.reservations import EXPIRES_AFTER_S, Reservation, ReservationState
from headway.domain.requests import job_requests
from headway.domain.values import moments
from headway.scheduler.admit import lane_waits
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.transaction import DUE, READY, Transaction
from headway.storage.manage import reservations, workers
from headway.storage.manage.reservations import DirectRequest
from headway.storage.manage.workers import WorkerRecord


def reserve(
    scheduler: Scheduler, tx: Transaction, reserved_by: str, server: str | None
) -> Reservation:
    """Hold the next slot. `server` names the built-in worker whose process the hold dies with."""
    job_requests.check_name("reserved_by", reserved_by)
    expire(scheduler, tx)
    holder = reservations.active(tx)
    if holder is not None:
        raise errors.SlotReserved(holder.reserved_by)
    reservation_id = scheduler.new_id(tx.now)
    with lane_waits.kept(scheduler, tx):
        reservations.insert(
            tx, reservation_id, reserved_by=reserved_by, server=server, expires_at=_expiry(tx)
        )
    tx.wake(DUE)
    return get(tx, reservation_id)


def get(tx: Transaction, reservation_id: str) -> Reservation:
    """One reservation."""
    found = reservations.find(tx, reservation_id)
    if found is None:
        raise errors.NotFound("reservation", reservation_id)
    return found


def page(tx: Transaction, *, before: str | None, count: int) -> list[Reservation]:
    """Reservations, newest first."""
    return reservations.page(tx, before=before, count=count)


def renew(tx: Transaction, reservation_id: str) -> bool:
    """The holder lives; false if the slot is no longer held."""
    renewed = reservations.renew(tx, reservation_id, _expiry(tx))
    tx.wake(DUE)
    return renewed


def mark_running(scheduler: Scheduler, tx: Transaction, reservation_id: str) -> bool:
    """The direct request has its slot, and the queue may use the others; false if it lost it."""
    with lane_waits.kept(scheduler, tx):
        running = reservations.mark_running(tx, reservation_id)
    tx.wake(READY)
    return running


def release(scheduler: Scheduler, tx: Transaction, reservation_id: str) -> Reservation:
    """Give the slot back; a reservation that has ended is answered as it is."""
    _end(scheduler, tx, reservation_id, ReservationState.RELEASED)
    return get(tx, reservation_id)


def expire(scheduler: Scheduler, tx: Transaction) -> int:
    """End reservations not renewed in time, or whose server is gone. Return how many."""
    expired = reservations.expire(tx, _silence_ms(scheduler))
    if expired:
        lane_waits.note_openings(scheduler, tx)
        tx.wake(READY)
    return expired


def next_expiry(scheduler: Scheduler, tx: Transaction) -> int | None:
    """When the active reservation ends unless it is renewed."""
    return reservations.next_expiry(tx, _silence_ms(scheduler))


def _silence_ms(scheduler: Scheduler) -> int:
    """How long a server may be silent: as long as a worker that holds a lease."""
    return int(scheduler.rules.lease_ttl_s * 1000)


def expire_of_dead_servers(
    scheduler: Scheduler, tx: Transaction, is_alive: Callable[[WorkerRecord], bool]
) -> int:
    """End reservations whose server is gone. Return how many."""
    alive = [one.worker_id for one in workers.built_in(tx) if is_alive(one)]
    orphans = reservations.active_elsewhere(tx, alive)
    for reservation_id in orphans:
        _end(scheduler, tx, reservation_id, ReservationState.EXPIRED)
    return len(orphans)


def record_request(
    tx: Transaction,
    *,
    request_id: str,
    job_type: str,
    status: str,
    waited_ms: int,
    duration_ms: int | None = None,
    error: str | None = None,
) -> None:
    """The audit record of a direct request: what is said of it first is what happened."""
    request = DirectRequest(
        request_id=request_id,
        job_type=job_type,
        status=status,
        error=error,
        waited_ms=waited_ms,
        duration_ms=duration_ms,
    )
    if reservations.insert_request(tx, request):
        shown = msgspec.structs.replace(request, error=error and error[:500])
        tx.note(events.DIRECT_FINISHED, None, msgspec.structs.asdict(shown))


def _expiry(tx: Transaction) -> int:
    return moments.to_millis(tx.now + timedelta(seconds=EXPIRES_AFTER_S))


def _end(
    scheduler: Scheduler, tx: Transaction, reservation_id: str, state: ReservationState
) -> None:
    with lane_waits.kept(scheduler, tx):
        ended = reservations.end(tx, reservation_id, state)
    if ended:
        tx.wake(READY)
