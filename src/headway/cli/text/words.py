"""Jobs as text: how long, since when, what it does, its status."""

import shlex
from datetime import UTC, datetime
from typing import Any

import msgspec

from headway.cli.text.screen import Styled
from headway.domain import states, taken
from headway.domain.jobs import COMMAND, Job
from headway.domain.secrets import SECRET_ENV

_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def span(seconds: float) -> str:
    """A time span in its two biggest units: `2h 5m`."""
    if seconds < 1:
        return f"{max(0, round(seconds * 1000))}ms"
    rest = int(seconds)
    parts: list[tuple[int, str]] = []
    for unit, size in _UNITS:
        count, rest = divmod(rest, size)
        if count or parts:
            parts.append((count, unit))
    return " ".join(f"{count}{unit}" for count, unit in parts[:2] if count)


def age(moment: datetime | None, now: datetime | None = None) -> str:
    """How long ago: `5m 3s`."""
    return "" if moment is None else span(((now or datetime.now(UTC)) - moment).total_seconds())


def when(moment: datetime | None) -> str | None:
    """A moment, with how far away it is."""
    if moment is None:
        return None
    seconds = (datetime.now(UTC) - moment).total_seconds()
    near = f"{span(seconds)} ago" if seconds >= 0 else f"in {span(-seconds)}"
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z ({near})"


def status(word: str) -> Styled:
    """A status in lower case, in its colour."""
    return Styled(word.lower(), _colour(word.upper()))


def _colour(word: str) -> str:
    if word in (states.RUNNING, "ACTIVE"):
        return "cyan"
    if word in states.SUCCESS or word in ("COMPLETED", "DELIVERED", "APPROVED"):
        return "green"
    if word in states.FAILURE or word == "PARTIAL":
        return "red"
    return "yellow" if word in states.ACTIVE or word == "PENDING" else "bold"


def work(job: Job) -> str:
    """What the job does: the command line, or its type with the params."""
    argv = job.params.get("argv")
    if job.job_type == COMMAND and isinstance(argv, list):
        return shlex.join(taken.as_typed(argv))
    if job.omitted:
        return f"{job.job_type} ({job.omitted['params']:,} bytes of params)"
    return f"{job.job_type} {params(job.params)}".rstrip()


def params(given: dict[str, Any]) -> str:
    """Params as they would be typed: `genre=horror length=3`."""
    return " ".join(f"{name}={_shown(name, value)}" for name, value in given.items())


def _shown(name: str, value: Any) -> str:
    if name == SECRET_ENV and isinstance(value, dict):
        return f"({len(value)} variables)"
    return _value(value)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def span_of(job: Job) -> str | None:
    """How long the job has run, or ran."""
    if job.started_at is None:
        return None
    return age(job.started_at, job.finished_at)


def progress(job: Job) -> str:
    """`40% outline`, while there is something to say."""
    if job.progress is None:
        return ""
    percent = "" if job.progress.fraction is None else f"{job.progress.fraction:.0%}"
    return " ".join(part for part in (percent, job.progress.message) if part)


def headline(error: str | None) -> str:
    """The first line of an error: what it was; where follows."""
    return (error or "").strip().partition("\n")[0]


CANCELLED_CODE = 143
"""What a shell says of a program that was asked to end; one that never ran has no code."""


def ending(job: Job) -> int:
    """The exit code for a job's end."""
    if job.exit_code is not None and job.status not in states.SUCCESS:
        return 128 - job.exit_code if job.exit_code < 0 else job.exit_code & 0xFF or 1
    if job.status is states.CANCELLED and job.started_at is None:
        return CANCELLED_CODE
    return code(job.status)


def code(status: states.JobStatus) -> int:
    """The exit code for a status."""
    if status in states.BLOCKED:
        return 10
    return 0 if status in states.SUCCESS else 1
