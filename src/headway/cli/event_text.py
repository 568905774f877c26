"""The history in lines."""

from collections.abc import Sequence

from headway.cli import job_text
from headway.cli.screen import Cell, Column, Styled
from headway.cli.session import Session
from headway.domain.events import Event

LEFT_OUT = ("run_id", "lease_id")
"""Long, and of no use to a person here; `--json` has them."""


def show(session: Session, events: Sequence[Event]) -> None:
    """When, what, and the particulars."""
    session.screen.table(
        [Column("TIME"), Column("EVENT"), Column("DETAIL", elastic=True)],
        [_row(session, event) for event in events],
    )


def _row(session: Session, event: Event) -> list[Cell]:
    told = "  ".join(
        f"{name}={value if isinstance(value, str) else job_text.compact(value)}"
        for name, value in event.data.items()
        if value not in (None, [], {}, False) and name not in LEFT_OUT
    )
    moment = f"{event.at:%Y-%m-%d %H:%M:%S}.{event.at.microsecond // 1000:03}Z"
    return [moment, event.kind, Styled(session.text(told), "dim")]
