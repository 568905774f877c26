"""`headway jobs wait JOB…`."""

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from headway import protocol
from headway.cli import options
from headway.cli.options import command

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.cli.text.bar import Bar
    from headway.domain.jobs import JobResult

ROUNDS_PER_LOOK = 8
"""So often the jobs are asked for until their workers are, too."""


def register(app: typer.Typer) -> None:
    """Add this command to the group."""
    command(
        app,
        "wait",
        "headway jobs wait 7 8 9 && echo all succeeded",
        "headway jobs wait 7 --timeout 10m",
    )(wait)


def wait(
    session: "Session",
    jobs: options.SomeJobs,
    timeout: Annotated[
        str | None,
        typer.Option("--timeout", metavar="SPAN", help="Give up after this long, with code 1."),
    ] = None,
) -> None:
    """Wait until jobs and their retries have ended; 0 if all succeeded, 10 if one is blocked."""
    from headway.cli import job_options
    from headway.cli.text import words
    from headway.cli.text.bar import Bar
    from headway.domain.values import durations
    from headway.protocol.operation import Page

    job_options.positive("--timeout", timeout)
    wanted = list(dict.fromkeys(jobs))
    seconds = None if timeout is None else durations.parse(timeout)
    ended: dict[str, JobResult] = {}
    with Bar("wait") as bar:
        for job, result in _endings(session, wanted, seconds, bar):
            ended[job] = result
            if not session.screen.json:
                _say(session, result)
    results = [ended[job] for job in wanted if job in ended]
    if session.screen.json:
        alone = len(wanted) == len(results) == 1
        session.screen.value(results[0] if alone else Page(items=results))
    codes = {words.code(one.status) for one in results}
    gave_up = len(results) < len(wanted)
    raise typer.Exit(1 if gave_up or 1 in codes else max(codes))


def _endings(
    session: "Session", jobs: list[str], timeout_s: float | None, bar: "Bar"
) -> "Iterator[tuple[str, JobResult]]":
    """Each job when it has ended; when the time is over, say which have not."""
    import time

    from headway.client.client import polls
    from headway.domain import errors

    pending: dict[str, errors.NotFinished | None] = dict.fromkeys(jobs)
    for turn, wait_s in enumerate(itertools.chain(polls(timeout_s), [None])):
        for job in tuple(pending):
            try:
                result = session.send(protocol.jobs.get_result, id=job)
            except errors.NotFinished as error:
                pending[job] = error
            else:
                del pending[job]
                bar.clear()
                yield job, result
        if not pending:
            return
        if turn % ROUNDS_PER_LOOK == 0:
            _refuse_lost(session, list(pending), first=turn == 0)
        if wait_s is not None:
            bar.count(len(jobs) - len(pending), len(jobs), "ended")
            time.sleep(wait_s)
    bar.clear()
    for unfinished in filter(None, pending.values()):
        session.complain(unfinished)


def _refuse_lost(session: "Session", jobs: list[str], *, first: bool) -> None:
    """Stop when the process that ran one is gone; say once when nothing is there to start them."""
    from headway.cli import lost
    from headway.domain import errors

    if not session.is_local:
        return
    found = [session.send(protocol.jobs.get_job, id=job) for job in jobs]
    for job in found:
        if gone := lost.reason(session, job):
            raise errors.Unavailable(f"job {job.number} does not go on: {gone}")
    if first:
        for sentence in lost.warnings(session, found):
            session.screen.note(sentence)


def _say(session: "Session", result: "JobResult") -> None:
    from headway.cli.text import words

    tries = f" after {result.attempts} attempts" if result.attempts > 1 else ""
    error = session.text(words.headline(result.error)) if result.error else ""
    session.screen.line(
        f"Job {session.number(result.job_id)} ",
        words.status(result.status),
        f"{tries}: {error}" if error else tries,
    )
