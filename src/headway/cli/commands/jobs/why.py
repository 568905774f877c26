"""`headway why JOB`."""

from typing import TYPE_CHECKING

from headway import protocol
from headway.cli import options
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session

app = commands()


@command(app, "why", "headway why 7", "headway why 7 --json")
def why(session: "Session", job: options.Job) -> None:
    """Explain why a job is not running."""
    from headway.cli.text import why_text

    answer = session.send(protocol.jobs.why, id=job)
    session.show(
        answer,
        lambda: why_text.show(
            session, session.send(protocol.jobs.get_job, id=answer.number), answer
        ),
    )
