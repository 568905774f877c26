"""Which jobs need and make which artifacts."""

from collections.abc import Collection, Iterable

import msgspec

from headway.domain.artifacts import NAMING_JOBS
from headway.storage import records
from headway.storage.engine import question
from headway.storage.engine.transaction import Transaction


class Maker(msgspec.Struct, frozen=True, kw_only=True):
    """A job that makes an artifact."""

    artifact: str
    number: int
    job_id: str
    chain: int
    history: int


def insert(tx: Transaction, pairs: Iterable[tuple[str, int]]) -> None:
    """Jobs need artifacts: pairs of an artifact and the number of a job."""
    tx.many("insert_need", [{"artifact": name, "job_number": number} for name, number in pairs])


def insert_products(tx: Transaction, pairs: Iterable[tuple[str, int]]) -> None:
    """Jobs make artifacts: pairs of an artifact and the number of a job."""
    tx.many("insert_product", [{"artifact": name, "job_number": number} for name, number in pairs])


def waiting_consumers(tx: Transaction, artifacts: Collection[str]) -> set[int]:
    """The jobs that wait and need one of these artifacts."""
    if not artifacts:
        return set()
    rows = tx.rows("waiting_consumers", artifacts=records.listed(artifacts))
    return {row["job_number"] for row in rows}


def consumers(tx: Transaction, artifacts: Iterable[str]) -> list[int]:
    """The jobs that need one of these artifacts."""
    rows = tx.rows("consumers", artifacts=records.listed(artifacts))
    return [row["job_number"] for row in rows]


KINDS_THAT_NAME_JOBS = question.of_rows(
    lambda rows: [str(row["kind"]) for row in rows],
    "needs_that_name_jobs",
    kinds=records.listed(NAMING_JOBS),
)
"""The kinds of artifacts which name jobs and of which a job needs one."""


def makers(tx: Transaction, artifacts: Iterable[str]) -> list[Maker]:
    """The jobs that make one of these artifacts, by number."""
    return [Maker(**row) for row in tx.rows("producers", artifacts=records.listed(artifacts))]
