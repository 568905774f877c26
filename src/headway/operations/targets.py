"""What an operation changed, in a few words for the audit log."""

from collections.abc import Mapping
from typing import Any

from headway.domain.jobs import Job
from headway.domain.manage import audit
from headway.domain.manage.groups import Group
from headway.domain.manage.schedules import Schedule
from headway.domain.manage.templates import Template
from headway.domain.manage.tokens import Token
from headway.domain.manage.webhooks import Webhook

NOUNS = {
    "jobs": "job",
    "job-runs": "run",
    "job-templates": "template",
    "job-groups": "group",
    "schedules": "schedule",
    "webhooks": "webhook",
    "webhook-deliveries": "delivery",
    "workers": "worker",
    "limits": "limit",
    "artifacts": "artifact",
    "tokens": "token",
    "reservations": "reservation",
}
"""The kind of thing that a path's first step names."""

IDS: dict[type, tuple[str, str]] = {
    Job: ("job", "number"),
    Template: ("template", "template_id"),
    Schedule: ("schedule", "schedule_id"),
    Group: ("group", "group_id"),
    Webhook: ("webhook", "webhook_id"),
    Token: ("token", "token_id"),
}
NAMES = ("queue", "job_type", "name", "artifact")
"""Fields of a body that name what it is about and hold no secret."""


def noun(path: str) -> str:
    """What an operation at a path is about."""
    step = path.strip("/").split("/")[1]
    return NOUNS.get(step, step)


def target(where: str, path: Mapping[str, str], body: Any, answer: Any) -> str:
    """What was changed: the thing in the answer, in the path, or in the body."""
    if type(answer) in IDS:
        word, field = IDS[type(answer)]
        return f"{word} {getattr(answer, field)}"
    many = getattr(answer, "jobs", None)
    if many:
        return f"jobs {audit.ranges(one.number for one in many)}"
    if path:
        return f"{noun(where)} {' '.join(path.values())}"
    named = [
        f"{name} {value}" for name in NAMES if isinstance(value := getattr(body, name, 0), str)
    ]
    return ", ".join(named) or noun(where)
