"""New jobs into the store: the one place where a job begins, submitted or retried."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from headway.domain import events, states
from headway.domain.gates import Closed, after, time
from headway.domain.gates.after import Predecessor
from headway.domain.jobs import After, Approval, Policy, Terms
from headway.domain.states import JobStatus
from headway.domain.values import moments
from headway.storage import jobs, records
from headway.storage.engine import codec
from headway.storage.engine.transaction import READY, Transaction


class NewJob(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Everything that a job begins with. Times are in milliseconds."""

    number: int
    job_id: str
    lane_id: int
    payload_id: int
    params: str | None
    priority: int
    position: int
    terms: Terms
    scheduled_for: int | None
    chain: int
    delayed: bool = False
    """Whether it waits for a span of time, and not for a moment that was named."""
    retry_of: int | None = None
    attempt: int = 0
    generation: int = 1
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
    met: frozenset[tuple[int, Policy]] = frozenset()
    """Dependencies that the job it tries again had met: they stay met, whatever became of them."""

    @property
    def gated(self) -> bool:
        """Whether gates beyond time and other jobs must be looked at."""
        terms = self.terms
        return bool(terms.needs or terms.locks or terms.pinned_head or terms.approval)


class Inserted(msgspec.Struct, frozen=True):
    """The jobs whose gates must still be looked at, and the rows of all."""

    to_admit: list[int]
    rows: list[dict[str, Any]]


def insert(tx: Transaction, new_jobs: Sequence[NewJob]) -> Inserted:
    """Write the jobs."""
    statuses = _statuses(tx, new_jobs)
    rows, to_admit = [], []
    for job in new_jobs:
        closed, open_deps = _first_gates(tx, job, statuses)
        rows.append(_row(tx, job, closed, open_deps))
        if rows[-1]["due_at"] is not None:
            tx.due_at(rows[-1]["due_at"])
        if (closed is None and job.gated) or (closed is not None and closed.forever):
            to_admit.append(job.number)
    tx.note_all(events.SUBMITTED, {row["number"]: {"status": row["status"]} for row in rows})
    payloads = [
        {"payload_id": job.payload_id, "body": job.params}
        for job in new_jobs
        if job.params is not None
    ]
    jobs.insert(tx, rows, payloads)
    _insert_edges(tx, new_jobs, statuses)
    tx.wake(READY)
    return Inserted([*to_admit, *_waiting_consumers(tx, new_jobs)], rows)


def _waiting_consumers(tx: Transaction, new_jobs: Sequence[NewJob]) -> set[int]:
    """Jobs from before that need what these will make: from now on they wait for these."""
    names = {name for job in new_jobs for name in job.terms.produces}
    if not names:
        return set()
    rows = tx.rows("waiting_consumers", artifacts=records.listed(names))
    return {row["job_number"] for row in rows} - {job.number for job in new_jobs}


def _statuses(tx: Transaction, new_jobs: Sequence[NewJob]) -> dict[int, JobStatus]:
    """Where the chains stand that these jobs come after; this batch's have just begun."""
    chains = {one.number for job in new_jobs for one in job.terms.after}
    own = {job.number for job in new_jobs} & chains
    links = jobs.deciding_links(tx, chains - own)
    return {
        **{chain: link.status for chain, link in links.items()},
        **dict.fromkeys(own, states.QUEUED),
    }


def _first_gates(
    tx: Transaction, job: NewJob, statuses: Mapping[int, JobStatus]
) -> tuple[Closed | None, int]:
    """The gates of time and of other jobs, and how many of those are not met."""
    if job.scheduled_for is None and not job.terms.after:
        return None, 0
    late = time.check(moments.maybe_from_millis(job.scheduled_for), tx.now)
    waits = [one for one in job.terms.after if not _is_met(job, one, statuses)]
    if late or not waits:
        return late, len(waits)
    predecessors = [
        Predecessor(job=one.job, policy=one.policy, status=statuses.get(one.number))
        for one in waits
    ]
    return after.check(predecessors), len(waits)


def _is_met(job: NewJob, one: After, statuses: Mapping[int, JobStatus]) -> bool:
    if (one.number, one.policy) in job.met:
        return True
    status = statuses.get(one.number)
    return status in states.TERMINAL and after.satisfies(status, one.policy)


def _row(tx: Transaction, job: NewJob, closed: Closed | None, open_deps: int) -> dict[str, Any]:
    waiting = closed is not None and not closed.forever
    status = closed.status if closed is not None and waiting else states.QUEUED
    late = closed is not None and closed.status is states.QUEUED
    row = msgspec.structs.asdict(job)
    del row["params"], row["approved"], row["met"]
    row.update(
        terms=codec.dump_terms(job.terms),
        status=status.value,
        due_at=job.scheduled_for if late else None,
        delayed=int(job.delayed),
        open_deps=open_deps,
        gated=int(job.gated),
        approval=_approval(job),
        wait_kind=closed.kind if closed is not None and waiting else None,
        wait_detail=closed.detail if closed is not None and waiting else None,
        waited_on=codec.dump([closed.kind]) if closed is not None and waiting else "[]",
        created_at=tx.now_ms,
        queued_at=None if closed or job.gated else tx.now_ms,
    )
    return row


def _approval(job: NewJob) -> str | None:
    """A retry of an approved job needs no second word."""
    if not job.terms.approval:
        return None
    return (Approval.APPROVED if job.approved else Approval.PENDING).value


def _insert_edges(
    tx: Transaction, new_jobs: Sequence[NewJob], statuses: Mapping[int, JobStatus]
) -> None:
    tx.many(
        "insert_dependency",
        [
            {
                "job_number": job.number,
                "chain": one.number,
                "policy": one.policy.value,
                "met": int(_is_met(job, one, statuses)),
            }
            for job in new_jobs
            for one in job.terms.after
        ],
    )
    tx.many("insert_need", _edges(new_jobs, "needs"))
    tx.many("insert_product", _edges(new_jobs, "produces"))
    tx.many(
        "insert_tag",
        [{"tag": tag, "job_number": job.number} for job in new_jobs for tag in job.terms.tags],
    )


def _edges(new_jobs: Sequence[NewJob], side: str) -> list[dict[str, Any]]:
    return [
        {"artifact": artifact, "job_number": job.number}
        for job in new_jobs
        for artifact in getattr(job.terms, side)
    ]
