"""Row locks against concurrent writers; a transaction that writes alone needs none."""

from collections.abc import Collection

from headway.storage import records
from headway.storage.engine.transaction import Transaction


def ready_jobs(tx: Transaction, numbers: Collection[int]) -> set[int]:
    """Lock those of these jobs that no other claim has locked; return them."""
    return {row["number"] for row in tx.rows("hold_ready_jobs", numbers=records.listed(numbers))}


def jobs(tx: Transaction, numbers: Collection[int]) -> None:
    """Lock the rows of these jobs."""
    if numbers and tx.beside:
        tx.put("hold_jobs", numbers=records.listed(numbers))


def limits(tx: Transaction, names: Collection[str]) -> None:
    """Lock the rows of these limits."""
    if names and tx.beside:
        tx.put("hold_limits", names=records.listed(names))
