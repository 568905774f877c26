"""Everything from one database into another, empty one; of whichever dialect each is."""

import itertools
from collections.abc import Callable, Iterator, Sequence

from headway.domain import errors
from headway.storage.engine.question import Row
from headway.storage.engine.store import Database
from headway.storage.engine.transaction import Transaction

ROWS_AT_ONCE = 200

KEYS: dict[str, tuple[str, ...]] = {
    "totals": ("status", "part"),
    "facts": ("name",),
    "lanes": ("lane_id",),
    "lane_waits": ("lane_id", "mark"),
    "payloads": ("payload_id",),
    "jobs": ("number",),
    "tags": ("tag", "job_number"),
    "job_names": ("job_number",),
    "job_words": ("word", "job_number"),
    "runs": ("run_id",),
    "steps": ("chain", "generation", "kind", "name", "step_index"),
    "signals": ("chain", "name", "place"),
    "leases": ("job_number",),
    "dependencies": ("chain", "job_number", "policy"),
    "needs": ("artifact", "job_number"),
    "produces": ("artifact", "job_number"),
    "markers": ("artifact",),
    "watches": ("what", "job_number"),
    "unsettled": ("job_number",),
    "locks": ("key", "job_number"),
    "lock_waiters": ("key", "job_number"),
    "events": ("seq",),
    "limits": ("name",),
    "rate_uses": ("name", "at", "job_number"),
    "pauses": ("queue", "job_type"),
    "workers": ("worker_id",),
    "templates": ("template_id",),
    "schedules": ("schedule_id",),
    "fires": ("schedule_id", "fire_time"),
    "groups": ("group_id",),
    "webhooks": ("webhook_id",),
    "deliveries": ("delivery_id",),
    "reservations": ("reservation_id",),
    "direct_requests": ("request_id",),
    "tokens": ("token_id",),
    "audit": ("entry_id",),
}
"""Every table that both dialects have, with its primary key."""

COMPUTED = frozenset({"phase", "first_job", "history"})
"""Columns that the database fills by itself."""

SEEDED = ("payloads", "limits")
"""Tables in which a new database has rows."""


def move(
    source: Database, target: Database, progress: Callable[[str, int], None]
) -> dict[str, int]:
    """Copy every row, all of them or none; return how many each table has.

    Refused if the source is written to meanwhile: that would be left behind.
    """
    return _copied(source, target, progress, lambda old: _refuse_if_written(source, old))


def snapshot(
    source: Database, target: Database, progress: Callable[[str, int], None]
) -> dict[str, int]:
    """Copy every row as it is at one moment, while the source is in use."""
    return _copied(source, target, progress, lambda _: None)


def _copied(
    source: Database,
    target: Database,
    progress: Callable[[str, int], None],
    check: Callable[[Transaction], None],
) -> dict[str, int]:
    _refuse_other_schemas(source, target)
    session = target.session()
    try:
        session.begin()
        with source.reading() as old:
            counts = _copy(old, session.transaction(), progress)
            check(old)
        session.commit(set())
    except BaseException:
        session.rollback()
        raise
    finally:
        session.close()
    return counts


def _refuse_other_schemas(source: Database, target: Database) -> None:
    for database in (source, target):
        if pending := database.pending_migrations():
            raise errors.Conflict(f"a database is not up to date: {', '.join(pending)} is missing")


def _refuse_if_written(source: Database, copied: Transaction) -> None:
    with source.reading() as now:
        if _last_event(now) != _last_event(copied):
            raise errors.Conflict(
                "the source was written to while it was copied; stop its servers and workers first"
            )


def _last_event(tx: Transaction) -> int:
    return int(tx.rows("event_bounds")[0]["last"])


def _copy(
    old: Transaction, new: Transaction, progress: Callable[[str, int], None]
) -> dict[str, int]:
    _refuse_unless_empty(new)
    for table in SEEDED:
        new.select(f"DELETE FROM {table} RETURNING 1 AS one", {})
    new.rows("continue_event_numbers", seq=old.value("last_event_number"))
    for row in old.rows("last_numbers"):
        new.rows("continue_numbers", name=row["name"], value=row["value"])
    counts = {}
    for table in KEYS:
        copied = 0
        for rows in _pages(old, table):
            copied += _insert(new, table, rows)
            progress(table, copied)
        counts[table] = _verified(old, new, table)
    return counts


def _refuse_unless_empty(new: Transaction) -> None:
    for table in KEYS:
        if table not in SEEDED and _count(new, table):
            raise errors.Conflict(f"the target is not empty: there are rows in {table}")
    if any(row["value"] for row in new.rows("last_numbers")):
        raise errors.Conflict("the target is not empty: there were jobs in it")


def _pages(old: Transaction, table: str) -> Iterator[Sequence[Row]]:
    key = ", ".join(KEYS[table])
    last: Row | None = None
    while True:
        marks = ", ".join(f":{column}" for column in KEYS[table])
        after = f" WHERE ({key}) > ({marks})" if last else ""
        rows = old.select(
            f"SELECT * FROM {table}{after} ORDER BY {key} LIMIT {ROWS_AT_ONCE}",
            {column: last[column] for column in KEYS[table]} if last else {},
        )
        if not rows:
            return
        yield rows
        last = rows[-1]


def _insert(new: Transaction, table: str, rows: Sequence[Row]) -> int:
    columns = [column for column in rows[0] if column not in COMPUTED]
    places = [
        "(" + ", ".join(f":{column}_{place}" for column in columns) + ")"
        for place in range(len(rows))
    ]
    values = {
        f"{column}_{place}": row[column]
        for (place, row), column in itertools.product(enumerate(rows), columns)
    }
    statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join(places)}"
    return len(new.select(f"{statement} RETURNING 1 AS one", values))


def _verified(old: Transaction, new: Transaction, table: str) -> int:
    here, there = _count(old, table), _count(new, table)
    if here != there:
        raise errors.Unavailable(f"{there} of {here} rows of {table} were copied")
    return there


def _count(tx: Transaction, table: str) -> int:
    return int(tx.select(f"SELECT count(*) AS count FROM {table}", {})[0]["count"])
