"""What can be asked: each operation once, as a value. Pure."""

from headway.protocol import (
    artifacts,
    direct,
    events,
    groups,
    jobs,
    limits,
    queue,
    reservations,
    runs,
    schedules,
    templates,
    tokens,
    webhooks,
    work,
)

__all__ = [
    "artifacts",
    "direct",
    "events",
    "groups",
    "jobs",
    "limits",
    "queue",
    "reservations",
    "runs",
    "schedules",
    "templates",
    "tokens",
    "webhooks",
    "work",
]
