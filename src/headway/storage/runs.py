"""Runs as they are kept."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec

from headway.domain import errors
from headway.domain.leases import LeaseState
from headway.domain.runs import Run, RunStatus
from headway.domain.values import moments
from headway.files import log_files
from headway.storage import records
from headway.storage.engine import codec
from headway.storage.engine.question import Row
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord


def views(tx: Transaction, run_ids: Sequence[str], largest: int | None = None) -> list[Run]:
    """Some runs as they are shown, in the order asked for; what is larger is left out."""
    found = tx.rows("run_views", run_ids=records.listed(run_ids), largest=largest)
    rows = {row["run_id"]: row for row in found}
    return [_view(rows[run_id]) for run_id in run_ids if run_id in rows]


def view(tx: Transaction, run_id: str) -> Run:
    """One run."""
    if found := views(tx, [run_id]):
        return found[0]
    raise errors.NotFound("run", run_id)


def ids_of_jobs(tx: Transaction, numbers: Collection[int]) -> list[str]:
    """The runs of these jobs, oldest first."""
    rows = tx.rows("runs_of_chain", numbers=records.listed(numbers))
    return [row["run_id"] for row in rows]


def output_home(tx: Transaction, run_id: str) -> str | None:
    """The data directory in which the output of a run is, if that is known."""
    row = tx.row("output_home", run_id=run_id)
    return row["output_at"] if row else None


def move_output(tx: Transaction, run_id: str, data_id: str) -> None:
    """From here on the output of a run goes to another data directory, all of it."""
    tx.do("move_output", run_id=run_id, data_id=data_id)


class RunOfJob(msgspec.Struct, frozen=True, kw_only=True):
    """Whose run it is, with which params, and how it ended."""

    job_number: int
    payload_id: int
    status: RunStatus | None


def of_job(tx: Transaction, run_id: str) -> RunOfJob | None:
    """A run with the job that it is of."""
    row = tx.row("run_views", run_ids=records.listed([run_id]), largest=0)
    return msgspec.convert(row, RunOfJob) if row else None


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """How a run was reported to end, to recognise the same report again."""

    run_id: str
    job_number: int
    worker_id: str | None
    lease_state: LeaseState | None
    status: RunStatus | None
    report_hash: str | None
    ttl_ms: int | None
    started_at: int


def reports(tx: Transaction, run_ids: Collection[str]) -> dict[str, RunReport]:
    """How some runs were reported to end, by run."""
    rows = tx.rows("run_reports", run_ids=records.listed(run_ids))
    return {row["run_id"]: msgspec.convert(row, RunReport) for row in rows}


def open_all(
    tx: Transaction, numbers: Iterable[int], *, ttl_ms: int, output_at: str | None
) -> None:
    """A run of each of these jobs, which have just been started, with its output there."""
    tx.put("open_runs", numbers=records.listed(numbers), ttl_ms=ttl_ms, output_at=output_at)


class Closing(NamedTuple):
    """How a run ended. Runs that ended alike share a statement."""

    run_status: RunStatus
    exit_code: int | None
    error: str | None
    result: str | None
    artifacts: str | None
    lease_state: LeaseState
    report_hash: str | None


def close(tx: Transaction, closings: Iterable[tuple[str | None, Closing]]) -> None:
    """Write down how runs ended, by their ids."""
    tx.many("close_runs", records.grouped(closings, "run_ids", finished_at=tx.now_ms))


def insert_failed(tx: Transaction, record: JobRecord, error: str) -> None:
    """A run of a job that the store has lost, recorded as failed."""
    tx.put(
        "insert_ended_run",
        run_id=record.run_id,
        number=record.number,
        attempt=record.attempt,
        generation=record.generation,
        run_status=RunStatus.FAILED,
        payload_id=record.payload_id,
        worker_id=record.worker_id,
        started_at=record.started_at,
        finished_at=tx.now_ms,
        error=error,
    )


def insert_skipped(tx: Transaction, skipped: Iterable[tuple[JobRecord, str]], error: str) -> None:
    """Runs that are recorded although nothing ran, by these ids."""
    tx.many(
        "insert_ended_run",
        [
            {
                "run_id": run_id,
                "number": record.number,
                "attempt": record.attempt,
                "generation": record.generation,
                "run_status": RunStatus.SKIPPED,
                "payload_id": record.payload_id,
                "worker_id": record.worker_id,
                "started_at": tx.now_ms,
                "finished_at": tx.now_ms,
                "error": error,
            }
            for record, run_id in skipped
        ],
    )


def _view(row: Row) -> Run:
    started, finished = row["started_at"], row["finished_at"]
    return Run(
        run_id=row["run_id"],
        job_id=row["job_id"],
        attempt=row["attempt"],
        generation=row["generation"],
        status=RunStatus(row["status"]) if row["status"] else None,
        params_snapshot=codec.load(row["params"] or "{}"),
        template_id=row["template_id"],
        worker_id=row["worker_id"],
        lease_id=row["run_id"] if row["lease_state"] else None,
        started_at=moments.from_millis(started),
        finished_at=moments.maybe_from_millis(finished),
        duration_ms=None if finished is None else max(0, finished - started),
        exit_code=row["exit_code"],
        error=row["error"],
        result=codec.load(row["result"]) if row["result"] is not None else None,
        artifacts=records.words(row["artifacts"] or "[]"),
        stdout_path=f"{log_files.folder(row['run_id'])}/stdout.log",
        stderr_path=f"{log_files.folder(row['run_id'])}/stderr.log",
        omitted=records.omitted(
            params_snapshot=row["params_size"], result=row["result_size"], error=row["error_size"]
        ),
    )
