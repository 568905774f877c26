"""Calls about reservations of the next slot."""

from headway.api.operation import Page, Paging
from headway.api.reservations import ReservationRequest
from headway.client.calls.call import Call, step, words
from headway.domain.reservations import Reservation


def create_reservation(reserved_by: str) -> Call[Reservation]:
    """Reserve the next slot."""
    body = ReservationRequest(reserved_by=reserved_by)
    return Call("POST", "/api/reservations", Reservation, body, safe_to_repeat=False)


def list_reservations(paging: Paging | None = None) -> Call[Page[Reservation]]:
    """List reservations, newest first."""
    return Call("GET", "/api/reservations", Page[Reservation], query=words(paging))


def release_reservation(reservation_id: str) -> Call[Reservation]:
    """Release the slot."""
    path = f"/api/reservations/{step(reservation_id)}/release"
    return Call("POST", path, Reservation, safe_to_repeat=False)
