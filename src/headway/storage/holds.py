"""What one who writes keeps others from changing meanwhile; whoever writes alone need not."""

from collections.abc import Collection

from headway.storage import records
from headway.storage.transaction import Transaction


def ready_jobs(tx: Transaction, numbers: Collection[int]) -> set[int]:
    """Those of these jobs that may start and that nobody else takes; they are ours from here on."""
    return {row["number"] for row in tx.rows("hold_ready_jobs", numbers=records.listed(numbers))}


def jobs(tx: Transaction, numbers: Collection[int]) -> None:
    """Wait until nobody else changes these jobs."""
    if numbers and tx.beside:
        tx.put("hold_jobs", numbers=records.listed(numbers))


def limits(tx: Transaction, names: Collection[str]) -> None:
    """Wait until nobody else takes from these limits."""
    if names and tx.beside:
        tx.put("hold_limits", names=records.listed(names))
