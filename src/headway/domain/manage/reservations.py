"""A reservation: the next free slot goes to its holder."""

from datetime import datetime
from enum import StrEnum

import msgspec

EXPIRES_AFTER_S = 600.0
WAIT_TIMEOUT_S = 300.0


class ReservationState(StrEnum):
    """At most one is ACTIVE."""

    ACTIVE = "ACTIVE"
    RELEASED = "RELEASED"
    EXPIRED = "EXPIRED"


class Reservation(msgspec.Struct, frozen=True, kw_only=True):
    """A reservation as it is shown."""

    reservation_id: str
    reserved_by: str
    state: ReservationState
    running: bool
    created_at: datetime
    expires_at: datetime
    ended_at: datetime | None = None
