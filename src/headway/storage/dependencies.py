"""Which jobs come after which chains."""

from collections.abc import Iterable

import msgspec

from headway.domain.jobs import Policy
from headway.storage import records
from headway.storage.engine.transaction import Transaction


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A job that waits for others; a gated one waits for more than jobs."""

    number: int
    gated: int


def all_dependents(tx: Transaction, chains: Iterable[int]) -> list[int]:
    """The jobs that come after these chains, whether they still wait or not."""
    return [row["job_number"] for row in tx.rows("all_dependents", chains=records.listed(chains))]


def waiting(tx: Transaction, numbers: Iterable[int], count: int) -> list[Waiting]:
    """Those of these jobs that wait for others, and all before them that do."""
    rows = tx.rows("waits_on", numbers=records.listed(numbers), count=count)
    return [Waiting(**row) for row in rows]


def open_counts(tx: Transaction, numbers: Iterable[int]) -> dict[int, int]:
    """How many dependencies of each of these jobs are not met."""
    found = dict.fromkeys(numbers, 0)
    for row in tx.rows("dependencies_of", numbers=records.listed(found)):
        found[row["job_number"]] += not row["met"]
    return found


def reopen(tx: Transaction, numbers: Iterable[int]) -> dict[int, list[int]]:
    """These chains start afresh; returns the chains that each of these jobs waits for then."""
    found: dict[int, list[int]] = {number: [] for number in numbers}
    listed = records.listed(found)
    tx.do("reopen_dependencies", chains=listed, numbers=listed)
    for row in tx.rows("dependencies_of", numbers=listed):
        if not row["met"]:
            found[row["job_number"]].append(row["chain"])
    return found


def downstream(tx: Transaction, chain: int, kinds: Iterable[str]) -> list[int]:
    """A chain and all that come after it or need what it makes, also under names of these kinds."""
    rows = tx.rows("downstream_chains", chain=chain, kinds=records.listed(kinds))
    return [row["chain"] for row in rows]


def follow(tx: Transaction, number: int, chain: int, *, met: bool) -> None:
    """A member of a group comes after another one."""
    edge = {"chain": chain, "policy": Policy.FINISHED, "met": int(met)}
    tx.do("insert_dependency", job_number=number, **edge)


def unfollow(tx: Transaction, number: int, chain: int) -> None:
    """A member of a group no longer comes after another one."""
    tx.do("remove_member_dependency", job_number=number, chain=chain)
