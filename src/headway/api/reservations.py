"""Operations on reservations of the next slot."""

from typing import Any

import msgspec

from headway.api import paging
from headway.api.operation import Call, Nothing, Page, Paging, operation
from headway.domain.reservations import Reservation
from headway.domain.tokens import Role
from headway.scheduler.upkeep import direct


class ReservationRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who wants the next slot."""

    reserved_by: str


@operation(
    "POST",
    "/api/reservations",
    Role.ADMIN,
    body=ReservationRequest,
    answer=Reservation,
    status=201,
)
def create_reservation(call: Call[ReservationRequest, Nothing]) -> Any:
    """Reserve the next slot; a 409 names who already holds it."""
    return call.change(
        lambda tx: direct.reserve(call.scheduler, tx, call.body.reserved_by, call.scheduler.server)
    )


@operation("GET", "/api/reservations", Role.READ, query=Paging, answer=Page[Reservation])
def list_reservations(call: Call[Nothing, Paging]) -> Page[Reservation]:
    """List reservations, newest first."""
    limit = paging.check_limit(call.query.limit)
    before = paging.read_cursor(call.query.cursor)
    found = call.scheduler.store.read(lambda tx: direct.page(tx, before=before, count=limit + 1))
    return paging.page(found, limit, lambda reservation: reservation.reservation_id)


@operation("POST", "/api/reservations/{id}/release", Role.ADMIN, answer=Reservation)
def release_reservation(call: Call[Nothing, Nothing]) -> Any:
    """Release the slot."""
    return call.change(lambda tx: direct.release(call.scheduler, tx, call.path["id"]))
