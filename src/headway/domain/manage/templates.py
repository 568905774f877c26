"""A template: the defaults that many jobs share. Changes touch future jobs only."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec

from headway.domain.jobs import Lock, RetryPolicy, SharedTerms


class TemplateStatus(StrEnum):
    """An archived template makes no jobs."""

    ACTIVE = "ACTIVE"
    ARCHIVED = "ARCHIVED"


class _First(SharedTerms, frozen=True):
    """The fields before the shared ones: msgspec puts those of a `kw_only` base behind these."""

    template_id: str
    name: str
    job_type: str
    queue: str | None = None
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    description: str | None = None
    priority: int = 0
    retry_policy: RetryPolicy = RetryPolicy()
    cost_units: int = 1
    requires: tuple[str, ...] = ()
    limits: dict[str, int] = msgspec.field(default_factory=dict)
    locks: tuple[Lock, ...] = ()


class Template(_First, frozen=True, kw_only=True):
    """A template as it is kept and shown."""

    by_admin: bool = False
    status: TemplateStatus = TemplateStatus.ACTIVE
    created_at: datetime
    updated_at: datetime


def defaults() -> dict[str, Any]:
    """The value of each field that a template leaves to its jobs."""
    now = datetime.fromtimestamp(0, UTC)
    empty = Template("", "", "", created_at=now, updated_at=now)
    return msgspec.structs.asdict(empty)
