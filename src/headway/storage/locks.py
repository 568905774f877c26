"""Locks as they are held and waited for."""

from headway.domain.answers import LockHolder
from headway.domain.jobs import Mode
from headway.domain.values import moments
from headway.storage.transaction import Transaction


def waiting_counts(tx: Transaction) -> dict[str, int]:
    """How many jobs wait for each lock."""
    return {row["key"]: row["count"] for row in tx.rows("count_lock_waiters")}


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
