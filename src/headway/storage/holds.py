"""Row locks against concurrent writers; a transaction that writes alone needs none."""

from collections.abc import Collection, Iterable

from headway.domain.manage.limits import families_of
from headway.storage import records
from headway.storage.engine.transaction import Transaction


def are_needed(tx: Transaction) -> bool:
    """Whether others may write at the same time."""
    return tx.beside


def ready_jobs(tx: Transaction, numbers: Collection[int]) -> set[int]:
    """Lock those of these jobs that no other claim has locked; return them."""
    return {row["number"] for row in tx.rows("hold_ready_jobs", numbers=records.listed(numbers))}


def jobs(tx: Transaction, numbers: Collection[int]) -> None:
    """Lock the rows of these jobs."""
    if numbers and tx.beside:
        tx.put("hold_jobs", numbers=records.listed(numbers))


def dependents(tx: Transaction, chains: Collection[int]) -> None:
    """Lock the rows of the jobs that wait for the end of these chains."""
    if tx.beside:
        rows = tx.rows("dependents", chains=records.listed(chains))
        jobs(tx, [row["job_number"] for row in rows])


def limits(tx: Transaction, names: Iterable[str]) -> None:
    """Lock the rows of these limits and of their families."""
    if tx.beside and (wanted := {one for name in names for one in (name, *families_of(name))}):
        tx.put("hold_limits", names=records.listed(wanted))
