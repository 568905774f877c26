"""A template: the defaults that many jobs share. Changes touch future jobs only."""

from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from headway.domain.jobs import Lock, RetryPolicy


class TemplateStatus(StrEnum):
    """An archived template makes no jobs."""

    ACTIVE = "ACTIVE"
    ARCHIVED = "ARCHIVED"


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """A template as it is kept and shown."""

    template_id: str
    name: str
    job_type: str
    queue: str | None = None
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    description: str | None = None
    priority: int = 0
    retry_policy: RetryPolicy = RetryPolicy()
    timeout_s: float | None = None
    cost_units: int = 1
    requires: tuple[str, ...] = ()
    limits: dict[str, int] = msgspec.field(default_factory=dict)
    locks: tuple[Lock, ...] = ()
    webhook_url: str | None = None
    tags: tuple[str, ...] = ()
    by_admin: bool = False
    status: TemplateStatus = TemplateStatus.ACTIVE
    created_at: datetime
    updated_at: datetime
