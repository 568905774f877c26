"""Jobs as tables and as sheets of facts."""

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from headway import protocol
from headway.cli.session import Session
from headway.cli.text import words
from headway.cli.text.screen import Cell, Column, Styled
from headway.domain import errors, states
from headway.domain.jobs import COMMAND, DEFAULT_QUEUE, Job, Lock
from headway.domain.runs import Run
from headway.domain.secrets import MASK, SECRET_ENV
from headway.domain.values import durations


def table(session: Session, jobs: Sequence[Job]) -> tuple[list[Column], list[list[Cell]]]:
    """Jobs in rows; columns in which nothing is unusual are left out."""
    session.learn(jobs)
    jobs = [_with_argv(session, job) for job in jobs]
    queues = any(job.queue != DEFAULT_QUEUE for job in jobs)
    priorities = any(job.priority for job in jobs)
    names = any(job.name for job in jobs)
    columns = [Column("JOB"), Column("STATUS")]
    columns += [Column("NAME", elastic=True)] if names else []
    columns += [Column("QUEUE", elastic=True)] if queues else []
    columns += [Column("PRIO")] if priorities else []
    columns += [Column("AGE"), Column("WORK", elastic=True), Column("DETAIL", elastic=True)]
    return columns, [_row(session, job, names, queues, priorities) for job in jobs]


def _row(session: Session, job: Job, names: bool, queues: bool, priorities: bool) -> list[Cell]:
    return [
        str(job.number),
        words.status(job.status),
        *([job.name or ""] if names else []),
        *([job.queue] if queues else []),
        *([str(job.priority)] if priorities else []),
        words.age(job.created_at),
        words.work(job),
        Styled(detail(session, job), "dim"),
    ]


LARGEST_ENVIRONMENT = 128 * 1024


def _with_argv(session: Session, job: Job) -> Job:
    """A listed command with its params: those of `run` are large for the environment in them."""
    if job.job_type != COMMAND or not job.omitted:
        return job
    if job.omitted["params"] > LARGEST_ENVIRONMENT:
        return job
    with suppress(errors.NotFound):
        return session.send(protocol.jobs.get_job, id=job.number)
    return job


def detail(session: Session, job: Job) -> str:
    """What matters most about a job in its status."""
    if job.wait_reason is not None:
        return session.text(job.wait_reason.detail)
    if job.status is states.RUNNING:
        asked = "cancel requested" if job.cancel_requested else ""
        running = f"for {words.span_of(job)}"
        return ", ".join(part for part in (words.progress(job), asked, running) if part)
    if job.status in states.TERMINAL:
        short = session.screen.cut(job.error, LONGEST_ERROR) if job.error else ""
        code = f"exit {job.exit_code}" if job.exit_code and not short else ""
        took = f"took {words.span_of(job)}" if job.started_at else ""
        return ", ".join(part for part in (code, took, short) if part)
    return f"place {job.queue_position}" if job.queue_position else ""


LONGEST_ERROR = 80
LONGEST_RESULT = 400


def sheet(session: Session, job: Job, run: Run | None = None) -> None:
    """Everything about a job that is not as usual, with what its last run came to."""
    session.learn([job])
    session.screen.facts(
        [
            ("job", str(job.number)),
            ("name", job.name),
            ("status", words.status(job.status)),
            ("cancel", "requested" if job.cancel_requested and not job.finished_at else None),
            ("reason", session.text(job.wait_reason.detail) if job.wait_reason else None),
            ("type", job.job_type),
            _work(job),
            ("queue", job.queue),
            ("priority", str(job.priority) if job.priority else None),
            ("place", str(job.queue_position) if job.queue_position else None),
            ("progress", words.progress(job)),
            ("exit code", None if job.exit_code is None else str(job.exit_code)),
            *_times(job),
            *_terms(job),
            *_origins(session, job),
            ("id", job.job_id),
            *_outcome(session, job, run),
        ]
    )


def _outcome(session: Session, job: Job, run: Run | None) -> list[tuple[str, Cell | None]]:
    """The result, cut short if it is long, and the error."""
    if run is None or run.status is None:
        return []
    result = "" if run.result is None else compact(run.result)
    shown = session.screen.cut(result, LONGEST_RESULT)
    whole = f"headway jobs result {job.number}" if shown != result else None
    return [
        ("result", shown),
        ("full result", whole),
        ("error", run.error.strip() if run.error else None),
    ]


def _work(job: Job) -> tuple[str, Cell | None]:
    if job.job_type == COMMAND:
        return ("command", words.work(job))
    return ("params", words.params(job.params))


def _times(job: Job) -> list[tuple[str, Cell | None]]:
    return [
        ("submitted", words.when(job.created_at)),
        ("not before", words.when(job.scheduled_for) if job.started_at is None else None),
        ("started", words.when(job.started_at)),
        ("ended", words.when(job.finished_at)),
        ("took", words.span_of(job) if job.finished_at else None),
        ("start by", words.when(job.start_by) if job.status in states.WAITING else None),
        ("timeout", durations.show(job.timeout_s) if job.timeout_s else None),
    ]


def _terms(job: Job) -> list[tuple[str, Cell | None]]:
    before = [f"{one.number} ({one.policy})" for one in job.after]
    before += [f"group {one.group} ({one.policy})" for one in job.after_groups]
    after = ", ".join(before)
    pin = job.pinned_head
    return [
        ("after", after),
        ("needs", ", ".join(job.needs)),
        ("produces", ", ".join(job.produces)),
        ("locks", ", ".join(lock(one) for one in job.locks)),
        ("waited on", ", ".join(job.waited_on)),
        ("pinned to", f"{pin.branch} at {pin.commit[:12]}" if pin else None),
        ("approval", job.approval.lower() if job.approval else None),
        ("requires", ", ".join(job.requires)),
        ("limits", ", ".join(f"{name}={amount}" for name, amount in job.limits.items())),
        ("cost", str(job.cost_units) if job.cost_units != 1 else None),
        ("tags", ", ".join(job.tags)),
        ("unique key", job.unique_key),
    ]


def without_environment(job: Job) -> Job:
    """The job without the variables that `run` handed on: what it prints may end up in a log."""
    if SECRET_ENV not in job.params:
        return job
    return msgspec.structs.replace(job, params={**job.params, SECRET_ENV: MASK})


def lock(one: Lock) -> str:
    """A lock as it would be typed."""
    return one.key if one.mode == "exclusive" else f"{one.key}:{one.mode}"


def _origins(session: Session, job: Job) -> list[tuple[str, Cell | None]]:
    attempt = f"{job.attempt} of {job.retry_policy.max_attempts} retries" if job.attempt else None
    return [
        ("attempt", attempt),
        ("parent", session.number(job.parent_id) if job.parent_id else None),
        ("retry of", session.number(job.retry_of) if job.retry_of else None),
        ("retried by", session.number(job.retried_by) if job.retried_by else None),
        ("retry", None if job.retried_by or job.retry_state == "none" else job.retry_state),
        ("crashes", str(job.crashes) if job.crashes else None),
        ("rewound", f"{job.generation - 1} times" if job.generation > 1 else None),
        ("worker", job.worker_id),
        ("template", session.template(job.template_id)),
        ("schedule", session.schedule(job.schedule_id)),
        ("group", job.group_id),
        ("run", job.run_id),
    ]


def compact(value: object) -> str:
    """A value as JSON in one line."""
    return msgspec.json.encode(value).decode()
