"""How one job names another, for `after`, and its result, for params."""

from collections.abc import Sequence
from typing import Any, Generic, Literal, NotRequired, TypeAlias, TypedDict, TypeVar, cast

from headway.client import words
from headway.client.handles import JobHandle
from headway.domain import taken
from headway.domain.jobs import Job, Policy
from headway.domain.manage.groups import Group
from headway.domain.requests.job_requests import AfterRequest

Result = TypeVar("Result")


class Step(Generic[Result]):
    """A job of a pipeline, for `after` of another one; its `value` is for their params."""

    def __init__(self, ref: str, kind: Any = Any) -> None:
        self.reference = f"ref:{ref}"
        self._kind = kind

    @property
    def value(self) -> Result:
        """Its result, for the params of another job, which then comes after this one.

        Until the job starts it only stands for the result, or with `.name` and `[0]` for a part.
        """
        return cast(Result, taken.Value(self.reference, kind=self._kind))


class Steps(tuple[Step[Result], ...]):
    """Jobs of a pipeline that do the same with different params."""

    __slots__ = ()

    @property
    def values(self) -> list[Result]:
        """Their results in their order, for a param of another job, which then comes after all."""
        return [step.value for step in self]


Reference: TypeAlias = JobHandle[Any] | Job | Step[Any] | str | int
"""A job: its handle, id or number; in a pipeline also a step."""


class AfterWords(TypedDict):
    """A job or a group with its policy: `{"job": first, "policy": "finished"}`."""

    job: NotRequired[Reference]
    group: NotRequired[str]
    """By name or id."""
    policy: NotRequired[Policy | Literal["success", "finished", "failure"]]


After: TypeAlias = Reference | Group | AfterRequest | AfterWords


def after(given: Sequence[After] | After) -> tuple[str | int | AfterRequest, ...]:
    """One job or several, as a request names them."""
    several = list(given) if isinstance(given, list | tuple | set) else [given]
    return tuple(_one(one) for one in several)


def _one(one: Any) -> str | int | AfterRequest:
    if isinstance(one, Group):
        return AfterRequest(group=one.group_id)
    if isinstance(one, dict):
        named = {"job": _name(one["job"])} if "job" in one else {}
        return words.read("after", {**one, **named}, AfterRequest)
    return _name(one)


def _name(one: Any) -> str | int:
    name: str | int = getattr(one, "reference", None) or getattr(one, "job_id", one)
    return name
