"""Which jobs need and make which artifacts."""

from collections.abc import Iterable

import msgspec

from headway.storage import records
from headway.storage.engine.transaction import Transaction


class Maker(msgspec.Struct, frozen=True, kw_only=True):
    """A job that makes an artifact."""

    artifact: str
    number: int
    job_id: str
    chain: int


def consumers(tx: Transaction, artifacts: Iterable[str]) -> list[int]:
    """The jobs that need one of these artifacts."""
    rows = tx.rows("consumers", artifacts=records.listed(artifacts))
    return [row["job_number"] for row in rows]


def kinds_that_name_jobs(tx: Transaction, kinds: Iterable[str]) -> list[str]:
    """Those of these kinds, which name jobs, of which a job needs an artifact."""
    return [row["kind"] for row in tx.rows("needs_that_name_jobs", kinds=records.listed(kinds))]


def makers(tx: Transaction, artifacts: Iterable[str]) -> list[Maker]:
    """The jobs that make one of these artifacts, by number."""
    return [Maker(**row) for row in tx.rows("producers", artifacts=records.listed(artifacts))]
