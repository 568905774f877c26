"""Custom artifacts by hand: markers that a person or program declares."""

from headway.domain import artifacts, errors
from headway.domain.answers import MarkerView
from headway.domain.values import moments
from headway.scheduler.finish import consequences, decide
from headway.scheduler.scheduler import Scheduler
from headway.storage import records
from headway.storage.transaction import Row, Transaction


def put(scheduler: Scheduler, tx: Transaction, type_: str, key: str) -> MarkerView:
    """The artifact is there: jobs that wait for it may go on."""
    name = _name(scheduler, type_, key)
    tx.do("put_marker", artifact=name, job_number=None, created_at=tx.now_ms)
    _tell_consumers(scheduler, tx, name)
    return view(scheduler, tx, type_, key)


def remove(scheduler: Scheduler, tx: Transaction, type_: str, key: str) -> MarkerView:
    """The artifact is gone: jobs that need it and have not started wait for it again."""
    found = view(scheduler, tx, type_, key)
    tx.do("remove_markers", artifacts=records.listed([found.artifact]))
    _tell_consumers(scheduler, tx, found.artifact)
    return found


def view(scheduler: Scheduler, tx: Transaction, type_: str, key: str) -> MarkerView:
    """One custom artifact that is there."""
    name = _name(scheduler, type_, key)
    row = tx.row("marker", artifact=name)
    if row is None:
        raise errors.NotFound("artifact", name)
    return _view(row)


def after(tx: Transaction, name: str, count: int) -> list[MarkerView]:
    """Custom artifacts that are there, by name."""
    return [_view(row) for row in tx.rows("markers_after", after=name, count=count)]


def _name(scheduler: Scheduler, type_: str, key: str) -> str:
    return artifacts.parse(f"{decide.MARKER}{type_}:{key}", scheduler.kinds).name


def _tell_consumers(scheduler: Scheduler, tx: Transaction, name: str) -> None:
    rows = tx.rows("consumers", artifacts=records.listed([name]))
    consequences.admit_or_end(scheduler, tx, [row["job_number"] for row in rows])


def _view(row: Row) -> MarkerView:
    return MarkerView(
        artifact=row["artifact"],
        job_id=row["job_id"],
        created_at=moments.from_millis(row["created_at"]),
    )
