"""Lists of runs."""

from functools import partial
from typing import Any

from headway.domain.runs import Run, RunStatus
from headway.storage import runs
from headway.storage.engine import slices
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
    """Runs, newest first; the status None stands for runs that go on."""
    terms: list[str] = []
    params: dict[str, Any] = {"count": count + 1}
    if statuses:
        params |= {f"status_{place}": one for place, one in enumerate(statuses) if one}
        ended = [f"status = :{name}" for name in params if name.startswith("status_")]
        going_on = ["status IS NULL"] if None in statuses else []
        terms.append(f"({' OR '.join([*ended, *going_on])})")
    if number is not None:
        terms.append("job_number = :number")
        params["number"] = number
    if before is not None:
        terms.append("run_id < :before")
        params["before"] = before
    where = f" WHERE {' AND '.join(terms)}" if terms else ""
    size = "coalesce(length(artifacts), 0) AS size"
    sql = f"SELECT run_id, {size} FROM runs{where} ORDER BY run_id DESC LIMIT :count"
    found = [Sized(row["run_id"], row["size"]) for row in tx.select(sql, params)]
    return slices.read(found, count, partial(_views, tx))


def _views(tx: Transaction, run_ids: list[str]) -> list[Run]:
    return runs.views(tx, run_ids, slices.LARGEST_LISTED)
