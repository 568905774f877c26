"""What the shell offers at Tab: numbers and names that the scheduler knows, statuses.

Names come from anyone who may submit, and zsh evaluates what it is offered: only characters that
mean nothing to a shell pass. If no server responds in time, nothing is offered or printed.
"""

import contextlib
import re
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import typer

from headway import protocol

if TYPE_CHECKING:
    from headway.cli.session import Session

PATIENCE_S = 2.0
NEWEST = 200
LONGEST_HELP = 50
HARMLESS = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]*")
HARMFUL = re.compile(r"[^A-Za-z0-9_.@+-]+")

Offer = tuple[str, str]


def jobs(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The numbers of the newest jobs, with what each does."""
    return _offers(ctx, incomplete, _jobs)


def job_types(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The job types that workers serve and that the newest jobs have."""
    return _offers(ctx, incomplete, _job_types)


def first_word(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """A job type, which comes before params: only as the first word."""
    return [] if ctx.params.get("words") else job_types(ctx, incomplete)


def schedules(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The names of schedules."""
    return _offers(ctx, incomplete, _schedules)


def templates(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The names of templates."""
    return _offers(ctx, incomplete, _templates)


def groups(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The names of groups."""
    return _offers(ctx, incomplete, _groups)


def workers(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The names of workers that are alive."""
    return _offers(ctx, incomplete, _workers)


def statuses(incomplete: str) -> list[Offer]:
    """The statuses of a job, also after a comma."""
    from headway.domain.states import JobStatus

    before, comma, last = incomplete.rpartition(",")
    words = ["active", "ended", *(one.lower() for one in JobStatus)]
    return [(f"{before}{comma}{one}", "") for one in words if one.startswith(last.lower())]


def _jobs(session: "Session") -> Iterable[Offer]:
    from headway.cli.text import words
    from headway.protocol.jobs import JobQuery

    for job in session.send(protocol.jobs.list_jobs, query=JobQuery(limit=NEWEST)).items:
        yield str(job.number), f"{job.status.lower()} {words.work(job)}"


def _job_types(session: "Session") -> Iterable[Offer]:
    from headway.domain.jobs import COMMAND
    from headway.protocol.jobs import JobQuery

    known = {COMMAND}
    for worker in session.send(protocol.work.list_workers).items:
        known.update(worker.job_types or ())
    known.update(
        one.job_type
        for one in session.send(protocol.jobs.list_jobs, query=JobQuery(limit=NEWEST)).items
    )
    return [(one, "") for one in sorted(known)]


def _schedules(session: "Session") -> Iterable[Offer]:
    from headway.protocol.schedules import ScheduleQuery

    found = session.send(protocol.schedules.list_schedules, query=ScheduleQuery(limit=NEWEST)).items
    return [(one.name or one.schedule_id, "on" if one.enabled else "off") for one in found]


def _templates(session: "Session") -> Iterable[Offer]:
    from headway.protocol.templates import TemplateQuery

    found = session.send(
        protocol.templates.list_templates, query=TemplateQuery(status="ACTIVE", limit=NEWEST)
    ).items
    return [(one.name, one.job_type) for one in found]


def _groups(session: "Session") -> Iterable[Offer]:
    from headway.protocol.operation import Paging

    found = session.send(protocol.groups.list_groups, query=Paging(limit=NEWEST)).items
    return [(one.name or one.group_id, one.status.lower()) for one in found]


def _workers(session: "Session") -> Iterable[Offer]:
    found = [one for one in session.send(protocol.work.list_workers).items if one.alive]
    return [(one.worker_id, "draining" if one.draining_since else one.host) for one in found]


def _offers(
    ctx: typer.Context, incomplete: str, look: Callable[["Session"], Iterable[Offer]]
) -> list[Offer]:
    """What was found in time and can be completed in a shell."""
    found: list[Offer] = []

    def read() -> None:
        with contextlib.suppress(Exception):
            found.extend(look(_session(ctx)))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(PATIENCE_S)
    return [
        (value, HARMFUL.sub(" ", told).strip()[:LONGEST_HELP])
        for value, told in tuple(found)
        if value.startswith(incomplete) and HARMLESS.fullmatch(value)
    ]


def _session(ctx: typer.Context) -> "Session":
    """A session with the options typed so far; it makes no store and imports no app."""
    import logging

    from headway import wiring
    from headway.cli.session import Session

    logging.disable()
    typed = {**ctx.find_root().params, **{k: v for k, v in ctx.params.items() if v}}
    session = Session({name: typed.get(name) for name in ("data", "db", "url", "token")})
    if (missing := session.missing_store()) is not None:
        raise missing
    session.client = wiring.connect(session.settings)
    return session
