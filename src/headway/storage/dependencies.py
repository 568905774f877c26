"""Which jobs come after which chains."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

import msgspec

from headway.domain.jobs import Policy
from headway.storage import records
from headway.storage.engine import question
from headway.storage.engine.question import Question
from headway.storage.engine.transaction import Transaction


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A job that waits for others; a gated one waits for more than jobs."""

    number: int
    gated: int


class Dependency(NamedTuple):
    """A job that comes after a chain, and whether the end of that chain has met its policy."""

    number: int
    chain: int
    policy: Policy
    met: bool


def insert(tx: Transaction, new: Iterable[Dependency]) -> None:
    """Jobs come after chains."""
    tx.many(
        "insert_dependency",
        [
            {
                "job_number": one.number,
                "chain": one.chain,
                "policy": one.policy.value,
                "met": int(one.met),
            }
            for one in new
        ],
    )


def of(tx: Transaction, numbers: Iterable[int]) -> list[Dependency]:
    """What these jobs come after, by number and chain."""
    rows = tx.rows("dependencies_of", numbers=records.listed(numbers))
    return [
        Dependency(row["job_number"], row["chain"], Policy(row["policy"]), met=bool(row["met"]))
        for row in rows
    ]


class Dependent(NamedTuple):
    """A job that comes after a chain."""

    number: int
    chain: int
    policy: Policy


def all_dependents(tx: Transaction, chains: Iterable[int]) -> list[Dependent]:
    """The jobs that come after these chains, whether they still wait or not."""
    rows = tx.rows("all_dependents", chains=records.listed(chains))
    return [Dependent(row["job_number"], row["chain"], Policy(row["policy"])) for row in rows]


def awaited(chains: Iterable[int]) -> Question[frozenset[int]]:
    """Those of these chains for whose end a job waits."""
    return question.of_rows(
        lambda rows: frozenset(row["chain"] for row in rows),
        "awaited_chains",
        chains=records.listed(chains),
    )


def meet(tx: Transaction, chains: Collection[int], policies: Iterable[Policy]) -> set[int]:
    """These chains have ended, which meets these policies, and breaks others.

    Return the jobs that wait for none any more, and those that wait for what cannot be met.
    """
    listed, met = records.listed(chains), records.listed(policies)
    lowered = tx.rows("lower_open_deps", chains=listed, policies=met)
    tx.put("meet_dependencies", chains=listed, policies=met)
    broken = tx.rows("dependents", chains=listed)
    freed = (row["number"] for row in lowered if row["open_deps"] == 0)
    return {*freed, *(row["job_number"] for row in broken)}


def newest_dependents(tx: Transaction, chains: Iterable[int], count: int) -> list[int]:
    """Some of the jobs that come after these chains, whether they still wait or not."""
    rows = tx.rows("newest_dependents", chains=records.listed(chains), count=count)
    return [row["job_number"] for row in rows]


def waiting(tx: Transaction, numbers: Iterable[int], count: int) -> list[Waiting]:
    """Those of these jobs that wait for others, and all before them that do."""
    rows = tx.rows("waits_on", numbers=records.listed(numbers), count=count)
    return [Waiting(**row) for row in rows]


def open_counts(tx: Transaction, numbers: Iterable[int]) -> dict[int, int]:
    """How many dependencies of each of these jobs are not met."""
    found = dict.fromkeys(numbers, 0)
    for one in of(tx, found):
        found[one.number] += not one.met
    return found


def reopen(tx: Transaction, numbers: Iterable[int], groups: Iterable[int]) -> dict[int, list[int]]:
    """These chains and groups start afresh; returns what each of these jobs waits for then."""
    found: dict[int, list[int]] = {number: [] for number in numbers}
    chains = records.listed([*found, *groups])
    tx.do("reopen_dependencies", chains=chains, numbers=records.listed(found))
    for one in of(tx, found):
        if not one.met:
            found[one.number].append(one.chain)
    return found


def reopen_one(tx: Transaction, number: int, chain: int) -> None:
    """This job waits for a chain again that goes on."""
    tx.do("reopen_dependencies", chains=records.listed([chain]), numbers=records.listed([number]))


def downstream(tx: Transaction, chain: int, kinds: Iterable[str]) -> list[int]:
    """A chain and all that come after it or need what it makes, also under names of these kinds."""
    rows = tx.rows("downstream_chains", chain=chain, kinds=records.listed(kinds))
    return [row["chain"] for row in rows]


def follow(tx: Transaction, number: int, chain: int, *, met: bool) -> None:
    """A member of a group comes after another one."""
    insert(tx, [Dependency(number, chain, Policy.FINISHED, met=met)])


def unfollow(tx: Transaction, number: int, chain: int) -> None:
    """A member of a group no longer comes after another one."""
    tx.do("remove_member_dependency", job_number=number, chain=chain)
