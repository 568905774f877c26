"""How one job names another, for `after`."""

from collections.abc import Sequence
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from headway.client import words
from headway.client.handles import JobHandle
from headway.domain.jobs import Job, Policy
from headway.domain.requests.job_requests import AfterRequest


class Step:
    """A job of a pipeline, for `after`."""

    def __init__(self, ref: str) -> None:
        self.reference = f"ref:{ref}"


Reference: TypeAlias = JobHandle[Any] | Job | Step | str | int
"""A job: its handle, id or number; in a pipeline also a step."""


class AfterWords(TypedDict):
    """A job with its policy: `{"job": first, "policy": "finished"}`."""

    job: Reference
    policy: NotRequired[Policy | Literal["success", "finished", "failure"]]


After: TypeAlias = Reference | AfterRequest | AfterWords


def after(given: Sequence[After] | After) -> tuple[str | int | AfterRequest, ...]:
    """One job or several, as a request names them."""
    several = list(given) if isinstance(given, list | tuple | set) else [given]
    return tuple(_one(one) for one in several)


def _one(one: Any) -> str | int | AfterRequest:
    if isinstance(one, dict):
        return words.read("after", {**one, "job": _name(one["job"])}, AfterRequest)
    return _name(one)


def _name(one: Any) -> str | int:
    name: str | int = getattr(one, "reference", None) or getattr(one, "job_id", one)
    return name
