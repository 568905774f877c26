"""`headway jobs …`: tail and attach."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from headway import protocol
from headway.cli import options
from headway.cli.options import command

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.domain.jobs import Job


def register(app: typer.Typer) -> None:
    """Add these commands to the group."""
    command(app, "tail", "headway jobs tail 7", "headway jobs tail 7 --follow --stderr")(tail)
    command(app, "attach", "headway jobs attach 7 && echo it worked")(attach)


def tail(
    session: "Session",
    job: options.Job,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Wait for it and follow it until it ends.")
    ] = False,
    stderr: Annotated[
        bool, typer.Option("--stderr", help="Show stderr instead of stdout.")
    ] = False,
    lines: Annotated[
        int, typer.Option("-n", "--lines", min=0, max=100_000, help="How many lines.")
    ] = 20,
) -> None:
    """Show the last lines of a job's output."""
    from headway.domain import errors

    stream = "stderr" if stderr else "stdout"
    found = session.send(protocol.jobs.get_job, id=job)
    if follow and found.started_at is None:
        _follow_from_the_start(session, found, stream)
    elif found.run_id is None:
        raise errors.Conflict(f"job {found.number} has not run yet; it is {found.status.lower()}")
    else:
        copy_log(session, found.run_id, stream, follow=follow, lines=lines)


def _follow_from_the_start(session: "Session", job: "Job", stream: str) -> None:
    """Wait for a job to start, and show all it says; if it never does, exit as attach would."""
    from headway.cli import follow
    from headway.cli.text import words

    found = follow.Follower(session).until_started(job.number)
    if found.run_id is not None and found.started_at is not None:
        copy_log(session, found.run_id, stream, follow=True, lines=None)
        return
    if session.screen.json:
        session.screen.value({"run_id": None, "stream": stream, "text": ""})
    else:
        session.screen.note(follow.ending(session, found))
    raise typer.Exit(words.ending(found))


def copy_log(
    session: "Session", run_id: str, stream: str, *, follow: bool, lines: int | None
) -> None:
    """A run's output to standard output; with --json as one JSON value."""
    parts = session.client.log(run_id, stream, follow=follow, tail=lines)
    if session.screen.json:
        text = b"".join(parts).decode(errors="replace")
        session.screen.value({"run_id": run_id, "stream": stream, "text": text})
        return
    for part in parts:
        sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()


def attach(session: "Session", job: options.Job) -> None:
    """Follow a job until it ends, and exit with its code; 10 if it is blocked."""
    from headway.cli import follow
    from headway.cli.text import aftermath, job_text, words

    try:
        ended = follow.Follower(session).follow(job)
    except KeyboardInterrupt:
        # The terminal has shown ^C: its line is ended first.
        again = f"headway jobs attach {job}"
        session.screen.note(f"\njob {job} goes on without you watching; {again} follows it again")
        raise
    if session.screen.json:
        session.screen.value(job_text.without_environment(ended))
    else:
        session.screen.note(follow.ending(session, ended))
        if ended.retried_by is not None:
            session.screen.note(aftermath.retry(session, ended) or "")
    raise typer.Exit(words.ending(ended))
