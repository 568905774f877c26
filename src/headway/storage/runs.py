"""Runs as they are kept."""

from collections.abc import Sequence

from headway.domain import errors
from headway.domain.runs import Run, RunStatus
from headway.domain.values import moments
from headway.storage import codec, log_files, records
from headway.storage.transaction import Row, Transaction


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
