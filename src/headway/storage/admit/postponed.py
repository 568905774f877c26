"""Jobs whose gates are still to be looked at, as they are kept."""

from collections.abc import Collection

from headway.storage import records
from headway.storage.engine.transaction import Transaction


def insert(tx: Transaction, numbers: Collection[int]) -> None:
    """These jobs are looked at in a later transaction."""
    tx.put("put_off_jobs", numbers=records.listed(sorted(numbers)))


def take(tx: Transaction, count: int) -> list[int]:
    """So many of the jobs that were put off, which are no longer."""
    return [row["job_number"] for row in tx.rows("take_up_jobs", count=count)]


def among(tx: Transaction, numbers: Collection[int]) -> set[int]:
    """Those of these jobs that were put off."""
    rows = tx.rows("put_off_among", numbers=records.listed(numbers)) if numbers else ()
    return {row["job_number"] for row in rows}
