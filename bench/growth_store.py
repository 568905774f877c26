"""A store with millions of jobs: a few real ones, copied by one statement for each table."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass

import psycopg

from headway.domain.jobs import RetryPolicy
from headway.domain.requests.job_requests import JobRequest
from headway.domain.runs import Outcome, RunStatus
from headway.domain.workers import Abilities
from headway.protocol.work_values import Report, Started
from headway.scheduler.claim import dispatch
from headway.scheduler.claim.dispatch import ClaimRequest
from headway.scheduler.finish import finish
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import submit

FIRST_COPY = 1001
"""The number of the first copy; the jobs that are copied have lower ones."""
APART_MS = 20
"""So far apart were the copies submitted."""
TEMPLATE, GROUP = "01900000-0000-7000-8001-000000000001", "01900000-0000-7000-8002-000000000001"
Execute = Callable[[str], Iterable[tuple[object, ...]]]


@dataclass(frozen=True)
class Originals:
    """Real jobs with numbers that follow each other, and how many copies are made of all."""

    first: int
    many: int
    copies: int
    number: int
    """The number of the first copy."""


def build(scheduler: Scheduler, ended: int, waiting: int) -> int:
    """Ended jobs of every kind, then jobs that wait for everything that a job can wait for.

    Returns the number of a job that runs, and for which some of them wait.
    """
    _submit(scheduler, [_rare("rare-old")] * 3)
    to_end = _submit(scheduler, [_to_end(place) for place in range(100)])
    _end(scheduler, failing=(to_end + 3, to_end + 53))
    scheduler.store.write(lambda tx: tx.do("put_limit", name="full", size=1, rate=None))
    gate = _submit(scheduler, [JobRequest(job_type="gate", locks=("held",), limits={"full": 1})])
    _claim(scheduler)
    to_wait = _submit(scheduler, [_to_wait(place, gate) for place in range(20)])
    with _connected(scheduler) as execute:
        _copy_all(execute, Originals(to_end, 100, ended, FIRST_COPY), waiting)
        _copy_all(execute, Originals(to_wait, 20, waiting, FIRST_COPY + ended), 0)
        _count(execute, scheduler, ended + waiting)
    _submit(scheduler, [_rare("rare-new")] * 3)
    return gate


def _submit(scheduler: Scheduler, requests: list[JobRequest]) -> int:
    """Submit jobs in one transaction; returns the first one's number."""
    made = scheduler.store.write(lambda tx: submit.submit_all(scheduler, tx, requests))
    return made[0].number


def _rare(name: str) -> JobRequest:
    return JobRequest(job_type=name, queue=name, tags=(name,))


def _to_end(place: int) -> JobRequest:
    return JobRequest(
        job_type=f"type-{place % 20}",
        queue=f"queue-{place % 10}",
        tags=("common",) if place % 4 == 0 else ("one-percent",) if place == 7 else (),
        params={"place": place},
        retry_policy=RetryPolicy(max_attempts=1),
    )


def _to_wait(place: int, gate: int) -> JobRequest:
    """Most are ready; the others wait for a time, a job, a person, a lock or a limit."""
    return JobRequest(
        job_type=f"type-{place % 6}",
        queue=f"queue-{place % 4}",
        priority=place % 3,
        delay_s=86400 if place in (12, 13, 14) else None,
        after=(gate,) if place in (15, 16) else (),
        approval=place == 17,
        locks=("held",) if place == 18 else None,
        limits={"full": 1} if place == 19 else None,
        tags=("common",) if place % 4 == 0 else (),
    )


def _end(scheduler: Scheduler, failing: tuple[int, ...]) -> None:
    """Two of a hundred fail."""
    reports = []
    for started in _claim(scheduler):
        assert started.lease is not None
        failed = started.number in failing
        outcome = Outcome(
            status=RunStatus.FAILED if failed else RunStatus.COMPLETED,
            error="it did not work" if failed else None,
        )
        reports.append(Report(lease_id=started.lease.lease_id, outcome=outcome))
    scheduler.store.write(lambda tx: finish.finish(scheduler, tx, "w", reports))


def _claim(scheduler: Scheduler) -> list[Started]:
    request = ClaimRequest(worker_id="w", abilities=Abilities(), max_jobs=200, ttl_s=3600)
    return scheduler.store.write(lambda tx: dispatch.claim(scheduler, tx, request))


@contextmanager
def _connected(scheduler: Scheduler) -> Iterator[Execute]:
    """A connection of its own to the store: what is copied is no work of the scheduler."""
    url = scheduler.store.database.url
    if url.startswith("postgresql"):
        with psycopg.connect(url, autocommit=True) as connection:
            yield lambda sql: _fetched(connection.execute(sql.encode()))
            connection.execute("VACUUM ANALYZE")
            connection.execute("CHECKPOINT")
        return
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as raw:
        raw.execute("PRAGMA synchronous=OFF")
        raw.execute("PRAGMA cache_size=-200000")
        yield lambda sql: raw.execute(sql).fetchall()
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _fetched(cursor: "psycopg.Cursor[tuple[object, ...]]") -> Iterable[tuple[object, ...]]:
    return cursor.fetchall() if cursor.description else ()


def _copy_all(execute: Execute, of: Originals, younger: int) -> None:
    """All that a job is: its row, its run, its history, its tags and what it waits for."""
    ago = f"({of.copies} + {younger} - s.n) * {APART_MS}"
    number, run_id = f"{of.number} + s.n", _id("8000", f"{of.number} + s.n")
    job = {
        "number": number,
        "job_id": _id("8003", number),
        "chain": number,
        "position": f"({number}) * 100",
        "run_id": f"CASE WHEN o.run_id IS NOT NULL THEN {run_id} END",
        "template_id": f"CASE WHEN s.n % 10 = 1 THEN '{TEMPLATE}' END",
        "group_id": f"CASE WHEN s.n < 100000 AND s.n % 100 = 10 THEN '{GROUP}' END",
        "group_place": "CASE WHEN s.n < 100000 AND s.n % 100 = 10 THEN s.n END",
    }
    at = {
        name: f"o.{name} - {ago}"
        for name in ("created_at", "queued_at", "started_at", "finished_at", "at")
    }
    part = {"job_number": number, "run_id": run_id, "position": f"({number}) * 100", **at}
    _copy(execute, "jobs", of, {**job, **at}, key="number")
    for table in ("runs", "events", "tags", "dependencies", "lock_waiters"):
        _copy(execute, table, of, part, key="job_number")


def _id(kind: str, number: str) -> str:
    """Ids that sort like their numbers, before all real ones."""
    return f"'01900000-0000-7000-{kind}-' || substr(CAST(1000000000000 + {number} AS text), 2)"


def _copy(
    execute: Execute, table: str, of: Originals, changed: Mapping[str, str], key: str
) -> None:
    """Copy rows of some jobs; what the database derives or counts is left to it."""
    within = f"{key} BETWEEN {of.first} AND {of.first + of.many - 1}"
    execute(f"CREATE TEMPORARY TABLE originals AS SELECT * FROM {table} WHERE {within}")
    columns = [name for name in _columns(execute, table) if name != "seq"]
    values = ", ".join(changed.get(name, f"o.{name}") for name in columns)
    execute(
        f"WITH RECURSIVE s (n) AS "
        f"(SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n + 1 < {of.copies}) "
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} "
        f"FROM s JOIN originals o ON o.{key} = {of.first} + s.n % {of.many} ORDER BY s.n"
    )
    execute("DROP TABLE originals")


def _columns(execute: Execute, table: str) -> list[str]:
    """The columns that can be written."""
    try:
        rows = execute(f"SELECT name FROM pragma_table_xinfo('{table}') WHERE hidden = 0")
    except psycopg.Error:
        rows = execute(
            f"SELECT column_name FROM information_schema.columns WHERE table_name = '{table}' "
            "AND is_generated = 'NEVER' ORDER BY ordinal_position"
        )
    return [str(name) for (name,) in rows]


def _count(execute: Execute, scheduler: Scheduler, made: int) -> None:
    """What the store counts goes on behind the copies."""
    execute(f"INSERT INTO groups VALUES ('{GROUP}', 'growth', 'parallel', 'continue', 1, NULL)")
    execute("DELETE FROM totals")
    execute(
        "INSERT INTO totals (status, part, count) SELECT status, 0, count(*) FROM jobs "
        "WHERE finished_at IS NOT NULL GROUP BY status"
    )
    execute(
        f"UPDATE jobs SET created_at = created_at - {made * APART_MS} WHERE number < {FIRST_COPY}"
    )
    last = FIRST_COPY + made
    if scheduler.store.database.url.startswith("postgresql"):
        execute(f"SELECT setval('job_numbers', {last}), setval('positions', {last * 100})")
    else:
        execute(f"UPDATE counters SET value = {last} WHERE name = 'job'")
        execute(f"UPDATE counters SET value = {last * 100} WHERE name = 'position'")
