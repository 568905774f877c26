"""`headway jobs …`: look at jobs."""

from typing import TYPE_CHECKING, Annotated

import typer

from headway import protocol
from headway.cli import completion, options
from headway.cli.commands.jobs import change, output, programs, wait
from headway.cli.commands.server import housekeeping
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.domain.jobs import Job
    from headway.protocol.jobs import JobQuery

app = commands()

MOST_COUNTED = 200


@command(
    app,
    "list",
    "headway jobs list",
    "headway jobs list --all --limit 20",
    "headway jobs list --status failed,timeout --queue gpu",
    "headway jobs list --all --search 'nightly report' --since 2d",
)
def list_jobs(
    session: "Session",
    everything: Annotated[bool, typer.Option("--all", "-a", help="Include ended jobs.")] = False,
    status: options.OnlyStatus = None,
    queue: options.OnlyQueue = None,
    job_type: options.OnlyType = None,
    tag: options.OnlyTag = None,
    group: options.OnlyGroup = None,
    name: options.OnlyName = None,
    search: options.Search = None,
    since: options.Since = None,
    until: options.Until = None,
    limit: options.Limit = 50,
) -> None:
    """List jobs, newest first; ended ones only with --all or --status."""
    from headway.cli import lost, values
    from headway.cli.text import job_text
    from headway.protocol.jobs import JobQuery

    shown = status or (None if everything else "active")
    query = JobQuery(
        status=shown,
        queue=queue,
        job_type=job_type,
        tag=tag,
        group_id=group,
        name=name,
        search=search,
        since=values.moment_or_ago(since, "--since"),
        until=values.moment_or_ago(until, "--until"),
    )
    page = session.some(protocol.jobs.list_jobs, limit, query=query)

    def render() -> None:
        if page.items:
            session.screen.table(*job_text.table(session, page.items))
        else:
            session.screen.line("No jobs" if everything or status else "No active jobs")
        if page.next_cursor:
            session.screen.line(f"There are more; use --limit {limit * 4}")
        if shown == "active":
            _say_hidden(session, query)
        if session.is_local:
            for sentence in lost.warnings(session, page.items):
                session.screen.note(sentence)

    session.show(page, render)


def _say_hidden(session: "Session", query: "JobQuery") -> None:
    """How many ended jobs are not shown, as far as one page tells."""
    from collections import Counter

    import msgspec

    ended = msgspec.structs.replace(query, status="ended", limit=MOST_COUNTED)
    page = session.send(protocol.jobs.list_jobs, query=ended)
    if page.next_cursor:
        session.screen.line(f"Hidden: more than {MOST_COUNTED} ended, use --all")
    elif page.items:
        counts = Counter(job.status.lower() for job in page.items).most_common()
        told = ", ".join(f"{count} {word}" for word, count in counts)
        session.screen.line(f"Hidden: {told}, use --all")


@command(app, "show", "headway jobs show 7")
def show(session: "Session", job: options.Job) -> None:
    """Show everything about one job."""
    _sheet(session, session.send(protocol.jobs.get_job, id=job))


@command(
    app,
    "last",
    "headway jobs last",
    "headway jobs last --status failed",
    "headway jobs tail $(headway jobs last --number)",
)
def last(
    session: "Session",
    number: Annotated[bool, typer.Option("--number", help="Print only its number.")] = False,
    status: options.OnlyStatus = None,
    queue: options.OnlyQueue = None,
    job_type: options.OnlyType = None,
    tag: options.OnlyTag = None,
) -> None:
    """Show everything about the newest job, or the newest of a kind."""
    from headway.domain import errors
    from headway.protocol.jobs import JobQuery

    query = JobQuery(status=status, queue=queue, job_type=job_type, tag=tag, limit=1)
    found = session.send(protocol.jobs.list_jobs, query=query).items
    if not found:
        chosen = status or queue or job_type or tag
        raise errors.NotFound("job", "like that" if chosen else "yet")
    if number and not session.screen.json:
        session.screen.line(str(found[0].number))
    else:
        _sheet(session, session.send(protocol.jobs.get_job, id=found[0].number))


def _sheet(session: "Session", job: "Job") -> None:
    from headway.cli.text import job_text

    def render() -> None:
        run = session.send(protocol.runs.get_run, id=job.run_id) if job.run_id else None
        job_text.sheet(session, job, run)

    session.show(job, render)


@command(app, "result", "headway jobs result 7", "headway jobs result 7 | jq .title")
def result(session: "Session", job: options.Job) -> None:
    """Show the result of an ended job as JSON; its last retry counts."""
    from headway.cli.text import words
    from headway.domain import states

    found = session.send(protocol.jobs.get_result, id=job)
    number = session.number(found.job_id)
    if session.screen.json:
        session.screen.value(found)
    elif found.status in states.SUCCESS:
        session.screen.value(found.result_data)
        if found.error:
            session.screen.note(f"{found.status.lower()}: {found.error.strip()}")
    else:
        tries = f" after {found.attempts} attempts" if found.attempts > 1 else ""
        why = f": {found.error.strip()}" if found.error else ""
        end = f"{found.status.lower()}{tries}{session.text(why)}"
        session.screen.note(f"job {number} has no result, it is {end}")
    raise typer.Exit(words.code(found.status))


@command(app, "status", "headway jobs status", "headway jobs status 7")
def status(
    session: "Session",
    job: options.MaybeJob = None,
) -> None:
    """Show the status of one job, or an overview of all."""
    from headway.cli.text import top_text, words

    if job is None:
        whole = session.send(protocol.queue.get_scheduler_status)
        session.show(whole, lambda: top_text.glance(session, whole))
        return
    found = session.send(protocol.jobs.get_job, id=job)
    session.show(
        {
            "job_id": found.job_id,
            "number": found.number,
            "status": found.status,
            "exit_code": found.exit_code,
        },
        lambda: session.screen.line(words.status(found.status)),
    )


@command(
    app,
    "schedule",
    "headway jobs schedule",
    "headway jobs schedule --job 7 --max-depth 5",
    "headway jobs schedule --all --format json",
)
def schedule(
    session: "Session",
    everything: Annotated[bool, typer.Option("--all", "-a", help="Include ended jobs.")] = False,
    job: Annotated[
        str | None,
        typer.Option(
            "--job",
            metavar="JOB",
            help="Only this job and its neighbours.",
            autocompletion=completion.jobs,
        ),
    ] = None,
    format_: Annotated[
        str, typer.Option("--format", metavar="dag|json", help="Drawing, or data.")
    ] = "dag",
    max_depth: Annotated[
        int, typer.Option("--max-depth", min=0, max=100, help="How many levels to draw.")
    ] = 3,
) -> None:
    """Draw what is waiting on what."""
    from headway.domain import errors, graph_text

    if format_ not in ("dag", "json"):
        raise errors.InvalidRequest("format", f"{format_!r} is neither dag nor json")
    graph = session.send(
        protocol.queue.get_graph,
        query=protocol.queue.GraphQuery(all=everything, job=job, max_depth=max_depth),
    )
    if format_ == "json" or session.screen.json:
        session.screen.value(graph)
    else:
        # Around one job there are as many steps below it as above.
        depth = max_depth if job is None else 2 * max_depth
        drawing = graph_text.render(graph, depth, session.number)
        session.screen.line(graph_text.fitted(drawing, session.screen.width))


@command(app, "events", "headway jobs events 7")
def events(session: "Session", job: options.Job) -> None:
    """Show a job's history, oldest first."""
    from headway.cli.text import event_text
    from headway.protocol.operation import MOST_ON_A_PAGE, Page, Paging

    found = list(
        session.client.pages(
            protocol.jobs.list_events_of_job, id=job, query=Paging(limit=MOST_ON_A_PAGE)
        )
    )
    session.show(Page(items=found), lambda: event_text.show(session, found))


@command(app, "gc", "headway jobs gc --older-than 30d")
def gc(
    session: "Session",
    older_than: housekeeping.OlderThan = "7d",
    dry_run: housekeeping.DryRun = False,
) -> None:
    """Remove jobs that ended long ago; the same as `headway gc`."""
    housekeeping.collect(session, older_than, dry_run=dry_run)


change.register(app)
output.register(app)
programs.register(app)
wait.register(app)
