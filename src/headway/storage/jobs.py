"""Jobs as they are kept: read, start, end. Nothing is decided here."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from headway.domain import errors
from headway.domain.gates import Blocker
from headway.domain.jobs import POSITION_GAP, RetryState
from headway.domain.states import JobStatus
from headway.storage import records
from headway.storage.engine import codec, question
from headway.storage.engine.question import Question
from headway.storage.engine.transaction import Transaction
from headway.storage.records import Head, JobRecord


class Allocation(msgspec.Struct, frozen=True):
    """The first number, position and payload id of those that were taken."""

    number: int
    position: int
    payload_id: int


def allocate(
    tx: Transaction, *, jobs: int = 0, positions: int = 0, payloads: int = 0
) -> Allocation:
    """Take numbers, places at the tail and payload ids, all at once."""
    rows = tx.rows("allocate", jobs=jobs, positions=positions * POSITION_GAP, payloads=payloads)
    last = {row["name"]: row["value"] for row in rows}
    return Allocation(
        last["job"] - jobs + 1,
        last["position"] - (positions - 1) * POSITION_GAP,
        last["payload"] - payloads + 1,
    )


def find_number(tx: Transaction, reference: str | int) -> int:
    """The number of a job that is named by its number or its id."""
    text = str(reference).strip()
    if text.isascii() and text.isdecimal():
        found = _existing(tx, [int(text)]) if len(text) < 19 else []
        if found:
            return found[0]
    elif rows := tx.rows("job_numbers_by_id", job_ids=records.listed([text.lower()])):
        return int(rows[0]["number"])
    raise errors.NotFound("job", reference)


def find_numbers(tx: Transaction, job_ids: Collection[str]) -> dict[str, int]:
    """The numbers of those of these jobs that exist."""
    rows = tx.rows("job_numbers_by_id", job_ids=records.listed(job_ids))
    return {row["job_id"]: row["number"] for row in rows}


def active_by_unique_key(keys: Collection[str]) -> Question[dict[str, int]]:
    """The active jobs that have these unique keys, by key."""
    if not keys:
        return question.known({})
    return question.of_rows(
        lambda rows: {row["unique_key"]: row["number"] for row in rows},
        "active_jobs_by_unique_key",
        keys=records.listed(keys),
    )


class Keyed(NamedTuple):
    """A job that was submitted with an idempotency key, and what was asked for."""

    number: int
    request_hash: str


def by_idempotency_key(keys: Collection[str]) -> Question[dict[str, Keyed]]:
    """The jobs that were submitted with these keys, by key."""
    if not keys:
        return question.known({})
    return question.of_rows(
        lambda rows: {
            row["idempotency_key"]: Keyed(row["number"], row["request_hash"]) for row in rows
        },
        "jobs_by_idempotency_key",
        keys=records.listed(keys),
    )


def _existing(tx: Transaction, numbers: Collection[int]) -> list[int]:
    return [row["number"] for row in tx.rows("job_records", numbers=records.listed(numbers))]


def read(tx: Transaction, numbers: Collection[int]) -> list[JobRecord]:
    """Some jobs, by number."""
    if not numbers:
        return []
    return tx.values(JobRecord, "job_records", numbers=records.listed(numbers))


def has_succeeded_since(tx: Transaction, job: Head, since: int) -> bool:
    """Whether another job with the same key succeeded at or after this moment."""
    return bool(tx.rows("succeeded_since", dedup_key=job.dedup_key, since=since, number=job.number))


def of_runs(run_ids: Collection[str]) -> Question[list[JobRecord]]:
    """The jobs that these runs are of."""
    return question.of_values(JobRecord, "jobs_of_runs", run_ids=records.listed(run_ids))


def read_one(tx: Transaction, reference: str | int) -> JobRecord:
    """One job by number or id."""
    return read(tx, [find_number(tx, reference)])[0]


def start(tx: Transaction, run_ids: Mapping[int, str], worker_id: str) -> None:
    """Jobs run from now on, each with this run, by number."""
    tx.put("start_jobs", run_ids=codec.dump(run_ids), worker_id=worker_id, started_at=tx.now_ms)


class End(NamedTuple):
    """How a job ended. Jobs that ended alike share a statement."""

    status: JobStatus
    exit_code: int | None
    retry_state: RetryState
    progress: str | None = None
    wait_kind: str | None = None
    wait_detail: str | None = None
    started_at: int | None = None
    run_id: str | None = None
    waited_on: tuple[str, ...] | None = None
    """Every kind of gate that was closed to the job, unless that is known."""
    blocked_by: tuple[Blocker, ...] = ()
    """What ended a job that never started, as it was then."""
    crashes: int = 0
    """How many runs of the chain crashed, with this one."""


def end(tx: Transaction, ends: Sequence[tuple[int, End]]) -> None:
    """Jobs that ended, by number, and the totals that count them."""
    alike = records.grouped(ends, "numbers", finished_at=tx.now_ms)
    tx.many("end_jobs", [_end_row(row) for row in alike])
    counts = Counter(one.status for _, one in ends)
    tx.many(
        "add_to_total",
        [{"status": status, "count": count} for status, count in sorted(counts.items())],
    )


def _end_row(row: dict[str, Any]) -> dict[str, Any]:
    waited_on, blocked_by = row["waited_on"], row["blocked_by"]
    row["waited_on"] = None if waited_on is None else codec.dump(waited_on)
    row["blocked_by"] = codec.dump(blocked_by) if blocked_by else None
    return row


def without_retry_decision(tx: Transaction, after: int, count: int) -> list[int]:
    """Failures for which no retry was decided, by number, after this one."""
    return [row["number"] for row in tx.rows("without_retry_decision", after=after, count=count)]


def set_retry_state(tx: Transaction, number: int, state: RetryState) -> None:
    """What was decided about trying a job again."""
    tx.do("set_retry_state", number=number, retry_state=state)


def totals(tx: Transaction) -> dict[JobStatus, int]:
    """How many jobs ever ended in which status."""
    return {JobStatus(row["status"]): row["count"] for row in tx.rows("totals")}
