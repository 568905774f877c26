"""Operations on reservations of the next slot."""

import msgspec

from headway.domain.manage.reservations import Reservation
from headway.domain.manage.tokens import Role
from headway.protocol.operation import Page, Paging, operation


class ReservationRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The holder of the next slot."""

    reserved_by: str


create_reservation = operation(
    "POST",
    "/api/reservations",
    Role.ADMIN,
    body=ReservationRequest,
    answer=Reservation,
    status=201,
)
list_reservations = operation(
    "GET", "/api/reservations", Role.READ, query=Paging, answer=Page[Reservation]
)
release_reservation = operation(
    "POST", "/api/reservations/{id}/release", Role.ADMIN, answer=Reservation
)
