"""What has to write alone where several transactions may write at once, and why.

On SQLite each transaction is the only writer, and nothing here does anything. On PostgreSQL
submits, claims, finishes and heartbeats write beside each other. What keeps each of them right on
its plain path is a row lock, a unique index or the fence of a lease: docs/decisions/0006 has the
argument of each. Work that leaves its plain path calls a function of this file before it reads what
others might change. The store then undoes the work and does it again as the only writer.

Two more conditions are not of the scheduler: the first job of a new lane writes alone
(storage/lanes.py), and so does work that lost a race or a deadlock (storage/engine/writer.py).
"""

from collections.abc import Collection, Iterable, Sequence

from headway.domain.manage.templates import Template
from headway.domain.requests import after_requests, job_requests
from headway.domain.requests.job_requests import JobRequest
from headway.domain.steps import StepKind, Wait
from headway.domain.taken import Taken
from headway.storage.engine.transaction import Transaction
from headway.storage.lanes import LaneIds
from headway.storage.records import Head, JobRecord


def to_look_up_keys(tx: Transaction) -> None:
    """A key that another submit takes meanwhile is refused by its unique index.

    The store then does the work again, and it finds the key. In a transaction of the caller the
    work cannot be done again: it has to see every key from the start.
    """
    if not tx.repeats:
        tx.alone()


def to_submit(
    tx: Transaction,
    new: Iterable[tuple[JobRequest, Template | None, Sequence[Taken]]],
    lane_ids: LaneIds,
    *,
    finds_some: bool,
) -> None:
    """A job that waits for jobs from before could miss the end of one, and wait for ever.

    A gated job looks at locks, artifacts and branches, which belong to no row that could be locked.
    `finds_some` says that the batch found jobs by their keys: a ref may then name one of those.
    Lanes are looked up here because a new one is made alone. All of this comes before numbers are
    taken, which stay taken when the work begins again.
    """
    if not tx.beside:
        return
    for request, template, taken in new:
        lane_ids.find(job_requests.lane_of(request, template))
        waits = after_requests.names_earlier_jobs(request, taken)
        waits = waits or (finds_some and bool(request.after or taken))
        if waits or job_requests.is_gated(request, template):
            tx.alone()


def to_admit(tx: Transaction, waiting: Iterable[JobRecord]) -> None:
    """Gated jobs are queued for locks, and wait for artifacts that others make meanwhile."""
    if any(one.gated for one in waiting):
        tx.alone()


def to_claim(tx: Transaction, job: Head) -> None:
    """A gated job takes its locks with its start, and another claim may take the same ones."""
    if job.gated:
        tx.alone()


def to_skip(tx: Transaction, duplicates: Collection[object]) -> None:
    """A duplicate ends within the claim, with all that follows from its end."""
    if duplicates:
        tx.alone()


def to_refuse(tx: Transaction, unfilled: Collection[object]) -> None:
    """A job whose params cannot be filled in ends within the claim, with all that follows."""
    if unfilled:
        tx.alone()


def to_change_claimed_jobs(tx: Transaction) -> None:
    """A claimed job may get its lease at the same moment, and no lease is there yet as a fence."""
    tx.alone()


def to_suspend(tx: Transaction, waits: Iterable[Wait]) -> None:
    """A signal may come, or a child that a key finds may end, before it is known who waits for it.

    Only a sleep concerns no other work.
    """
    if any(one.kind is not StepKind.SLEEP for one in waits):
        tx.alone()


def to_wait_for_signals(tx: Transaction) -> None:
    """A signal is taken once, and the journal has one entry for each use of its name."""
    tx.alone()


def to_end(tx: Transaction, ended: Iterable[JobRecord]) -> None:
    """An end that frees locks, makes artifacts or decides a group concerns jobs it does not lock.

    A plain end concerns the job, whose lease is the fence, and its dependents, which are locked.
    """
    if tx.beside and any(_touches_others(one) for one in ended):
        tx.alone()


def _touches_others(record: JobRecord) -> bool:
    return bool(record.gated or record.group_id or record.says("produces"))
