"""What a person or program asks for: the bodies of submits, with everything they may leave out."""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import msgspec

from headway.domain import errors
from headway.domain.jobs import (
    DEFAULT_QUEUE,
    LONGEST_KEY,
    JobTerms,
    Lane,
    Lock,
    Mode,
    Policy,
    RetryPolicy,
    SharedTerms,
)
from headway.domain.manage import templates, webhooks
from headway.domain.manage.reservations import WAIT_TIMEOUT_S
from headway.domain.manage.templates import Template
from headway.domain.values import plain_json, priorities
from headway.domain.values.moments import Moment
from headway.domain.values.plain_json import Checked

FLAGS = {
    "gpu_required": "gpu",
    "cpu_heavy": "cpu_heavy",
    "network_heavy": "network_heavy",
    "disk_write_heavy": "disk_write_heavy",
}
"""How the flags of a constraint map are read as requirements."""

_NEVER = r"\x00-\x1f\x7f\ud800-\udfff"
"""In no name and no URL: control characters, and halves of characters."""
NAME = re.compile(rf"[^\s{_NEVER}]([^{_NEVER}]{{0,198}}[^\s{_NEVER}])?")
URL = re.compile(rf"https?://[^\s/{_NEVER}][^\s{_NEVER}]{{0,1990}}")
COMMIT = re.compile(r"[0-9a-fA-F]{7,64}")
LONGEST_TIME_S = 10 * 366 * 86400.0
LARGEST_NUMBER = 2**31 - 1
LARGEST_REASON = 4096
MOST_NAMED = 500_000
"""So many other jobs, artifacts, locks and tags may be named in one request, by all its jobs."""


class AfterRequest(msgspec.Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """A dependency with its policy: on a job, or on a group by its name or id."""

    job: str | int | None = None
    group: str | None = None
    policy: Policy = Policy.SUCCESS


class LockRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A lock with its mode."""

    key: str
    mode: Mode = Mode.EXCLUSIVE


class JobRequest(JobTerms, frozen=True, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """The body of a submit. Everything that is left out comes from the template or the defaults.

    It is not `kw_only`, so that its own fields come before the shared ones in the API's schema.
    """

    job_type: str | None = None
    template: str | None = None
    queue: str | None = None
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    priority: int | str | None = None
    scheduled_for: Moment | None = None
    delay_s: float | None = None
    after: tuple[str | int | AfterRequest, ...] = ()
    locks: tuple[str | LockRequest, ...] | None = None
    cost_units: int | None = None
    requires: tuple[str, ...] | None = None
    constraints: dict[str, bool] = msgspec.field(default_factory=dict)
    limits: dict[str, int] | None = None
    retry_policy: RetryPolicy | None = None
    idempotency_key: str | None = None
    unique_key: str | None = None
    dedup_key: str | None = None
    parent_id: str | int | None = None


class BatchJobRequest(
    JobRequest, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A job of a batch; others in the batch may refer to it by its ref."""

    ref: str | None = None


def filled_in(
    request: JobRequest, defaults: Mapping[str, Any], template: Template | None
) -> JobRequest:
    """The request with what its job type says where neither it nor its template says anything."""
    missing = {
        name: value
        for name, value in defaults.items()
        if getattr(request, name) == _SILENT[name]
        and (
            template is None or getattr(template, name, None) in (None, _SILENT_TEMPLATE.get(name))
        )
    }
    return msgspec.structs.replace(request, **missing) if missing else request


_SILENCE = JobRequest()
_SILENT = {name: getattr(_SILENCE, name) for name in JobRequest.__struct_fields__}
_SILENT_TEMPLATE = templates.defaults()


def said(request: JobRequest) -> dict[str, Any]:
    """What a request says beyond its type and params."""
    return {
        name: value
        for name, silent in _SILENT.items()
        if name not in ("job_type", "params") and (value := getattr(request, name)) != silent
    }


class JobPatch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be changed while a job waits."""

    params: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    priority: int | str | msgspec.UnsetType = msgspec.UNSET
    position: int | msgspec.UnsetType = msgspec.UNSET
    scheduled_for: Moment | msgspec.UnsetType | None = msgspec.UNSET


def check_name(field: str, value: str | None) -> None:
    """Names and keys are short, printable and not blank at the ends."""
    if value is not None and not NAME.fullmatch(value):
        raise errors.InvalidRequest(
            field, "must be 1 to 200 printable characters, with no space at the ends"
        )


def check_reason(reason: str | None) -> None:
    """What a person says about a decision: a few sentences, which lists and events repeat."""
    plain_json.refuse_nonsense(reason, "reason")
    if reason is not None and (size := len(reason.encode())) > LARGEST_REASON:
        raise errors.InvalidRequest("reason", f"it has {size} bytes; the limit is {LARGEST_REASON}")


def check_commit(field: str, value: str) -> None:
    """A commit in full, or enough of its first digits."""
    if not COMMIT.fullmatch(value):
        raise errors.InvalidRequest(
            field, f"{value[:100]!r} is not a commit: give 7 to 64 hexadecimal digits"
        )


def check_number(field: str, value: int | None) -> None:
    """A whole number that every database takes."""
    if value is not None and abs(value) > LARGEST_NUMBER:
        raise errors.InvalidRequest(field, f"{value} is more than {LARGEST_NUMBER}")


def check_seconds(field: str, value: float | None, *, zero: bool = True) -> None:
    """A time span of a sensible size."""
    if value is None:
        return
    if value == 0 and not zero:
        raise errors.InvalidRequest(field, "must be more than 0")
    if not math.isfinite(value) or value < 0 or value > LONGEST_TIME_S:
        raise errors.InvalidRequest(field, f"{value} is not a time span from 0 s to ten years")


def check_moment(field: str, value: datetime | None) -> None:
    """A moment that can only be meant in one way."""
    if value is not None and value.tzinfo is None:
        raise errors.InvalidRequest(
            field, f"{value} needs a UTC offset, for example a Z at its end"
        )
    if value is not None and not 1 < value.year < 9999:  # as UTC it may be in another year
        raise errors.InvalidRequest(field, f"{value} is out of range")


def check_url(field: str, value: str | None) -> None:
    """Webhooks go to http and https."""
    if value is not None and not URL.fullmatch(value):
        # The URL is not repeated: it may hold a password.
        raise errors.InvalidRequest(field, "must be an http or https URL of up to 2000 characters")
    if value is not None and not _can_be_called(value):
        raise errors.InvalidRequest(field, "this URL has no valid host and port")
    address = webhooks.address_of(urlsplit(value).hostname or "") if value is not None else None
    if address is not None and (why := webhooks.refusal_of_address(address, public_only=False)):
        raise errors.InvalidRequest(field, f"this URL is never called: {why}")


def _can_be_called(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def check(request: JobRequest) -> None:
    """Refuse what no job can be."""
    if (request.job_type is None) == (request.template is None):
        raise errors.InvalidRequest("job_type", "give exactly one of job_type and template")
    for field in ("name", "job_type", "queue", "idempotency_key", "unique_key", "dedup_key"):
        check_name(field, getattr(request, field))
    if request.scheduled_for is not None and request.delay_s is not None:
        raise errors.InvalidRequest("delay_s", "give one of scheduled_for and delay_s, not both")
    check_moment("scheduled_for", request.scheduled_for)
    check_seconds("delay_s", request.delay_s)
    check_seconds("dedup_window_s", request.dedup_window_s)
    if (request.dedup_key is None) != (request.dedup_window_s is None):
        raise errors.InvalidRequest("dedup_window_s", "dedup_key and dedup_window_s go together")
    check_shared(request)
    check_lane(request.cost_units, request.limits, request.requires)
    check_retry_policy(request.retry_policy)
    for flag in request.constraints:
        if flag not in FLAGS:
            raise errors.InvalidRequest(
                "constraints", f"unknown flag {flag!r}; the flags are {', '.join(FLAGS)}"
            )
    for lock in request.locks or ():
        check_name("locks", lock if isinstance(lock, str) else lock.key)
    if request.pinned_head is not None:
        check_name("pinned_head", request.pinned_head.branch)
        check_commit("pinned_head", request.pinned_head.commit)


def check_count(wanted: Sequence[JobRequest]) -> None:
    """Refuse jobs that name more than one transaction should write."""
    named = sum(
        len(one.after) + len(one.needs) + len(one.produces) + len(one.locks or ()) + len(one.tags)
        for one in wanted
    )
    named += sum(len(one.params.taken) for one in wanted if isinstance(one.params, Checked))
    if named > MOST_NAMED:
        raise errors.InvalidRequest(
            "jobs",
            f"they name {named} other jobs, artifacts, locks and tags;"
            f" one request may name {MOST_NAMED}: split it",
        )


def check_shared(terms: SharedTerms) -> None:
    """Refuse terms of a job or a template that no job can have."""
    check_seconds("timeout_s", terms.timeout_s, zero=False)
    check_seconds("start_within_s", terms.start_within_s, zero=False)
    check_url("webhook_url", terms.webhook_url)
    for tag in terms.tags:
        check_name("tags", tag)


def check_lane(
    cost_units: int | None, limits: dict[str, int] | None, requires: tuple[str, ...] | None
) -> None:
    """Refuse what no lane can have."""
    if cost_units is not None and not 0 <= cost_units <= 1_000_000:
        raise errors.InvalidRequest("cost_units", f"{cost_units} is not between 0 and 1000000")
    for name, amount in (limits or {}).items():
        check_name("limits", name)
        if not 1 <= amount <= 1_000_000:
            raise errors.InvalidRequest("limits", f"{name}: {amount} is not between 1 and 1000000")
    for word in requires or ():
        check_name("requires", word)


def check_retry_policy(policy: RetryPolicy | None) -> None:
    """Refuse too many attempts, and delays that are no time spans."""
    if policy is None:
        return
    if not 0 <= policy.max_attempts <= 1000:
        raise errors.InvalidRequest(
            "retry_policy", f"max_attempts {policy.max_attempts} is not between 0 and 1000"
        )
    if not 1 <= policy.max_crashes <= 1000:
        raise errors.InvalidRequest(
            "retry_policy", f"max_crashes {policy.max_crashes} is not between 1 and 1000"
        )
    check_seconds("retry_policy.base_delay_s", policy.base_delay_s)
    check_seconds("retry_policy.max_delay_s", policy.max_delay_s)


def shared_terms(request: JobRequest, template: Template | None) -> dict[str, Any]:
    """The shared terms of a job: the request's, then the template's; the tags of both."""
    given = {name: getattr(request, name) for name in SharedTerms.__struct_fields__}
    if template is None:
        return given | {"tags": tuple(dict.fromkeys(request.tags))}
    for name, value in given.items():
        if value == _SILENT[name]:
            given[name] = getattr(template, name)
    return given | {"tags": tuple(dict.fromkeys((*template.tags, *request.tags)))}


def lane_of(request: JobRequest, template: Template | None) -> Lane:
    """The lane a job falls into: the request's words first, then the template's."""
    requires = (
        request.requires
        if request.requires is not None
        else (template.requires if template else ())
    )
    flags = {FLAGS[flag] for flag, wanted in request.constraints.items() if wanted}
    limits = request.limits if request.limits is not None else (template.limits if template else {})
    cost = (
        request.cost_units
        if request.cost_units is not None
        else (template.cost_units if template else None)
    )
    lane = Lane(
        queue=request.queue or (template.queue if template else None) or DEFAULT_QUEUE,
        job_type=template.job_type if template else str(request.job_type),
        cost_units=1 if cost is None else cost,
        requires=tuple(sorted({*requires, *flags})),
        limits=dict(sorted(limits.items())),
    )
    _check_size(lane)
    return lane


def _check_size(lane: Lane) -> None:
    if not lane.requires and not lane.limits:
        return
    words = (lane.queue, lane.job_type, *lane.requires, *lane.limits)
    size = sum(len(word.encode()) + 12 for word in words)
    if size > LONGEST_KEY:
        raise errors.InvalidRequest(
            "requires",
            f"queue, job_type, requires and limits are {size} bytes together,"
            f" more than {LONGEST_KEY}: use fewer or shorter words",
        )


def locks_of(
    locks: tuple[str | LockRequest, ...] | None, template: Template | None
) -> tuple[Lock, ...]:
    """Locks by key; where one key is asked for in both modes, exclusive wins."""
    if locks is None:
        return template.locks if template else ()
    modes: dict[str, Mode] = {}
    for lock in locks:
        key, mode = (lock, Mode.EXCLUSIVE) if isinstance(lock, str) else (lock.key, lock.mode)
        modes[key] = Mode.EXCLUSIVE if Mode.EXCLUSIVE in (mode, modes.get(key)) else mode
    return tuple(Lock(key=key, mode=mode) for key, mode in sorted(modes.items()))


def is_gated(request: JobRequest, template: Template | None) -> bool:
    """Whether the job has gates beyond time, other jobs and what closes a whole lane."""
    locks = locks_of(request.locks, template)
    return bool(request.needs or locks or request.pinned_head or request.approval)


def priority_of(request: JobRequest, template: Template | None) -> int:
    """The request's priority, then the template's, then 0."""
    if request.priority is not None:
        return priorities.read(request.priority)
    return template.priority if template else 0


def start_time(request: JobRequest, now: datetime) -> datetime | None:
    """When the job may start at the earliest, if it says so."""
    if request.delay_s is not None:
        return now + timedelta(seconds=request.delay_s)
    return request.scheduled_for


class DirectBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The params of a direct request and how long it may wait for a slot."""

    params: dict[str, Any] = msgspec.field(default_factory=dict)
    wait_timeout_s: float = WAIT_TIMEOUT_S
