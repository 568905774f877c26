"""The hash of a request, by which a key that comes again is known to ask for the same."""

import functools
import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from headway.domain.jobs import PinnedHead, RetryPolicy
from headway.domain.requests.job_requests import AfterRequest, JobRequest, LockRequest

_ALWAYS: Mapping[type, tuple[str, ...]] = {
    JobRequest: (
        *("job_type", "template", "queue", "params", "priority", "scheduled_for", "delay_s"),
        *("after", "locks", "needs", "produces", "pinned_head", "approval", "missing_producer"),
        *("cost_units", "requires", "constraints", "limits", "timeout_s", "retry_policy"),
        *("webhook_url", "tags", "idempotency_key", "unique_key", "dedup_key", "dedup_window_s"),
    ),
    AfterRequest: ("job", "policy"),
    LockRequest: ("key", "mode"),
    PinnedHead: ("branch", "commit"),
    RetryPolicy: ("max_attempts", "base_delay_s", "max_delay_s", "jitter"),
}
"""The fields that the hashes of existing stores cover. They never change: a field that is added
later is hashed only where it is set, so that a request without it keeps its hash."""

_NEVER = ("parent_id", "ref")
"""A retry of the parent, which is another job, asks for the same; a ref is only a name."""


def request_hash(request: JobRequest) -> str:
    """The hash of what a request asks for, whatever its key is."""
    asked = _said(request)
    asked["idempotency_key"] = None
    return hashlib.sha256(msgspec.json.encode(asked, order="sorted")).hexdigest()


def _said(value: msgspec.Struct) -> dict[str, Any]:
    """The fields that were always hashed, and those of the later ones that are set."""
    always, later = _hashed(type(value))
    said = {name: getattr(value, name) for name in always}
    for name, default in later.items():
        if (given := getattr(value, name)) != default:
            said[name] = given
    for name, given in said.items():
        if given and type(given) not in _FLAT:
            said[name] = _plain(given)
    return said


_FLAT = frozenset({str, int, bool, float, dict})
"""Types of fields that have no structs in them, which are most: looked at first, it is faster."""


def _plain(value: Any) -> Any:
    """A value with what its structs say in place of them."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return _said(value) if isinstance(value, msgspec.Struct) else value


@functools.cache
def _hashed(kind: type[msgspec.Struct]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The fields of a struct that are always hashed, and the later ones with their defaults."""
    always = next((_ALWAYS[one] for one in kind.__mro__ if one in _ALWAYS), ())
    later = {
        field.name: field.default
        if field.default_factory is msgspec.NODEFAULT
        else field.default_factory()
        for field in msgspec.structs.fields(kind)
        if field.name not in (*always, *_NEVER)
    }
    return always, later
