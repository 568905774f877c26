"""`headway pause` and `headway resume`."""

from typing import TYPE_CHECKING, Annotated

import typer

from headway import protocol
from headway.cli import completion
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.domain.answers import QueueStatus

app = commands()

Queue = Annotated[str | None, typer.Option("--queue", "-q", help="Only this queue.")]
Type = Annotated[
    str | None,
    typer.Option("--type", "-t", help="Only this job type.", autocompletion=completion.job_types),
]


@command(app, "pause", "headway pause", "headway pause --queue gpu")
def pause(session: "Session", queue: Queue = None, job_type: Type = None) -> None:
    """Start no new jobs; running jobs continue."""
    _say(
        session,
        session.send(
            protocol.queue.pause_queue,
            body=protocol.queue.PauseBody(queue=queue, job_type=job_type),
        ),
    )


@command(app, "resume", "headway resume", "headway resume --queue gpu")
def resume(session: "Session", queue: Queue = None, job_type: Type = None) -> None:
    """Lift one pause, or all of them."""
    _say(
        session,
        session.send(
            protocol.queue.resume_queue,
            body=protocol.queue.PauseBody(queue=queue, job_type=job_type),
        ),
    )


def _say(session: "Session", status: "QueueStatus") -> None:
    from headway.cli.text import words

    def render() -> None:
        if not status.paused:
            session.screen.line(f"Nothing is paused; {status.length} waiting")
        for one in status.paused:
            what = f"queue {one.queue}" if one.queue else f"job type {one.job_type}"
            name = what if one.queue or one.job_type else "everything"
            session.screen.line(f"Paused: {name}, for {words.age(one.since)}")

    session.show(status, render)
