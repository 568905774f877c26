"""`headway limits …`."""

from typing import TYPE_CHECKING, Annotated

import typer

from headway import protocol
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.domain.answers import LimitView

app = commands()

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="capacity, global, type:NAME, resource:NAME, tenant:* …",
        show_default=False,
    ),
]


@command(app, "list", "headway limits list")
def list_limits(session: "Session") -> None:
    """List limits and how much of each is in use."""
    page = session.send(protocol.limits.list_limits)
    session.show(page, lambda: _table(session, page.items))


@command(
    app,
    "set",
    "headway limits set type:story 2",
    "headway limits set resource:api --rate 60/min",
)
def set_limit(
    session: "Session",
    name: Name,
    size: Annotated[
        int | None, typer.Argument(metavar="SIZE", help="How much may be in use at once.")
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option("--rate", metavar="60/min", help="How much may start per time window."),
    ] = None,
) -> None:
    """Define or change a limit."""
    limit = session.send(
        protocol.limits.put_limit, name=name, body=protocol.limits.LimitBody(size=size, rate=rate)
    )
    session.show(limit, lambda: _table(session, [limit]))


@command(app, "remove", "headway limits remove type:story")
def remove(session: "Session", name: Name) -> None:
    """Remove a limit that no active job names."""
    limit = session.send(protocol.limits.delete_limit, name=name)
    session.show(limit, lambda: session.screen.line(f"Removed limit {limit.name}"))


def _table(session: "Session", limits: "list[LimitView]") -> None:
    from headway.cli.text.screen import Column

    session.screen.table(
        [
            Column("LIMIT", elastic=True),
            Column("USED"),
            Column("SIZE"),
            Column("RATE"),
            Column("STARTED"),
        ],
        [
            [
                limit.name,
                str(limit.used),
                "" if limit.size is None else str(limit.size),
                limit.rate or "",
                "" if limit.started is None else str(limit.started),
            ]
            for limit in limits
        ],
    )
