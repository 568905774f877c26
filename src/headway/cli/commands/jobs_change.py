"""`headway jobs …`: cancel, retry, approve, reject, change, move, reorder."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli import options
from headway.cli.options import command

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.domain.jobs import Job

Reason = Annotated[str | None, typer.Option("--reason", "-r", help="Reason to record.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the group."""
    command(app, "cancel", "headway jobs cancel 7", "headway jobs cancel 7 --force")(cancel)
    command(app, "retry", "headway jobs retry 7")(retry)
    command(app, "approve", "headway jobs approve 7 --reason 'looks good'")(approve)
    command(app, "reject", "headway jobs reject 7 --reason 'not on a Friday'")(reject)
    command(
        app,
        "change",
        "headway jobs change 7 --priority urgent",
        "headway jobs change 7 --now",
        "headway jobs change 7 genre=crime length=3   # replaces all params",
    )(change)
    command(app, "move", "headway jobs move 7 --before 3", "headway jobs move 7 --to 1")(move)
    command(app, "reorder", "headway jobs reorder 9 7 8")(reorder)


def cancel(
    session: "Session",
    job: options.Job,
    force: Annotated[bool, typer.Option("--force", help="Stop it even if it is running.")] = False,
    reason: Reason = None,
) -> None:
    """Cancel a job; a running one is asked to stop, or made to with --force."""
    from headway.client import calls

    _say(session, session.send(calls.cancel_job(job, reason=reason, force=force)))


def retry(
    session: "Session",
    job: options.Job,
    force: Annotated[bool, typer.Option("--force", help="Even if it succeeded.")] = False,
) -> None:
    """Rerun a job and everything downstream of it."""
    from headway.client import calls
    from headway.domain import errors

    try:
        report = session.send(calls.retry_job(job, force=force))
    except errors.RewindRefused as error:
        error.detail = error.detail.replace("give force", "use --force")
        raise

    def names(ids: tuple[str, ...]) -> str:
        return ", ".join(session.number(one) for one in ids)

    session.show(
        report,
        lambda: session.screen.facts(
            [
                ("requested", session.number(report.requested_job)),
                ("starts from", session.number(report.retry_root)),
                ("kept", names(report.last_successful_point)),
                ("reset", names(report.reset)),
                ("can start now", names(report.restarted)),
            ]
        ),
    )


def approve(session: "Session", job: options.Job, reason: Reason = None) -> None:
    """Approve a job, so that it may start."""
    from headway.client import calls

    _say(session, session.send(calls.approve_job(job, reason)))


def reject(session: "Session", job: options.Job, reason: Reason = None) -> None:
    """Reject a job; it ends at once."""
    from headway.client import calls

    _say(session, session.send(calls.reject_job(job, reason)))


def change(
    session: "Session",
    job: options.Job,
    pairs: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE...", help="New params.")
    ] = None,
    params: Annotated[
        str | None, typer.Option("--params", metavar="JSON", help="All params as one object.")
    ] = None,
    priority: Annotated[
        str | None, typer.Option("--priority", "-p", metavar="N|NAME", help="New priority.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at", metavar="TIME", help="Start no sooner than this, e.g. 2030-01-31T18:30."
        ),
    ] = None,
    now: Annotated[bool, typer.Option("--now", help="Do not wait for its start time.")] = False,
) -> None:
    """Change the params, priority or start time of a job that no worker has taken."""
    from headway.cli import job_options, values
    from headway.client import calls
    from headway.domain.requests import JobPatch

    fields: dict[str, Any] = {}
    if pairs or params is not None:
        fields["params"] = values.read_params(pairs or [], params)
    if priority is not None:
        fields["priority"] = priority
    if at is not None or now:
        fields["scheduled_for"] = job_options.moment(at) if at is not None else None
    _say(session, session.send(calls.change_job(job, JobPatch(**fields))))


def move(
    session: "Session",
    job: options.Job,
    before: Annotated[
        str | None, typer.Option("--before", metavar="JOB", help="Put it before this job.")
    ] = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="JOB", help="Put it after this job.")
    ] = None,
    to: Annotated[
        int | None, typer.Option("--to", metavar="N", help="New place, counted from 1.")
    ] = None,
) -> None:
    """Move a waiting job within its priority."""
    from headway.client import calls

    call = calls.move_job(job, before=before, after=after, queue_position=to)
    moved = session.send(call)
    place = f", place {moved.queue_position}" if moved.queue_position else ""
    session.show(moved, lambda: session.screen.line(f"Job {moved.number} moved{place}"))


def reorder(session: "Session", order: options.Jobs) -> None:
    """Reorder waiting jobs among the places that they have now."""
    from headway.client import calls

    page = session.send(calls.reorder_queue(order))
    names = ", ".join(str(job.number) for job in page.items)
    session.show(page, lambda: session.screen.line(f"New order: {names}"))


def _say(session: "Session", job: "Job") -> None:
    from headway.cli import lost, words

    reason = f": {session.text(job.wait_reason.detail)}" if job.wait_reason else ""
    asks = job.cancel_requested and job.finished_at is None and not reason
    asked = ", asked to stop" if asks else ""

    def render() -> None:
        session.screen.line(f"Job {job.number} ", words.status(job.status), f"{asked}{reason}")
        if gone := lost.reason(session, job):
            session.screen.line(f"It does not go on: {gone}")

    session.show(job, render)
