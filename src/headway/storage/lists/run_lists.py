"""Lists of runs."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from headway.domain.runs import Run, RunStatus
from headway.storage import runs
from headway.storage.engine import slices
from headway.storage.engine.question import Row
from headway.storage.engine.slices import Sized, Slice
from headway.storage.engine.transaction import Transaction


def page(
    tx: Transaction,
    *,
    statuses: tuple[RunStatus | None, ...] = (),
    number: int | None,
    before: str | None,
    count: int,
) -> Slice[Run]:
    """Runs, newest first; the status None means runs that go on."""
    terms, params = _conditions(number, before)
    parts = [[_STATUS[one], *terms] for one in statuses] or [terms]
    rows = [row for part in parts for row in _newest(tx, part, {**params, "count": count + 1})]
    rows.sort(key=lambda row: row["run_id"], reverse=True)
    found = [Sized(row["run_id"], row["size"]) for row in rows[: count + 1]]
    return slices.read(found, count, partial(_views, tx))


_STATUS = {
    RunStatus.COMPLETED: "status = 'COMPLETED'",
    RunStatus.FAILED: "status = 'FAILED'",
    RunStatus.SKIPPED: "status = 'SKIPPED'",
    RunStatus.SUSPENDED: "status = 'SUSPENDED'",
    None: "status IS NULL AND run_id IN (SELECT lease_id FROM leases)",
}
"""Each as the index that holds such runs says it, so that a long history is not read."""


def _conditions(number: int | None, before: str | None) -> tuple[list[str], dict[str, Any]]:
    terms: list[str] = []
    params: dict[str, Any] = {}
    if number is not None:
        terms.append("job_number = :number")
        params["number"] = number
    if before is not None:
        terms.append("run_id < :before")
        params["before"] = before
    return terms, params


def _newest(tx: Transaction, terms: list[str], params: dict[str, Any]) -> Sequence[Row]:
    where = f" WHERE {' AND '.join(terms)}" if terms else ""
    size = "coalesce(length(artifacts), 0) AS size"
    sql = f"SELECT run_id, {size} FROM runs{where} ORDER BY run_id DESC LIMIT :count"
    return tx.select(sql, params)


def _views(tx: Transaction, run_ids: list[str]) -> list[Run]:
    return runs.views(tx, run_ids, slices.LARGEST_LISTED)
