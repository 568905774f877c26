"""Rows as values: what the scheduler decides from."""

from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from typing import Any, Protocol

import msgspec

from headway.domain.gates import Blocker
from headway.domain.jobs import Approval, Lane, RetryState, Terms
from headway.domain.states import QUEUED, JobStatus
from headway.storage.engine import codec
from headway.storage.engine.question import Row


class Head(msgspec.Struct, frozen=True, kw_only=True, array_like=True, dict=True):
    """The first columns of `jobs`: what a claim reads. Times are in milliseconds."""

    number: int
    job_id: str
    lane_id: int
    payload_id: int
    status: JobStatus
    priority: int
    position: int
    terms_json: str
    attempt: int
    generation: int
    gated: int
    dedup_key: str | None
    created_at: int
    queued_at: int | None
    limited_since: int | None
    waited_on_json: str
    lane_mark: int
    journal: int
    """Whether there is something in the journal of its chain and generation."""

    @property
    def terms(self) -> Terms:
        """What was asked for and never changes; most jobs ask for nothing."""
        return codec.NO_TERMS if self.terms_json == "{}" else self._own_terms

    def says(self, field: str) -> bool:
        """Whether the terms may have this field; a tag may look like it.

        To read them takes long where a job comes after many others.
        """
        return f'"{field}"' in self.terms_json

    @cached_property
    def _own_terms(self) -> Terms:
        return codec.load_terms(self.terms_json)

    @property
    def waited_on(self) -> tuple[str, ...]:
        """Every kind of gate that was closed for the job at some time."""
        return words(self.waited_on_json)

    @property
    def order(self) -> tuple[int, int, int]:
        """The sort key in the queue: smaller goes first."""
        return (-self.priority, self.position, self.number)


class JobRecord(Head, frozen=True, kw_only=True, array_like=True):
    """A row of `jobs`: its fields are its columns, in the order of `columns.COLUMNS`."""

    due_at: int | None
    scheduled_for: int | None
    chain: int
    """The number of its first job."""
    retry_of: int | None
    retry_state: RetryState
    template_id: str | None
    schedule_id: str | None
    fire_time: int | None
    group_id: str | None
    group_place: int | None
    open_deps: int
    approval: Approval | None
    wait_kind: str | None
    wait_detail: str | None
    cancel: str | None
    worker_id: str | None
    claim_expires_at: int | None
    denials: int
    run_id: str | None
    progress: str | None
    unique_key: str | None
    idempotency_key: str | None
    request_hash: str | None
    started_at: int | None
    finished_at: int | None
    exit_code: int | None
    phase: int
    blocked_by_json: str | None
    delayed: int
    history: int
    """Whether a rewind took the job from its chain."""
    parent: int | None
    """The first job of the chain whose handler submitted it."""
    crashes: int
    """How often the chain put itself off before this job."""
    start_by: int | None

    @property
    def expires_at(self) -> int | None:
        """When it ends unless it has started; a program that goes on has started before."""
        return self.start_by if self.started_at is None else None

    @property
    def is_ready(self) -> bool:
        """Whether the job waits for its turn: its own gates are open, and no worker has it."""
        return (
            self.status is QUEUED
            and self.wait_kind is None
            and self.due_at is None
            and self.queued_at is not None
        )

    @property
    def blocked_by(self) -> tuple[Blocker, ...]:
        """What ended the job before it could start, as it was then."""
        if self.blocked_by_json is None:
            return ()
        return msgspec.json.decode(self.blocked_by_json, type=tuple[Blocker, ...])


def lane(row: Row) -> Lane:
    """A row of `lanes` as a value."""
    return _lane(row["queue"], row["job_type"], row["cost_units"], row["requires"], row["limits"])


@lru_cache(maxsize=10_000)
def _lane(queue: str, job_type: str, cost_units: int, requires: str, limits: str) -> Lane:
    """A lane never changes, and each claim reads all that have jobs."""
    return Lane(
        queue=queue,
        job_type=job_type,
        cost_units=cost_units,
        requires=words(requires),
        limits={} if limits == "{}" else codec.load(limits),
    )


def omitted(**sizes: int | None) -> dict[str, int] | msgspec.UnsetType:
    """The fields that were too large to be listed, with their sizes, if there are any."""
    return {name: size for name, size in sizes.items() if size is not None} or msgspec.UNSET


def words(text: str) -> tuple[str, ...]:
    """A stored list of words."""
    return () if text == "[]" else tuple(codec.load(text))


class _Alike(Protocol):
    """A named tuple: equal ones are found by their hash."""

    def _asdict(self) -> dict[str, Any]: ...


def grouped(rows: Iterable[tuple[Any, _Alike]], keys: str, **same: Any) -> Iterator[dict[str, Any]]:
    """Rows that are alike but for their key, as one row with the list of keys under this name."""
    found: dict[_Alike, list[Any]] = {}
    for key, row in rows:
        found.setdefault(row, []).append(key)
    return ({**row._asdict(), **same, keys: listed(alike)} for row, alike in found.items())


def listed(values: Iterable[Any]) -> str:
    """A list as the parameter of a query."""
    return codec.dump(list(values))
