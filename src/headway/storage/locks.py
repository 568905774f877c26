"""Locks as they are held and waited for."""

from collections.abc import Collection, Iterable

from headway.domain.answers import LockHolder
from headway.domain.gates.locks import Holder
from headway.domain.jobs import Mode
from headway.domain.values import moments
from headway.storage import records
from headway.storage.engine.transaction import Transaction
from headway.storage.records import Head


def take(tx: Transaction, jobs: Iterable[Head]) -> None:
    """Jobs that start hold their locks."""
    tx.many(
        "take_lock",
        [
            {"key": lock.key, "job_number": job.number, "mode": lock.mode.value, "since": tx.now_ms}
            for job in jobs
            for lock in job.terms.locks
        ],
    )


def free(tx: Transaction, numbers: Collection[int]) -> None:
    """Jobs that ended hold no lock any more."""
    if numbers:
        tx.put("free_locks", numbers=records.listed(numbers))


def holders(tx: Transaction, keys: Collection[str]) -> list[Holder]:
    """The jobs that hold some locks, by key."""
    return [
        Holder(
            key=row["key"],
            mode=Mode(row["mode"]),
            job=row["job_id"],
            since=moments.from_millis(row["since"]),
        )
        for row in tx.rows("holders", keys=records.listed(keys))
    ]


def waiting_counts(tx: Transaction) -> dict[str, int]:
    """How many jobs wait for each lock."""
    return {row["key"]: row["count"] for row in tx.rows("count_lock_waiters")}


def waited_for(tx: Transaction) -> set[str]:
    """Every lock that a job waits for or is about to take."""
    return {row["key"] for row in tx.rows("locks_with_lines")}


def place_waiters(tx: Transaction, priority: int) -> None:
    """Jobs of a priority that wait for locks have the positions of the queue again."""
    tx.do("place_lock_waiters", priority=priority)


def held(tx: Transaction) -> list[tuple[str, LockHolder]]:
    """Every lock that is held, with its holder, in the order in which they were taken."""
    return [
        (
            row["key"],
            LockHolder(
                job_id=row["job_id"],
                number=row["job_number"],
                mode=Mode(row["mode"]),
                since=moments.from_millis(row["since"]),
            ),
        )
        for row in tx.rows("all_locks")
    ]
