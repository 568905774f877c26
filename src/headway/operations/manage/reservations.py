"""Operations on reservations of the next slot."""

from headway.domain.manage.reservations import Reservation
from headway.operations import paging
from headway.operations.bound import Call, serves
from headway.protocol import reservations as protocol
from headway.protocol.operation import Nothing, Page, Paging
from headway.protocol.reservations import ReservationRequest
from headway.scheduler.upkeep import direct
from headway.storage.engine.transaction import Transaction


@serves(protocol.create_reservation)
def create_reservation(call: Call[ReservationRequest, Nothing], tx: Transaction) -> Reservation:
    """Reserve the next slot; a 409 names who already holds it."""
    return direct.reserve(call.scheduler, tx, call.body.reserved_by, call.scheduler.server)


@serves(protocol.list_reservations)
def list_reservations(call: Call[Nothing, Paging], tx: Transaction) -> Page[Reservation]:
    """List reservations, newest first."""
    limit = paging.check_limit(call.query.limit)
    before = paging.read_cursor(call.query.cursor)
    found = direct.page(tx, before=before, count=limit + 1)
    return paging.page(found, limit, lambda reservation: reservation.reservation_id)


@serves(protocol.release_reservation)
def release_reservation(call: Call[Nothing, Nothing], tx: Transaction) -> Reservation:
    """Release the slot."""
    return direct.release(call.scheduler, tx, call.path["id"])
