"""The whole at a glance."""

from headway import protocol
from headway.cli import lost
from headway.cli.session import Session
from headway.cli.text import job_text, words
from headway.cli.text.screen import Cell, Column
from headway.domain.answers import CurrentJob, LimitView, SchedulerStatus
from headway.domain.states import RUNNING
from headway.domain.values import durations
from headway.protocol.jobs import JobQuery
from headway.protocol.operation import Paging

MOST_SHOWN = 200


def glance(session: Session, status: SchedulerStatus) -> None:
    """A few lines about everything."""
    for line in [*head(status), *_lost(session, status), *_cleaned(status)]:
        session.screen.line(line)


def head(status: SchedulerStatus) -> list[str]:
    """What runs, how much waits, and what became of the rest."""
    totals = status.totals
    names = ("succeeded", "failed", "timeout", "cancelled", "skipped", "blocked")
    ended = [f"{getattr(totals, name)} {name}" for name in names if getattr(totals, name)]
    at_work = "at work" if status.running else "no worker is alive"
    running, waiting = len(status.current_jobs), status.queue_length
    lines = [f"Headway: {at_work}, {running} running, {waiting} waiting"]
    if ended:
        lines.append(f"Ended so far: {', '.join(ended)}")
    if status.active_reservation is not None:
        lines.append(f"The next slot is reserved by {status.active_reservation.reserved_by}")
    return lines


def _cleaned(status: SchedulerStatus) -> list[str]:
    """What was removed by itself."""
    last = status.cleaned
    if last is None:
        return []
    kept = durations.show(last.kept_s)
    return [f"Removed {words.when(last.at)}: {last.jobs} jobs that ended more than {kept} ago"]


def _lost(session: Session, status: SchedulerStatus) -> list[str]:
    """Jobs that count as running and do not go on."""
    gone = lost.workers(session) if status.current_jobs else {}
    return [
        f"Job {one.number} does not go on: {gone[one.worker_id]}"
        for one in status.current_jobs
        if one.worker_id in gone
    ]


def screenful(session: Session, height: int | None) -> list[str]:
    """Everything that fits on one screen."""
    status = session.send(protocol.queue.get_scheduler_status)
    lines = [*head(status), *_lost(session, status), *_pauses(session), *_limits(session)]
    if status.current_jobs:
        lines += ["", *_running(session, status.current_jobs)]
    room = MOST_SHOWN if height is None else max(1, min(MOST_SHOWN, height - len(lines) - 4))
    page = session.send(protocol.queue.list_queue, query=Paging(limit=room))
    if page.items:
        lines += ["", *session.screen.table_lines(*job_text.table(session, page.items))]
    if page.next_cursor:
        lines.append(f"and {status.queue_length - len(page.items)} more")
    return lines


def _pauses(session: Session) -> list[str]:
    paused = session.send(protocol.queue.get_queue_status).paused
    names = [
        f"queue {one.queue}" if one.queue else f"type {one.job_type}" if one.job_type else "all"
        for one in paused
    ]
    return [f"Paused: {', '.join(names)}"] if names else []


def _limits(session: Session) -> list[str]:
    used = [
        one for one in session.send(protocol.limits.list_limits).items if one.used or one.started
    ]
    return ["Limits: " + ", ".join(_limit(one) for one in used)] if used else []


def _limit(one: LimitView) -> str:
    of = f"/{one.size}" if one.size is not None else ""
    rate = f" ({one.started or 0} of {one.rate})" if one.rate else ""
    return f"{one.name} {one.used}{of}{rate}"


def _running(session: Session, current: tuple[CurrentJob, ...]) -> list[str]:
    query = JobQuery(status=RUNNING)
    listed = session.some(protocol.jobs.list_jobs, MOST_SHOWN, query=query)
    jobs = {job.number: job for job in listed.items}
    rows: list[list[Cell]] = [
        [
            str(one.number),
            words.status(RUNNING),
            words.age(one.started_at),
            words.work(jobs[one.number]),
            words.progress(jobs[one.number]),
        ]
        for one in current
        if one.number in jobs
    ]
    columns = [
        Column("JOB"),
        Column("STATUS"),
        Column("FOR"),
        Column("WORK", elastic=True),
        Column("PROGRESS", elastic=True),
    ]
    lines = session.screen.table_lines(columns, rows)
    return [*lines, f"and {len(current) - len(rows)} more"] if len(current) > len(rows) else lines
