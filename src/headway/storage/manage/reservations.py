"""Reservations and direct requests as they are kept."""

from collections.abc import Collection, Sequence

import msgspec

from headway.domain.manage.reservations import Reservation, ReservationState
from headway.domain.values import moments
from headway.storage import records
from headway.storage.engine import question
from headway.storage.engine.question import Question, Row
from headway.storage.engine.transaction import Transaction


class DirectRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is recorded of a direct request."""

    request_id: str
    job_type: str
    status: str
    error: str | None
    waited_ms: int
    duration_ms: int | None


def active(tx: Transaction) -> Reservation | None:
    """The one active reservation; one whose time is up counts no more."""
    return _active(tx.rows("active_reservation"), tx.now_ms)


def _active(rows: Sequence[Row], now_ms: int) -> Reservation | None:
    return _view(rows[0]) if rows and rows[0]["expires_at"] > now_ms else None


def waiting(tx: Transaction) -> Reservation | None:
    """The reservation that waits for the next slot: nothing new is dispatched meanwhile."""
    return tx.ask(waiting_at(tx.now_ms))[0]


def waiting_at(now_ms: int) -> Question[Reservation | None]:
    """Which reservation waits for the next slot?"""

    def read(rows: Sequence[Row]) -> Reservation | None:
        found = _active(rows, now_ms)
        return found if found and not found.running else None

    return question.of_rows(read, "active_reservation")


def _view(row: Row) -> Reservation:
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


def insert(
    tx: Transaction, reservation_id: str, *, reserved_by: str, server: str | None, expires_at: int
) -> None:
    """The next slot is reserved."""
    tx.do(
        "insert_reservation",
        reservation_id=reservation_id,
        reserved_by=reserved_by,
        server=server,
        created_at=tx.now_ms,
        expires_at=expires_at,
    )


def find(tx: Transaction, reservation_id: str) -> Reservation | None:
    """One reservation."""
    row = tx.row("reservation_by_id", reservation_id=reservation_id)
    return _view(row) if row else None


def page(tx: Transaction, *, before: str | None, count: int) -> list[Reservation]:
    """Reservations, newest first."""
    return [_view(row) for row in tx.rows("reservations", before=before, count=count)]


def renew(tx: Transaction, reservation_id: str, expires_at: int) -> bool:
    """It lasts until then; false if it is no longer active."""
    renewed = tx.do("renew_reservation", reservation_id=reservation_id, expires_at=expires_at)
    return renewed == 1


def renew_all(tx: Transaction, until: int) -> None:
    """The clock was set: the slot stays reserved until then."""
    tx.do("renew_every_reservation", until=until)


def mark_running(tx: Transaction, reservation_id: str) -> bool:
    """The direct request has its slot; false if the reservation is no longer active."""
    return tx.do("run_reservation", reservation_id=reservation_id) == 1


def end(tx: Transaction, reservation_id: str, state: ReservationState) -> bool:
    """The slot is free again; false if the reservation was no longer active."""
    ended = tx.do("end_reservation", reservation_id=reservation_id, state=state, ended_at=tx.now_ms)
    return ended > 0


def expire(tx: Transaction, silence_ms: int) -> int:
    """End what was not renewed in time or whose server is silent for so long; return how many."""
    return tx.do("expire_reservations", now=tx.now_ms, silence=silence_ms)


def next_expiry(tx: Transaction, silence_ms: int) -> int | None:
    """When the active reservation ends by itself or for lack of a heartbeat of its server."""
    at: int | None = tx.value("next_reservation_expiry", silence=silence_ms)
    return at


def active_elsewhere(tx: Transaction, servers: Collection[str]) -> list[str]:
    """The ids of active reservations for servers other than these."""
    rows = tx.rows("active_reservations_elsewhere", servers=records.listed(servers))
    return [row["reservation_id"] for row in rows]


def insert_request(tx: Transaction, request: DirectRequest) -> bool:
    """Record a direct request; false if it is recorded already."""
    recorded = tx.do(
        "insert_direct_request", **msgspec.structs.asdict(request), created_at=tx.now_ms
    )
    return recorded > 0
