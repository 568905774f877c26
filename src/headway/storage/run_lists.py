"""Lists of runs."""

from typing import Any

from headway.domain.runs import Run, RunStatus
from headway.storage import runs
from headway.storage.transaction import Transaction


def page(
    tx: Transaction,
    *,
    statuses: tuple[RunStatus | None, ...],
    number: int | None,
    before: str | None,
    count: int,
) -> list[Run]:
    """Runs, newest first; the status None stands for runs that go on."""
    terms: list[str] = []
    params: dict[str, Any] = {"count": count}
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
    sql = f"SELECT run_id FROM runs{where} ORDER BY run_id DESC LIMIT :count"
    return runs.views(tx, [row["run_id"] for row in tx.select(sql, params)])
