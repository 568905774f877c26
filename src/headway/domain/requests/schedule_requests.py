"""What a person or program asks for to make a schedule or to change it."""

from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from headway.domain.manage.schedules import Catchup, Overlap


class ScheduleRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a new schedule is made of: a template, and one of `cron`, `every` and `at`."""

    template: str
    name: str | None = None
    cron: str | None = None
    every: str | float | None = None
    at: datetime | None = None
    timezone: str = "UTC"
    enabled: bool = True
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    priority: int | str | None = None
    catchup: Catchup = Catchup.ONE
    catchup_limit: int = 100
    overlap: Overlap = Overlap.ALLOW


class SchedulePatch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to change. A new `cron`, `every` or `at` takes the old one's place."""

    template: str | UnsetType = UNSET
    name: str | UnsetType | None = UNSET
    cron: str | UnsetType | None = UNSET
    every: str | float | UnsetType | None = UNSET
    at: datetime | UnsetType | None = UNSET
    timezone: str | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    params: dict[str, Any] | UnsetType = UNSET
    priority: int | str | UnsetType | None = UNSET
    catchup: Catchup | UnsetType = UNSET
    catchup_limit: int | UnsetType = UNSET
    overlap: Overlap | UnsetType = UNSET
