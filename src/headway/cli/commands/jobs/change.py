"""`headway jobs …`: cancel, retry, approve, reject, change, move, reorder."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from headway import protocol
from headway.cli import completion, options
from headway.cli.commands.jobs import many
from headway.cli.options import command

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.domain.answers import RewindReport
    from headway.domain.jobs import Job

Answer = TypeVar("Answer")
Reason = Annotated[str | None, typer.Option("--reason", "-r", help="Reason to record.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the group."""
    command(
        app,
        "cancel",
        "headway jobs cancel 7 8",
        "headway jobs cancel 7 --force",
        "headway jobs cancel --tag nightly --since 2h",
    )(cancel)
    command(
        app,
        "retry",
        "headway jobs retry 7",
        "headway jobs retry 7 --from charge_card",
        "headway jobs retry --status failed --type story --dry-run",
    )(retry)
    command(
        app,
        "approve",
        "headway jobs approve 7 --reason 'looks good'",
        "headway jobs approve --queue deploy --yes",
    )(approve)
    command(
        app,
        "reprioritise",
        "headway jobs reprioritise 7 8 --priority high",
        "headway jobs reprioritise --tag nightly --priority -10",
    )(reprioritise)
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
    jobs: options.MaybeJobs = None,
    force: Annotated[bool, typer.Option("--force", help="Stop it even if it is running.")] = False,
    reason: Reason = None,
    status: many.Status = None,
    queue: many.Queue = None,
    job_type: many.Type = None,
    tag: many.Tag = None,
    group: many.Group = None,
    name: many.Name = None,
    search: many.Search = None,
    since: many.Since = None,
    until: many.Until = None,
    yes: many.Yes = False,
    dry_run: many.Preview = False,
) -> None:
    """Cancel jobs; a running one is asked to stop, or made to with --force."""
    chosen = many.selection(locals())
    many.one_of(jobs, chosen)
    if chosen is not None or dry_run:
        _refuse_force(force)
        sure = many.Sure(yes=yes, dry_run=dry_run)
        many.act(session, many.body("cancel", jobs, chosen, reason=reason), sure)
        return
    body = protocol.jobs.CancelBody(reason=reason, force=force)
    ask = partial(session.send, protocol.jobs.cancel_job, body=body)
    _each(session, jobs or [], lambda job: ask(id=job), partial(_say, session))


def retry(
    session: "Session",
    jobs: options.MaybeJobs = None,
    force: Annotated[bool, typer.Option("--force", help="Even if it succeeded.")] = False,
    from_step: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="STEP",
            help="Keep what its journal holds before this step; STEP#2 is the second of its name.",
        ),
    ] = None,
    priority: many.Priority = None,
    status: many.Status = None,
    queue: many.Queue = None,
    job_type: many.Type = None,
    tag: many.Tag = None,
    group: many.Group = None,
    name: many.Name = None,
    search: many.Search = None,
    since: many.Since = None,
    until: many.Until = None,
    yes: many.Yes = False,
    dry_run: many.Preview = False,
) -> None:
    """Rerun jobs and everything downstream of them.

    With options in place of jobs: try the last failed run of each chain again, as a new job.
    """
    chosen = many.selection(locals())
    many.one_of(jobs, chosen)
    if chosen is not None:
        _refuse_force(force)
        if from_step is not None:
            raise many.misplaced("--from", "goes with jobs that are named")
        sure = many.Sure(yes=yes, dry_run=dry_run)
        many.act(session, many.body("retry", None, chosen, priority=priority), sure)
        return
    if priority is not None:
        raise many.misplaced("--priority", "goes with options in place of jobs")
    step = None if from_step is None else _step(from_step)
    ask = partial(_retry, session, force=force, dry_run=dry_run, from_step=step)
    _each(session, jobs or [], ask, partial(_report, session))


def _step(text: str) -> protocol.queue.StepName:
    """A step as `jobs steps` shows it: its name, and which use of the name it is."""
    name, _, use = text.rpartition("#")
    if name and use.isdecimal() and int(use) > 0:
        return protocol.queue.StepName(name=name, index=int(use) - 1)
    return protocol.queue.StepName(name=text)


def _retry(
    session: "Session",
    job: str,
    *,
    force: bool,
    dry_run: bool,
    from_step: protocol.queue.StepName | None,
) -> "RewindReport":
    from headway.domain import errors

    try:
        if dry_run:
            query = protocol.queue.RewindQuery(force=force)
            return session.send(protocol.queue.preview_retry, id=job, query=query)
        body = protocol.queue.RewindBody(force=force, from_step=from_step)
        return session.send(protocol.queue.retry_job, id=job, body=body)
    except errors.RewindRefused as error:
        if error.succeeded is None:
            raise
        raise errors.RewindRefused.without_force(error.succeeded, "use --force") from None


def _report(session: "Session", report: "RewindReport") -> None:
    def names(ids: tuple[str, ...]) -> str:
        return ", ".join(session.number(one) for one in ids)

    session.screen.facts(
        [
            ("requested", session.number(report.requested_job)),
            ("starts from", session.number(report.retry_root)),
            ("kept", names(report.last_successful_point)),
            ("reset", names(report.reset)),
            ("can start now", names(report.restarted)),
        ]
    )


def approve(
    session: "Session",
    jobs: options.MaybeJobs = None,
    reason: Reason = None,
    status: many.Status = None,
    queue: many.Queue = None,
    job_type: many.Type = None,
    tag: many.Tag = None,
    group: many.Group = None,
    name: many.Name = None,
    search: many.Search = None,
    since: many.Since = None,
    until: many.Until = None,
    yes: many.Yes = False,
    dry_run: many.Preview = False,
) -> None:
    """Approve jobs, so that they may start."""
    chosen = many.selection(locals())
    many.one_of(jobs, chosen)
    if chosen is not None or dry_run:
        sure = many.Sure(yes=yes, dry_run=dry_run)
        many.act(session, many.body("approve", jobs, chosen, reason=reason), sure)
        return
    body = protocol.queue.ReasonBody(reason=reason)
    ask = partial(session.send, protocol.queue.approve_job, body=body)
    _each(session, jobs or [], lambda job: ask(id=job), partial(_say, session))


def reprioritise(
    session: "Session",
    jobs: options.MaybeJobs = None,
    priority: many.Priority = None,
    status: many.Status = None,
    queue: many.Queue = None,
    job_type: many.Type = None,
    tag: many.Tag = None,
    group: many.Group = None,
    name: many.Name = None,
    search: many.Search = None,
    since: many.Since = None,
    until: many.Until = None,
    yes: many.Yes = False,
    dry_run: many.Preview = False,
) -> None:
    """Change the priority of waiting jobs; they go to the tail of it, in their order."""
    chosen = many.selection(locals())
    many.one_of(jobs, chosen)
    sure = many.Sure(yes=yes or bool(jobs), dry_run=dry_run)
    many.act(session, many.body("reprioritise", jobs, chosen, priority=priority), sure)


def _refuse_force(force: bool) -> None:
    if force:
        raise many.misplaced("--force", "goes with jobs that are named one by one")


def reject(session: "Session", jobs: options.SomeJobs, reason: Reason = None) -> None:
    """Reject jobs; they end at once."""
    body = protocol.queue.ReasonBody(reason=reason)
    ask = partial(session.send, protocol.queue.reject_job, body=body)
    _each(session, jobs, lambda job: ask(id=job), partial(_say, session))


def _each(
    session: "Session",
    jobs: list[str],
    ask: Callable[[str], Answer],
    say: Callable[[Answer], None],
) -> None:
    """Ask for one job after the other; one that is refused does not keep the others back."""
    from headway.domain import errors
    from headway.protocol.operation import Page

    answers: list[Answer] = []
    code = 0
    for job in jobs:
        try:
            answers.append(ask(job))
        except errors.HeadwayError as error:
            if len(jobs) == 1:
                raise
            session.complain(error)
            code = code or error.exit_code
        else:
            if not session.screen.json:
                say(answers[-1])
    if session.screen.json:
        session.screen.value(answers[0] if len(jobs) == 1 else Page(items=answers))
    if code:
        raise typer.Exit(code)


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
    from headway.domain.requests.job_requests import JobPatch

    fields: dict[str, Any] = {}
    if pairs or params is not None:
        fields["params"] = values.read_params(pairs or [], params)
    if priority is not None:
        fields["priority"] = priority
    if at is not None or now:
        fields["scheduled_for"] = job_options.moment(at) if at is not None else None
    changed = session.send(protocol.jobs.change_job, id=job, body=JobPatch(**fields))
    session.show(changed, lambda: _say(session, changed))


def move(
    session: "Session",
    job: options.Job,
    before: Annotated[
        str | None,
        typer.Option(
            "--before",
            metavar="JOB",
            help="Put it before this job.",
            autocompletion=completion.jobs,
        ),
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(
            "--after", metavar="JOB", help="Put it after this job.", autocompletion=completion.jobs
        ),
    ] = None,
    to: Annotated[
        int | None, typer.Option("--to", metavar="N", help="New place, counted from 1.")
    ] = None,
) -> None:
    """Move a waiting job within its priority."""
    body = protocol.queue.MoveBody(before=before, after=after, queue_position=to)
    moved = session.send(protocol.queue.move_job, id=job, body=body)
    place = f", place {moved.queue_position}" if moved.queue_position else ""
    session.show(moved, lambda: session.screen.line(f"Job {moved.number} moved{place}"))


def reorder(session: "Session", order: options.Jobs) -> None:
    """Reorder waiting jobs among the places that they have now."""
    page = session.send(
        protocol.queue.reorder_queue, body=protocol.queue.ReorderBody(order=list(order))
    )
    names = ", ".join(str(job.number) for job in page.items)
    session.show(page, lambda: session.screen.line(f"New order: {names}"))


def _say(session: "Session", job: "Job") -> None:
    from headway.cli import lost
    from headway.cli.text import words

    reason = f": {session.text(job.wait_reason.detail)}" if job.wait_reason else ""
    asks = job.cancel_requested and job.finished_at is None and not reason
    asked = ", asked to stop" if asks else ""
    session.screen.line(f"Job {job.number} ", words.status(job.status), f"{asked}{reason}")
    if gone := lost.reason(session, job):
        session.screen.line(f"It does not go on: {gone}")
