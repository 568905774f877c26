"""What can be said about a job beside its params, for a function or for one submit."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Literal, TypedDict

import msgspec

from headway.client import references, words
from headway.client.references import After
from headway.domain import errors
from headway.domain.jobs import Backoff, PinnedHead, RetryPolicy
from headway.domain.requests import job_requests
from headway.domain.requests.job_requests import BatchJobRequest, LockRequest
from headway.domain.retries import RetryRules
from headway.domain.values import durations

Exceptions = type[BaseException] | tuple[type[BaseException], ...]
"""One class of exceptions or several, as in an `except`."""


class JobOptions(TypedDict, total=False):
    """Options of a job that a function and a submit share; time spans may be written "10m"."""

    queue: str
    priority: int | str
    retries: int
    retry_delay: float | str
    max_retry_delay: float | str
    jitter: bool
    backoff: Literal["exponential", "fixed"] | Callable[[int], float | str]
    max_crashes: int
    timeout: float | str
    start_within: float | str
    delay: float | str
    needs: Sequence[str] | str
    produces: Sequence[str] | str
    locks: Sequence[str | dict[str, str]] | str | dict[str, str]
    approval: bool
    cost_units: int
    requires: Sequence[str] | str
    limits: dict[str, int]
    webhook_url: str
    unique_key: str
    dedup_key: str
    dedup_window: float | str
    missing_producer: Literal["block", "wait"]
    tags: Sequence[str] | str


class HandlerOptions(JobOptions, total=False):
    """Options of `@app.job(…)`, which hold for every submit.

    Its `backoff` may be a function: attempt, from 0, to the seconds until the next one.
    """


class SubmitOptions(JobOptions, total=False):
    """Options of `job.options(…)` and `app.submit(…)`: also what only one job can mean."""

    name: str
    scheduled_for: datetime
    after: Sequence[After] | After
    pinned_head: dict[str, str]
    idempotency_key: str
    template: str
    parent_id: str | int


def request(
    job_type: str | None, params: dict[str, Any], options: JobOptions, ref: str | None = None
) -> BatchJobRequest:
    """The request that a job type, params and options make."""
    given: dict[str, Any] = dict(options)
    _refuse_unknown(given)
    fields: dict[str, Any] = {"params": params, "ref": ref}
    if "template" not in given:
        fields["job_type"] = job_type
    for name, target in _SPANS.items():
        if name in given:
            fields[target] = durations.parse(given.pop(name))
    if policy := _retry_policy(given):
        fields["retry_policy"] = policy
    if "after" in given:
        fields["after"] = references.after(given.pop("after"))
    for name in _LISTS & given.keys():
        fields[name] = _listed(given.pop(name))
    if "locks" in given:
        fields["locks"] = tuple(_lock(one) for one in _listed(given.pop("locks")))
    if "pinned_head" in given:
        fields["pinned_head"] = words.read("pinned_head", given.pop("pinned_head"), PinnedHead)
    return BatchJobRequest(**fields, **given)


def retry_rules(
    retry_on: Exceptions | None, give_up_on: Exceptions, chosen: HandlerOptions
) -> tuple[RetryRules, HandlerOptions]:
    """What a handler's own code says about retries, and the other options."""
    left = chosen.copy()
    backoff = chosen.get("backoff")
    if callable(backoff):
        del left["backoff"]
    rules = RetryRules(
        retry_on=None if retry_on is None else _exceptions("retry_on", retry_on),
        give_up_on=_exceptions("give_up_on", give_up_on),
        backoff=backoff if callable(backoff) else None,
    )
    return rules, left


def _exceptions(option: str, given: Any) -> tuple[type[BaseException], ...]:
    classes = given if isinstance(given, tuple | list) else (given,)
    for one in classes:
        if not (isinstance(one, type) and issubclass(one, BaseException)):
            raise TypeError(f"{option}: {one!r} is not a class of exceptions")
    return tuple(classes)


def check(chosen: BatchJobRequest) -> None:
    """Refuse options that would be refused with every submit."""
    # A submit may still add the half of these two that is missing.
    job_requests.check(msgspec.structs.replace(chosen, dedup_key=None, dedup_window_s=None))
    job_requests.priority_of(chosen, None)


_LISTS = {"needs", "produces", "requires", "tags"}
_SPANS = {
    "timeout": "timeout_s",
    "delay": "delay_s",
    "dedup_window": "dedup_window_s",
    "start_within": "start_within_s",
}


_KNOWN = sorted(SubmitOptions.__annotations__)


def _refuse_unknown(given: dict[str, Any]) -> None:
    for name in given:
        if name not in _KNOWN:
            raise TypeError(f"there is no option {name!r}; the options are {', '.join(_KNOWN)}")


def _listed(value: Any) -> tuple[Any, ...]:
    """A single value is a list of one; a text is not a list of its letters."""
    return (value,) if isinstance(value, str | dict) else tuple(value)


def _lock(one: Any) -> str | LockRequest:
    return one if isinstance(one, str) else words.read("locks", one, LockRequest)


def _retry_policy(given: dict[str, Any]) -> RetryPolicy | None:
    said = {}
    if "retries" in given:
        said["max_attempts"] = given.pop("retries")
    if "max_crashes" in given:
        said["max_crashes"] = given.pop("max_crashes")
    if "backoff" in given:
        said["backoff"] = _backoff(given.pop("backoff"))
    for name, target in (("retry_delay", "base_delay_s"), ("max_retry_delay", "max_delay_s")):
        if name in given:
            said[target] = durations.parse(given.pop(name))
    if "jitter" in given:
        said["jitter"] = given.pop("jitter")
        if not isinstance(said["jitter"], bool):
            raise errors.InvalidRequest("jitter", f"{said['jitter']!r} is neither True nor False")
    return RetryPolicy(**said) if said else None


def _backoff(given: Any) -> Backoff:
    try:
        return Backoff(given)
    except ValueError:
        known = " or ".join(repr(one.value) for one in Backoff)
        problem = f"{given!r} is not {known}; a function can only be given to @app.job"
        raise errors.InvalidRequest("backoff", problem) from None
