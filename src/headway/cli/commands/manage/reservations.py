"""`headway reservations …`."""

from typing import TYPE_CHECKING, Annotated

import typer

from headway import protocol
from headway.cli import options
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.cli.text.screen import Cell
    from headway.domain.manage.reservations import Reservation

app = commands()


@command(app, "list", "headway reservations list")
def list_reservations(session: "Session", limit: options.Limit = 20) -> None:
    """List reservations of the next slot, newest first."""
    from headway.cli.text.screen import Column

    page = session.some(protocol.reservations.list_reservations, limit)
    columns = [Column("RESERVATION"), Column("STATE"), Column("AGE"), Column("ENDS")]
    columns.append(Column("BY", elastic=True))

    def render() -> None:
        if page.items:
            session.screen.table(columns, [_row(one) for one in page.items])
        else:
            session.screen.line("No reservations")

    session.show(page, render)


def _row(one: "Reservation") -> "list[Cell]":
    from datetime import UTC, datetime

    from headway.cli.text import words

    left_s = (one.expires_at - datetime.now(UTC)).total_seconds()
    ends = f"in {words.span(left_s)}" if one.ended_at is None else f"{words.age(one.ended_at)} ago"
    return [
        one.reservation_id,
        words.status(one.state),
        words.age(one.created_at),
        ends,
        one.reserved_by,
    ]


@command(app, "create", "headway reservations create maintenance")
def create(
    session: "Session",
    reserved_by: Annotated[
        str, typer.Argument(metavar="NAME", help="For whom or what.", show_default=False)
    ],
) -> None:
    """Reserve the next slot: no new job starts until it is released, or for 10 minutes."""
    from headway.cli.text import words

    made = session.send(
        protocol.reservations.create_reservation,
        body=protocol.reservations.ReservationRequest(reserved_by=reserved_by),
    )

    def render() -> None:
        session.screen.line(made.reservation_id)
        session.screen.note(
            f"It ends {words.when(made.expires_at)}, or with: "
            f"headway reservations release {made.reservation_id}"
        )

    session.show(made, render)


@command(app, "release", "headway reservations release RESERVATION")
def release(
    session: "Session",
    reservation: Annotated[
        str, typer.Argument(metavar="RESERVATION", help="Reservation id.", show_default=False)
    ],
) -> None:
    """Release the slot; jobs start again."""
    gone = session.send(protocol.reservations.release_reservation, id=reservation)
    state = gone.state.lower()
    session.show(gone, lambda: session.screen.line(f"Reservation of {gone.reserved_by}: {state}"))
