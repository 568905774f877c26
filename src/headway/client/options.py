"""What can be said about a job beside its params, for a function or for one submit."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypedDict

from headway.domain import durations
from headway.domain.jobs import PinnedHead, RetryPolicy
from headway.domain.requests import AfterRequest, BatchJobRequest, LockRequest

Reference = Any
"""A job: its handle, id or number; in a pipeline also a step."""


class Options(TypedDict, total=False):
    """Options of `@app.job(…)` and `job.options(…)`; time spans may be written "10m"."""

    queue: str
    priority: int | str
    retries: int
    retry_delay: float | str
    max_retry_delay: float | str
    timeout: float | str
    delay: float | str
    scheduled_for: datetime
    after: Sequence[Reference] | Reference
    needs: Sequence[str]
    produces: Sequence[str]
    locks: Sequence[str | dict[str, str]]
    pinned_head: dict[str, str]
    approval: bool
    cost_units: int
    requires: Sequence[str]
    limits: dict[str, int]
    webhook_url: str
    idempotency_key: str
    unique_key: str
    dedup_key: str
    dedup_window: float | str
    missing_producer: str
    tags: Sequence[str]
    template: str


def request(
    job_type: str | None, params: dict[str, Any], options: Options, ref: str | None = None
) -> BatchJobRequest:
    """The request that a job type, params and options make."""
    given: dict[str, Any] = dict(options)
    fields: dict[str, Any] = {"params": params, "ref": ref}
    if "template" not in given:
        fields["job_type"] = job_type
    for name, target in _SPANS.items():
        if name in given:
            fields[target] = durations.parse(given.pop(name))
    if policy := _retry_policy(given):
        fields["retry_policy"] = policy
    if "after" in given:
        fields["after"] = tuple(_after(one) for one in _listed(given.pop("after")))
    if "locks" in given:
        fields["locks"] = tuple(
            one if isinstance(one, str) else LockRequest(**one) for one in given.pop("locks")
        )
    if "pinned_head" in given:
        fields["pinned_head"] = PinnedHead(**given.pop("pinned_head"))
    for name, value in given.items():
        fields[name] = tuple(value) if isinstance(value, list | set) else value
    return BatchJobRequest(**fields)


_SPANS = {"timeout": "timeout_s", "delay": "delay_s", "dedup_window": "dedup_window_s"}


def _retry_policy(given: dict[str, Any]) -> RetryPolicy | None:
    words = {}
    if "retries" in given:
        words["max_attempts"] = given.pop("retries")
    for name, target in (("retry_delay", "base_delay_s"), ("max_retry_delay", "max_delay_s")):
        if name in given:
            words[target] = durations.parse(given.pop(name))
    return RetryPolicy(**words) if words else None


def _listed(value: Any) -> Sequence[Any]:
    return list(value) if isinstance(value, list | tuple | set) else [value]


def _after(one: Any) -> str | int | AfterRequest:
    if isinstance(one, dict):
        return AfterRequest(job=_name(one["job"]), policy=one.get("policy", "success"))
    return _name(one)


def _name(one: Any) -> str | int:
    name: str | int = getattr(one, "reference", None) or getattr(one, "job_id", one)
    return name
