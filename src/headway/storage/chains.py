"""Chains: a job and the retries that took its place."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

import msgspec

from headway.domain import retries, states
from headway.domain.states import JobStatus
from headway.storage import records
from headway.storage.engine import question
from headway.storage.engine.question import Question
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord


class Link(NamedTuple):
    """A job, and the first job of its chain."""

    number: int
    job_id: str
    chain: int


def of_jobs(numbers: Collection[int], job_ids: Collection[str]) -> Question[list[Link]]:
    """Jobs by their numbers or ids, with their chains."""
    if not numbers and not job_ids:
        return question.known([])
    return question.of_rows(
        lambda rows: [Link(**row) for row in rows],
        "chains_of_jobs",
        numbers=records.listed(numbers),
        job_ids=records.listed(job_ids),
    )


class ChainEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The link of a chain by which it is judged."""

    chain: int
    number: int
    job_id: str
    status: JobStatus
    detail: str | None


def ends(tx: Transaction, chains: Collection[int]) -> dict[int, ChainEnd]:
    """The last link of each of these chains."""
    return {link.chain: link for link in _links(tx, chains)}


def deciding_links(tx: Transaction, chains: Collection[int]) -> dict[int, ChainEnd]:
    """The link by which each of these chains is judged by the jobs after it."""
    found: dict[int, ChainEnd] = {}
    for link in _links(tx, chains):
        earlier = found.get(link.chain)
        if earlier is None or not retries.settles_its_chain(earlier.status):
            found[link.chain] = link
    return found


class ChainResult(NamedTuple):
    """What a chain came to, as JSON; nothing, if it was skipped or returned nothing."""

    is_skipped: bool
    result: str | None


def results(tx: Transaction, chains: Collection[int]) -> dict[int, ChainResult]:
    """What those of these chains came to that have succeeded, by the link that decides."""
    rows = tx.rows("chain_results", chains=records.listed(chains))
    return {
        row["chain"]: ChainResult(row["status"] == states.SKIPPED, row["result"])
        for row in reversed(rows)
    }


def numbers_with_history(tx: Transaction, chains: Collection[int]) -> dict[str, int]:
    """The numbers of all links of these chains by id, also of those that a rewind made history."""
    rows = tx.rows("chain_links_with_history", chains=records.listed(chains))
    return {row["job_id"]: row["number"] for row in rows}


def numbers_beside(tx: Transaction, link: JobRecord) -> list[int]:
    """The links of a job's chain; of one that is history, what rewinds took from its chain."""
    rows = tx.rows("chain_links_with_history", chains=records.listed([link.chain]))
    return [row["number"] for row in rows if row["history"] == link.history]


def links(tx: Transaction, chains: Collection[int]) -> list[JobRecord]:
    """All links of these chains."""
    return tx.values(JobRecord, "chain_members", chains=records.listed(chains))


def links_with_history(tx: Transaction, chains: Collection[int]) -> list[JobRecord]:
    """All links of these chains, also those that a rewind made history."""
    return tx.values(JobRecord, "chain_members_with_history", chains=records.listed(chains))


def producing_links(tx: Transaction, chains: Collection[int]) -> dict[int, ChainEnd]:
    """The link by which each of these chains is judged as a producer: an active one goes first."""
    last = ends(tx, chains)
    over = [chain for chain, link in last.items() if link.status in states.TERMINAL]
    return {**last, **deciding_links(tx, over)}


def _links(tx: Transaction, chains: Collection[int]) -> Iterator[ChainEnd]:
    """The links of these chains, the oldest of each first."""
    for row in tx.rows("chain_links", chains=records.listed(chains)) if chains else ():
        yield ChainEnd(
            chain=row["chain"],
            number=row["number"],
            job_id=row["job_id"],
            status=JobStatus(row["status"]),
            detail=row["wait_detail"],
        )
