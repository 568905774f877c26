"""A schedule: when jobs are made from a template."""

from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from headway.domain.manage.tokens import Role


class Catchup(StrEnum):
    """What to do about fires that were missed while no server was running."""

    SKIP = "skip"
    ONE = "one"
    ALL = "all"


class Overlap(StrEnum):
    """Whether a fire makes a job while an earlier fire's job is still active."""

    ALLOW = "allow"
    SKIP = "skip"


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule as it is kept and shown."""

    schedule_id: str
    template_id: str
    name: str | None = None
    cron: str | None = None
    every: float | None = None
    at: datetime | None = None
    timezone: str = "UTC"
    enabled: bool = True
    app: str | None = None
    """The app whose code asks for it; None for one that was made by hand."""
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    priority: int | None = None
    catchup: Catchup = Catchup.ONE
    catchup_limit: int = 100
    overlap: Overlap = Overlap.ALLOW
    written_by: Role = Role.SUBMIT
    """The role of who wrote it last: each fire may make what that role may submit."""
    created_at: datetime
    last_triggered_at: datetime | None = None
    next_trigger_at: datetime | None = None
