"""Files and branches that jobs wait for, which cannot notify and must be probed."""

from collections.abc import Collection, Iterable

from headway.storage import records
from headway.storage.engine.transaction import Transaction


def insert(tx: Transaction, pairs: Iterable[tuple[str, int]]) -> None:
    """Jobs wait on these: pairs of what is probed and the number of a job."""
    tx.many("insert_watch", [{"what": what, "job_number": number} for what, number in pairs])


def remove(tx: Transaction, numbers: Collection[int]) -> None:
    """Nothing is probed for these jobs any more."""
    if numbers:
        tx.put("remove_watches", numbers=records.listed(numbers))


def is_anything_watched(tx: Transaction) -> bool:
    """Whether a job waits on something that must be looked at."""
    return bool(tx.rows("anything_watched"))


def watched(tx: Transaction) -> list[str]:
    """Everything that jobs wait on and that must be looked at."""
    return [row["what"] for row in tx.rows("watched")]


def watchers(tx: Transaction, whats: Collection[str], count: int) -> set[int]:
    """Some of the jobs that wait on these."""
    rows = tx.rows("watchers", whats=records.listed(whats), count=count)
    return {row["job_number"] for row in rows}
