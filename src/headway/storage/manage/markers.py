"""Custom artifacts as they are kept: markers that are there because a job or a person said so."""

from collections.abc import Iterable

from headway.domain.answers import MarkerView
from headway.domain.values import moments
from headway.storage import records
from headway.storage.engine.question import Row
from headway.storage.engine.transaction import Transaction


def put(tx: Transaction, artifact: str) -> None:
    """An artifact is there, and no job made it."""
    tx.do("put_marker", artifact=artifact, job_number=None, created_at=tx.now_ms)


def make(tx: Transaction, made: Iterable[tuple[str, int]]) -> None:
    """Artifacts are there, each made by the job with this number."""
    tx.many(
        "put_marker",
        [
            {"artifact": artifact, "job_number": number, "created_at": tx.now_ms}
            for artifact, number in made
        ],
    )


def remove(tx: Transaction, artifact: str) -> None:
    """An artifact is gone."""
    tx.do("remove_markers", artifacts=records.listed([artifact]))


def unmake(tx: Transaction, artifacts: Iterable[str], makers: Iterable[int]) -> None:
    """Artifacts that these jobs made, or that a person set, are gone."""
    tx.do("unmake_markers", artifacts=records.listed(artifacts), makers=records.listed(makers))


def present(tx: Transaction, artifacts: Iterable[str]) -> set[str]:
    """Those of these artifacts that are there."""
    rows = tx.rows("present_markers", artifacts=records.listed(artifacts))
    return {row["artifact"] for row in rows}


def find(tx: Transaction, artifact: str) -> MarkerView | None:
    """One artifact, if it is there."""
    row = tx.row("marker", artifact=artifact)
    return _view(row) if row else None


def after(tx: Transaction, name: str, count: int) -> list[MarkerView]:
    """Artifacts that are there, by name, after this one."""
    return [_view(row) for row in tx.rows("markers_after", after=name, count=count)]


def _view(row: Row) -> MarkerView:
    return MarkerView(
        artifact=row["artifact"],
        job_id=row["job_id"],
        created_at=moments.from_millis(row["created_at"]),
    )
