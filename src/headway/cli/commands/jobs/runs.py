"""`headway runs …`."""

from typing import TYPE_CHECKING, Annotated

import typer

from headway import protocol
from headway.cli import completion, options
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.cli.text.screen import Cell
    from headway.domain.runs import Run

app = commands()

RunId = Annotated[str, typer.Argument(metavar="RUN", help="Run id.", show_default=False)]


@command(app, "list", "headway runs list --status failed", "headway runs list --job 7")
def list_runs(
    session: "Session",
    job: Annotated[
        str | None,
        typer.Option(
            "--job", metavar="JOB", help="Only of this job.", autocompletion=completion.jobs
        ),
    ] = None,
    status: Annotated[
        str | None, typer.Option("--status", help="completed, failed, skipped, running.")
    ] = None,
    limit: options.Limit = 20,
) -> None:
    """List executions, newest first."""
    from headway.cli.text.screen import Column
    from headway.protocol.runs import RunQuery

    page = session.some(protocol.runs.list_runs, limit, query=RunQuery(status=status, job_id=job))
    columns = [Column(title) for title in ("RUN", "JOB", "STATUS", "AGE", "TOOK")]
    session.show(
        page,
        lambda: session.screen.table(
            [*columns, Column("ERROR", elastic=True)], [_row(session, run) for run in page.items]
        ),
    )


def _row(session: "Session", run: "Run") -> "list[Cell]":
    from headway.cli.text import words

    took = words.span(run.duration_ms / 1000) if run.duration_ms is not None else ""
    return [
        run.run_id,
        session.number(run.job_id),
        words.status(run.status or "RUNNING"),
        words.age(run.started_at),
        took,
        words.headline(run.error),
    ]


@command(app, "show", "headway runs show RUN")
def show(session: "Session", run: RunId) -> None:
    """Show everything about one execution."""
    from headway.cli.text import job_text, words

    found = session.send(protocol.runs.get_run, id=run)
    session.show(
        found,
        lambda: session.screen.facts(
            [
                ("run", found.run_id),
                ("job", session.number(found.job_id)),
                ("status", words.status(found.status or "RUNNING")),
                ("attempt", str(found.attempt)),
                ("params", words.params(found.params_snapshot)),
                ("worker", found.worker_id),
                ("started", words.when(found.started_at)),
                ("ended", words.when(found.finished_at)),
                ("took", words.span(found.duration_ms / 1000) if found.duration_ms else None),
                ("exit code", None if found.exit_code is None else str(found.exit_code)),
                ("result", None if found.result is None else job_text.compact(found.result)),
                ("artifacts", ", ".join(found.artifacts)),
                ("error", found.error),
            ]
        ),
    )


@command(app, "retry", "headway runs retry RUN --priority high")
def retry(
    session: "Session",
    run: RunId,
    priority: Annotated[
        str | None, typer.Option("--priority", "-p", metavar="N|NAME", help="New priority.")
    ] = None,
) -> None:
    """Retry a failed run as a new job with the same params."""
    job = session.send(
        protocol.runs.retry_run, id=run, body=protocol.runs.RetryBody(priority=priority)
    )
    session.show(job, lambda: session.screen.line(f"Created job {job.number}"))


@command(app, "logs", "headway runs logs RUN", "headway runs logs RUN --stderr --follow")
def logs(
    session: "Session",
    run: RunId,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Keep following until it ends.")
    ] = False,
    stderr: Annotated[
        bool, typer.Option("--stderr", help="Show stderr instead of stdout.")
    ] = False,
    lines: Annotated[
        int | None, typer.Option("-n", "--lines", min=0, max=100_000, help="Only the last lines.")
    ] = None,
) -> None:
    """Show the output of one execution."""
    from headway.cli.commands.jobs.output import copy_log

    found = session.send(protocol.runs.get_run, id=run)
    stream = "stderr" if stderr else "stdout"
    copy_log(session, found.run_id, stream, follow=follow, lines=lines)
