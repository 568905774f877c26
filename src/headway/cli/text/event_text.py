"""The history in lines."""

from collections.abc import Sequence

from headway.cli.session import Session
from headway.cli.text import job_text
from headway.cli.text.screen import Cell, Column, Styled, clean
from headway.domain.events import Event

LEFT_OUT = ("run_id", "lease_id")
"""Long, and of no use to a person here; `--json` has them."""


TITLES = f"{'TIME':<15}  {'JOB':>5}  {'EVENT':<20}  DETAIL"


def line(session: Session, event: Event) -> str:
    """An event of any job in one line, which does not depend on the lines around it."""
    number = "" if event.number is None else str(event.number)
    told = f"{event.at:%m-%d %H:%M:%S}Z  {number:>5}  {event.kind:<20}  {_told(session, event)}"
    width = session.screen.width
    shown = clean(told.rstrip())
    return shown if width is None else session.screen.cut(shown, width)


def show(session: Session, events: Sequence[Event]) -> None:
    """When, what, and the particulars."""
    session.screen.table(
        [Column("TIME"), Column("EVENT"), Column("DETAIL", elastic=True)],
        [_row(session, event) for event in events],
    )


def _row(session: Session, event: Event) -> list[Cell]:
    moment = f"{event.at:%Y-%m-%d %H:%M:%S}.{event.at.microsecond // 1000:03}Z"
    return [moment, event.kind, Styled(_told(session, event), "dim")]


def _told(session: Session, event: Event) -> str:
    told = "  ".join(
        f"{name}={value if isinstance(value, str) else job_text.compact(value)}"
        for name, value in event.data.items()
        if value not in (None, [], {}, False) and name not in LEFT_OUT
    )
    return session.text(told)
