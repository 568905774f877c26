"""New jobs into the store, with everything that a job begins with."""

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from headway.domain.gates import Closed
from headway.domain.jobs import Approval, Job, Lane, Policy, Terms
from headway.domain.states import QUEUED, JobStatus
from headway.storage import dependencies, job_views, names, needs
from headway.storage.dependencies import Dependency
from headway.storage.engine import codec
from headway.storage.engine.transaction import Transaction


class NewJob(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Everything that a job begins with. Times are in milliseconds."""

    number: int
    job_id: str
    lane_id: int
    payload_id: int
    params: str | None
    refers: bool = False
    """Whether its params take from the results of jobs."""
    priority: int
    position: int
    terms: Terms
    scheduled_for: int | None
    chain: int
    delayed: bool = False
    """Whether it waits for a span of time, and not for a moment that was named."""
    retry_of: int | None = None
    parent: int | None = None
    """The first job of the chain whose handler submitted it."""
    attempt: int = 0
    generation: int = 1
    journal: int = 0
    """Whether an earlier link of its chain has left a journal."""
    approved: bool = False
    template_id: str | None = None
    schedule_id: str | None = None
    fire_time: int | None = None
    group_id: str | None = None
    group_place: int | None = None
    unique_key: str | None = None
    idempotency_key: str | None = None
    request_hash: str | None = None
    dedup_key: str | None = None
    crashes: int = 0
    met: frozenset[tuple[int, Policy]] = frozenset()
    """Dependencies that the job it tries again had met: they stay met, whatever became of them."""

    @property
    def gated(self) -> bool:
        """Whether gates beyond time and other jobs must be looked at."""
        terms = self.terms
        return bool(terms.needs or terms.locks or terms.pinned_head or terms.approval)


class Begun(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A new job and its first status. Times are in milliseconds."""

    job: NewJob
    waits: Closed | None = None
    """The gate that it waits for."""
    due_at: int | None = None
    queued_at: int | None = None
    """Since when nothing of its own keeps it from starting."""
    start_by: int | None = None
    """When it ends unless it has started."""
    unmet: frozenset[tuple[int, Policy]] = frozenset()
    """The chains that it comes after and that have not met its policies."""

    @property
    def status(self) -> JobStatus:
        """Its first status."""
        return self.waits.status if self.waits else QUEUED

    @property
    def is_undecided(self) -> bool:
        """Whether its gates are still to be looked at."""
        return self.waits is None and self.queued_at is None


class Written:
    """New jobs as they were written. What was just written need not be read again."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = {row["number"]: row for row in rows}

    def view(self, job: NewJob, lane: Lane) -> Job:
        """One of them as it is shown."""
        return job_views.of_new(self._rows[job.number], lane, job.params or "{}")


def insert(tx: Transaction, begun: Sequence[Begun]) -> Written:
    """Write new jobs with their params, dependencies, artifacts, tags and names."""
    tx.many(
        "insert_payload",
        [
            {
                "payload_id": one.job.payload_id,
                "body": one.job.params,
                "refers": int(one.job.refers),
            }
            for one in begun
            if one.job.params is not None
        ],
    )
    rows = [_row(one, tx.now_ms) for one in begun]
    plain = [_plain(row) for row in rows if _special(row) == _NOTHING_SPECIAL]
    if plain:
        tx.put("insert_plain_jobs", jobs=codec.dump(plain))
    if len(plain) < len(rows):
        tx.many("insert_job", [row for row in rows if _special(row) != _NOTHING_SPECIAL])
    _insert_edges(tx, begun)
    return Written(rows)


def _row(begun: Begun, now_ms: int) -> dict[str, Any]:
    job, waits = begun.job, begun.waits
    row = msgspec.structs.asdict(job)
    del row["params"], row["refers"], row["approved"], row["met"]
    row.update(
        terms=codec.dump_terms(job.terms),
        status=begun.status.value,
        due_at=begun.due_at,
        delayed=int(job.delayed),
        open_deps=len(begun.unmet),
        gated=int(job.gated),
        approval=_approval(job),
        wait_kind=waits.kind if waits else None,
        wait_detail=waits.detail if waits else None,
        waited_on=codec.dump([waits.kind]) if waits else "[]",
        created_at=now_ms,
        queued_at=begun.queued_at,
        start_by=begun.start_by,
    )
    return row


def _approval(job: NewJob) -> str | None:
    """A retry of an approved job needs no second approval."""
    if not job.terms.approval:
        return None
    return (Approval.APPROVED if job.approved else Approval.PENDING).value


_plain = operator.itemgetter(
    *("number", "job_id", "lane_id", "payload_id", "priority", "position", "terms"),
    *("created_at", "queued_at"),
)
_special = operator.itemgetter(
    *("due_at", "scheduled_for", "retry_of", "template_id", "schedule_id", "group_id"),
    *("approval", "wait_kind", "unique_key", "idempotency_key", "dedup_key", "parent", "start_by"),
    *("open_deps", "gated", "attempt", "generation"),
)
_NOTHING_SPECIAL = (*[None] * 13, 0, 0, 0, 1)


def _insert_edges(tx: Transaction, begun: Sequence[Begun]) -> None:
    dependencies.insert(
        tx,
        [
            Dependency(
                new.job.number,
                one.number,
                one.policy,
                met=(one.number, one.policy) not in new.unmet,
            )
            for new in begun
            for one in new.job.terms.comes_after
        ],
    )
    jobs = [one.job for one in begun]
    needs.insert(tx, [(name, job.number) for job in jobs for name in job.terms.needs])
    needs.insert_products(tx, [(name, job.number) for job in jobs for name in job.terms.produces])
    tx.many(
        "insert_tag",
        [{"tag": tag, "job_number": job.number} for job in jobs for tag in job.terms.tags],
    )
    tx.many("insert_name", [row for job in jobs for row in names.named(job.number, job.terms)])
    tx.many("insert_word", [row for job in jobs for row in names.words(job.number, job.terms)])
