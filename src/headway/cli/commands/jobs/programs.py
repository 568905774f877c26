"""`headway jobs …`: steps, signal."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway import protocol
from headway.cli import options
from headway.cli.options import command

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.cli.text.screen import Cell
    from headway.domain.steps import Step


def register(app: typer.Typer) -> None:
    """Add these commands to the group."""
    command(app, "steps", "headway jobs steps 7")(steps)
    command(
        app,
        "signal",
        "headway jobs signal 7 approved by=ann",
        "headway jobs signal 7 prices --payload '[1, 2]'",
    )(signal)


def steps(session: "Session", job: options.Job) -> None:
    """Show what the program of a job has done, and what it waits for.

    Steps that its code no longer has stay in the list, and are ignored.
    """
    from headway.cli.text.screen import Column

    found = session.send(protocol.jobs.list_steps, id=job)
    titles = ("NAME", "KIND", "ATTEMPT", "STARTED", "TOOK")
    columns = [*map(Column, titles), Column("RESULT", elastic=True)]

    def render() -> None:
        if not found.items:
            session.screen.line("No steps")
        else:
            session.screen.table(columns, map(_row, found.items))

    session.show(found, render)


def _row(step: "Step") -> "list[Cell]":
    from headway.cli.text import words
    from headway.cli.text.screen import Styled

    name = f"{step.name} #{step.index + 1}" if step.index else step.name
    took = "" if step.duration_ms is None else words.span(step.duration_ms / 1000)
    started = f"{step.started_at:%Y-%m-%d %H:%M:%S}Z"
    return [name, step.kind, str(step.attempt), started, took, Styled(_outcome(step), "dim")]


def _outcome(step: "Step") -> str:
    from collections import Counter

    import msgspec

    from headway.cli.text import job_text
    from headway.domain.steps import ChildEnd, StepKind

    if step.finished_at is None:
        return "waiting"
    if step.timed_out:
        return "timed out"
    if step.kind is StepKind.CHILDREN:
        ends = Counter(end.status for end in msgspec.convert(step.result, list[ChildEnd]))
        return ", ".join(f"{count} {status.lower()}" for status, count in ends.items())
    return "" if step.result is None else job_text.compact(step.result)


def signal(
    session: "Session",
    job: options.Job,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the signal.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE...", help="What it says.", show_default=False),
    ] = None,
    payload: Annotated[
        str | None, typer.Option("--payload", metavar="JSON", help="What it says, as JSON.")
    ] = None,
) -> None:
    """Send a signal to a job; it is kept until the job waits for it."""
    body = protocol.jobs.SignalBody(payload=_payload(words or [], payload))
    sent = session.send(protocol.jobs.signal_job, id=job, name=name, body=body)
    session.show(
        sent,
        lambda: session.screen.line(f"Sent {sent.name} to job {session.number(sent.job_id)}"),
    )


def _payload(words: list[str], text: str | None) -> Any:
    from headway.cli import values

    return (
        values.read_json("payload", text) if text and not words else values.read_params(words, text)
    )
