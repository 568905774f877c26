"""Lists of jobs: their filters are put together here, and nowhere else."""

from datetime import datetime
from typing import Any

import msgspec

from headway.domain import states
from headway.domain.states import JobStatus
from headway.domain.values import moments
from headway.storage.engine.slices import Sized
from headway.storage.engine.transaction import Transaction


class JobFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs to list; everything that is given must hold."""

    statuses: tuple[JobStatus, ...] = ()
    queue: str | None = None
    job_type: str | None = None
    tag: str | None = None
    group_id: str | None = None
    template_id: str | None = None
    since: datetime | None = None
    before_number: int | None = None


def numbers(tx: Transaction, wanted: JobFilter, limit: int) -> list[int]:
    """The numbers of the matching jobs, newest first."""
    return [one.key for one in sized(tx, wanted, limit)]


def sized(tx: Transaction, wanted: JobFilter, limit: int) -> list[Sized[int]]:
    """The numbers of the matching jobs, newest first, with the sizes of what they say."""
    where, params = _conditions(wanted)
    columns = "j.number, length(j.terms) AS size"
    sql = f"SELECT {columns} FROM jobs j{where} ORDER BY j.number DESC LIMIT :limit"
    rows = tx.select(sql, {**params, "limit": limit})
    return [Sized(row["number"], row["size"]) for row in rows]


def _conditions(wanted: JobFilter) -> tuple[str, dict[str, Any]]:
    terms: list[str] = []
    params: dict[str, Any] = {}
    if wanted.statuses:
        terms.append(_status_term(wanted.statuses))
    for column in ("queue", "job_type"):
        if (value := getattr(wanted, column)) is not None:
            terms.append(f"j.lane_id IN (SELECT lane_id FROM lanes WHERE {column} = :{column})")
            params[column] = value
    for column in ("group_id", "template_id"):
        if (value := getattr(wanted, column)) is not None:
            terms.append(f"j.{column} = :{column}")
            params[column] = value
    if wanted.tag is not None:
        terms.append("j.number IN (SELECT job_number FROM tags WHERE tag = :tag)")
        params["tag"] = wanted.tag
    if wanted.since is not None:
        terms.append("j.created_at >= :since")
        params["since"] = moments.to_millis(wanted.since)
    if wanted.before_number is not None:
        terms.append("j.number < :before_number")
        params["before_number"] = wanted.before_number
    return (" WHERE " + " AND ".join(terms) if terms else ""), params


_HELD_OFF = """EXISTS (SELECT 1 FROM lock_waiters w JOIN locks l ON l.key = w.key
WHERE w.job_number = j.number AND (w.mode = 'exclusive' OR l.mode = 'exclusive'))"""
_BEHIND = """EXISTS (SELECT 1 FROM lock_waiters w JOIN lock_waiters x ON x.key = w.key
WHERE w.job_number = j.number AND w.mode = 'shared' AND x.mode = 'exclusive')"""


def _status_term(statuses: tuple[JobStatus, ...]) -> str:
    """Names the partial index that holds such jobs, so that a long history is not read.

    A lock that was taken since a job was admitted is not written down with the job: such a job
    waits for locks although it is stored as QUEUED. Too many are found rather than too few.
    """
    term = "j.status IN ({})".format(", ".join(f"'{status}'" for status in statuses))
    match states.QUEUED in statuses, states.WAITING_ON_LOCKS in statuses:
        case True, False:
            term += f" AND NOT (j.status = 'QUEUED' AND {_HELD_OFF})"
        case False, True:
            term = f"({term} OR (j.status = 'QUEUED' AND ({_HELD_OFF} OR {_BEHIND})))"
    if set(statuses) == {states.RUNNING}:
        return term + " AND j.number IN (SELECT job_number FROM leases)"
    if set(statuses) <= states.ACTIVE:
        return term + " AND j.finished_at IS NULL"
    return term + " AND j.finished_at IS NOT NULL" if set(statuses) <= states.TERMINAL else term
