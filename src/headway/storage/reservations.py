"""Reservations as they are kept."""

from headway.domain.reservations import Reservation, ReservationState
from headway.domain.values import moments
from headway.storage.transaction import Row, Transaction


def active(tx: Transaction) -> Reservation | None:
    """The one active reservation; one whose time is up counts no more."""
    row = tx.row("active_reservation")
    return None if row is None or row["expires_at"] <= tx.now_ms else view(row)


def waiting(tx: Transaction) -> Reservation | None:
    """The reservation that waits for the next slot: nothing new is dispatched meanwhile."""
    found = active(tx)
    return found if found and not found.running else None


def view(row: Row) -> Reservation:
    """A row as a value."""
    return Reservation(
        reservation_id=row["reservation_id"],
        reserved_by=row["reserved_by"],
        state=ReservationState(row["state"]),
        running=bool(row["running"]),
        created_at=moments.from_millis(row["created_at"]),
        expires_at=moments.from_millis(row["expires_at"]),
        ended_at=moments.maybe_from_millis(row["ended_at"]),
    )
