"""Claims as they are kept: jobs that a worker took and has not started."""

from collections.abc import Iterable
from typing import NamedTuple

from headway.domain.states import JobStatus
from headway.storage.engine import question
from headway.storage.engine.transaction import Transaction

CLAIMED = question.of_rows(lambda rows: [int(row["number"]) for row in rows], "claimed_jobs")
"""Every job that a worker has claimed and not started."""


def of_worker(tx: Transaction, worker_id: str) -> dict[int, str]:
    """The jobs that a worker has claimed and not started, by number, with their ids."""
    rows = tx.rows("claims_of_worker", worker_id=worker_id)
    return {row["number"]: row["job_id"] for row in rows}


def expired(tx: Transaction, count: int) -> list[int]:
    """Claims that no worker turned into a lease in time, the oldest first."""
    return [row["number"] for row in tx.rows("expired_claims", now=tx.now_ms, count=count)]


def give_back(tx: Transaction, numbers: Iterable[int]) -> None:
    """These claims led to nothing: the jobs are queued again."""
    tx.many("return_claim", [{"number": number} for number in numbers])


class Claim(NamedTuple):
    """A job that a worker keeps before it starts, and what it waits for. Times in milliseconds."""

    number: int
    status: JobStatus
    worker_id: str | None
    claim_expires_at: int
    limited_since: int | None
    wait_kind: str | None = None
    wait_detail: str | None = None
    denials: int = 0


def keep(tx: Transaction, claims: Iterable[Claim]) -> None:
    """Workers keep jobs that they have not started."""
    tx.many("claim_job", [one._asdict() for one in claims])


def renew_all(tx: Transaction, until: int) -> None:
    """The clock was set: claims last until then."""
    tx.do("renew_every_claim", until=until)
