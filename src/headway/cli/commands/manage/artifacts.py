"""`headway artifacts …`."""

from typing import TYPE_CHECKING, Annotated

import typer

from headway import protocol
from headway.cli import options
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.cli.text.screen import Cell
    from headway.domain.answers import MarkerView

app = commands()

Name = Annotated[
    str, typer.Argument(metavar="ARTIFACT", help="custom:TYPE:KEY.", show_default=False)
]


@command(app, "list", "headway artifacts list")
def list_artifacts(session: "Session", limit: options.Limit = 50) -> None:
    """List custom artifacts that are present, by name."""
    from headway.cli.text.screen import Column

    page = session.some(protocol.artifacts.list_artifacts, limit)
    columns = [Column("ARTIFACT", elastic=True), Column("PRODUCED BY"), Column("AGE")]

    def render() -> None:
        if page.items:
            session.screen.table(columns, [_row(session, one) for one in page.items])
        else:
            session.screen.line("No custom artifact is present")

    session.show(page, render)


def _row(session: "Session", one: "MarkerView") -> "list[Cell]":
    from headway.cli.text import words

    producer = f"job {session.number(one.job_id)}" if one.job_id else ""
    return [one.artifact, producer, words.age(one.created_at)]


@command(app, "put", "headway artifacts put custom:dataset:2030-01")
def put(session: "Session", artifact: Name) -> None:
    """Mark a custom artifact as present; jobs that need it may start."""
    kind, key = _parts(artifact)
    made = session.send(protocol.artifacts.put_artifact, type=kind, key=key)
    session.show(made, lambda: session.screen.line(f"Present: {made.artifact}"))


@command(app, "remove", "headway artifacts remove custom:dataset:2030-01")
def remove(session: "Session", artifact: Name) -> None:
    """Mark a custom artifact as missing; jobs that need it wait again."""
    kind, key = _parts(artifact)
    gone = session.send(protocol.artifacts.delete_artifact, type=kind, key=key)
    session.show(gone, lambda: session.screen.line(f"Missing: {gone.artifact}"))


def _parts(artifact: str) -> tuple[str, str]:
    """The type and the key; other kinds are seen in the workspace, not marked."""
    from headway.domain import errors

    kind, _, rest = artifact.partition(":")
    type_, _, key = rest.partition(":")
    if kind != "custom" or not type_ or not key:
        raise errors.InvalidRequest(
            "artifact", f"{artifact!r} is not custom:TYPE:KEY; only those are marked by hand"
        )
    return type_, key
