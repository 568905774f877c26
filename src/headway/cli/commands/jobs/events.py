"""`headway events`: the history of everything, and what happens now."""

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from headway import protocol
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.domain.events import Event

app = commands()

POLL_S = 0.25
MOST = 200


@command(
    app,
    "events",
    "headway events",
    "headway events --follow",
    "headway events --after 1041 --follow --json   # one event a line, none is left out",
)
def events(
    session: "Session",
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Show what happens until Ctrl-C.")
    ] = False,
    after: Annotated[
        int | None,
        typer.Option("--after", metavar="SEQ", min=0, help="All after the event of this number."),
    ] = None,
    limit: Annotated[
        int,
        typer.Option("--limit", "-n", min=0, max=MOST, help="How many of the last to show."),
    ] = 20,
) -> None:
    """Show the last events of all jobs, oldest first, and follow them."""
    if follow:
        if (missing := session.missing_store()) is not None:
            raise missing
        _follow(session, after, limit)
        return
    _list(session, after, limit)


def _list(session: "Session", after: int | None, limit: int) -> None:
    from headway.cli.text import event_text
    from headway.protocol.operation import Page

    if after is None:
        found = _last(session, limit)
    else:
        found = list(
            session.client.pages(
                protocol.events.list_events,
                query=protocol.events.EventQuery(after=after, limit=MOST),
            )
        )

    def render() -> None:
        session.screen.line(event_text.TITLES if found else "No events")
        for event in found:
            session.screen.line(event_text.line(session, event))

    session.show(Page(items=found), render)


def _last(session: "Session", count: int) -> "list[Event]":
    return (
        session.send(
            protocol.events.list_events, query=protocol.events.EventQuery(last=count)
        ).items
        if count
        else []
    )


def _follow(session: "Session", after: int | None, limit: int) -> None:
    """One line an event; with --json one object a line."""
    import msgspec

    from headway.cli.text import event_text

    for turn, batch in enumerate(_batches(session, after, limit)):
        if turn == 0 and not session.screen.json:
            session.screen.line(event_text.TITLES)
        for event in batch:
            if session.screen.json:
                print(msgspec.json.encode(event).decode())
            else:
                session.screen.line(event_text.line(session, event))
        sys.stdout.flush()


def _batches(session: "Session", after: int | None, limit: int) -> "Iterator[list[Event]]":
    """What was asked for of the past, which may be nothing; then what happens."""
    newest = _last(session, max(limit, 1)) if after is None else []
    yield newest if limit else []
    if after is None:
        after = newest[-1].seq if newest else 0
    while True:
        batch = session.send(
            protocol.events.list_events, query=protocol.events.EventQuery(after=after, limit=MOST)
        ).items
        if batch:
            after = batch[-1].seq
            yield batch
        else:
            time.sleep(POLL_S)
