"""What a person or program asks for to make a template or to change it."""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from headway.domain.jobs import RetryPolicy, SharedTerms
from headway.domain.requests.job_requests import LockRequest


class TemplateRequest(SharedTerms, frozen=True, forbid_unknown_fields=True):
    """What a new template is made of; not `kw_only`, as `JobRequest` is not."""

    name: str
    job_type: str
    queue: str | None = None
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    description: str | None = None
    priority: int | str = 0
    retry_policy: RetryPolicy = RetryPolicy()
    cost_units: int = 1
    requires: tuple[str, ...] = ()
    limits: dict[str, int] = msgspec.field(default_factory=dict)
    locks: tuple[str | LockRequest, ...] = ()


class TemplatePatch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to change; the rest stays."""

    name: str | UnsetType = UNSET
    job_type: str | UnsetType = UNSET
    queue: str | UnsetType | None = UNSET
    params: dict[str, Any] | UnsetType = UNSET
    description: str | UnsetType | None = UNSET
    priority: int | str | UnsetType = UNSET
    retry_policy: RetryPolicy | UnsetType = UNSET
    timeout_s: float | UnsetType | None = UNSET
    start_within_s: float | UnsetType | None = UNSET
    cost_units: int | UnsetType = UNSET
    requires: tuple[str, ...] | UnsetType = UNSET
    limits: dict[str, int] | UnsetType = UNSET
    locks: tuple[str | LockRequest, ...] | UnsetType = UNSET
    webhook_url: str | UnsetType | None = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
