"""Versions of what can be changed: a new one exactly when a person's change would meet another."""

import hashlib
from typing import Any

import msgspec

from headway.domain import errors
from headway.domain.jobs import Job
from headway.domain.manage.schedules import Schedule
from headway.domain.manage.templates import Template

OF_A_JOB = ("job_id", "generation", "params", "priority", "position", "scheduled_for")
"""What else a job shows moves by itself, and a change that waits for it would never succeed."""

BY_THE_CLOCK = ("last_triggered_at", "next_trigger_at")

FIELDS: dict[type, tuple[str, ...]] = {
    Job: OF_A_JOB,
    Template: Template.__struct_fields__,
    Schedule: tuple(name for name in Schedule.__struct_fields__ if name not in BY_THE_CLOCK),
}


def tag(thing: Any) -> str:
    """The version of a thing, as HTTP writes it."""
    values = [getattr(thing, name) for name in FIELDS[type(thing)]]
    return f'"{hashlib.sha256(msgspec.json.encode(values)).hexdigest()[:20]}"'


def check(wanted: str | None, kind: str, name: object, thing: Any) -> None:
    """Refuse to change what is no longer as the caller read it; `*` is any version."""
    if wanted is None or wanted.strip() == "*":
        return
    if tag(thing) not in [one.strip() for one in wanted.split(",")]:
        raise errors.StaleVersion(kind, name)
