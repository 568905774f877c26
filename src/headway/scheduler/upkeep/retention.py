"""Garbage collection: jobs that ended long ago go, with all that belongs to them.

A chain goes as a whole, with the history that rewinds left of it, and only if nothing that is not
over refers to it.
"""

import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import NamedTuple

import msgspec

from headway.domain import artifacts, states
from headway.domain.manage.audit import KEPT_DAYS
from headway.domain.states import JobStatus
from headway.files import log_files
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import stray_logs
from headway.storage import chains
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord
from headway.storage.upkeep import retention as kept
from headway.storage.upkeep.retention import Fire

BATCH = 500
RECORDS = (
    kept.delete_direct_requests,
    kept.delete_reservations,
    kept.delete_tokens,
    kept.delete_events,
    kept.delete_silent_workers,
)
"""One for each kind of record that belongs to no job; fires have a step of their own."""


KEPT_FIRES_MS = 24 * 3600 * 1000
"""Fires are remembered for a day at least: a clock that is set back fires nothing twice."""


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """How much was removed; `records` belong to no job, and include logs without an owner."""

    jobs: int = 0
    runs: int = 0
    records: int = 0


class _Where(NamedTuple):
    """Which jobs a step looks at."""

    status: JobStatus
    after: int
    older_than_s: float
    batch: int


class _Step(msgspec.Struct, frozen=True, kw_only=True):
    """What one transaction did or would do; the next one goes on after this number, if at all."""

    numbers: list[int]
    run_ids: list[str]
    after: int | None


def collect(
    scheduler: Scheduler, older_than_s: float, progress: Callable[[int], None] = lambda _: None
) -> Collected:
    """Remove what ended longer ago than this, in small steps; `progress` gets how many went."""
    whole = Collected()
    for removed in steps(scheduler, older_than_s, BATCH):
        whole = both(whole, removed)
        if removed.jobs:
            progress(whole.jobs)
    return whole


def both(one: Collected, other: Collected) -> Collected:
    """What two steps removed."""
    return Collected(
        jobs=one.jobs + other.jobs, runs=one.runs + other.runs, records=one.records + other.records
    )


def steps(scheduler: Scheduler, older_than_s: float, batch: int) -> Iterator[Collected]:
    """Remove what ended longer ago than this; after each small transaction, say what it removed."""
    for status in sorted(states.TERMINAL):
        yield from _jobs(scheduler, status, older_than_s, batch)
    yield from _audit(scheduler, older_than_s)
    for delete in RECORDS:
        yield from _records(scheduler, delete, older_than_s)
    yield from _fires(scheduler, older_than_s)
    for count in stray_logs.steps(scheduler, older_than_s):
        yield Collected(records=count)


def _jobs(
    scheduler: Scheduler, status: JobStatus, older_than_s: float, batch: int
) -> Iterator[Collected]:
    """Looked for in a read: to pass over what has to stay keeps no write waiting."""
    place: int | None = 0
    while place is not None:
        where = _Where(status=status, after=place, older_than_s=older_than_s, batch=batch)
        found = scheduler.store.read(partial(_look, where))
        if found.numbers:
            found = scheduler.store.write(partial(_step, where))
            _remove_logs(scheduler, found.run_ids)
        place = found.after
        yield Collected(jobs=len(found.numbers), runs=len(found.run_ids))


def count(scheduler: Scheduler, older_than_s: float) -> Collected:
    """How many jobs and runs `collect` would remove; nothing is changed."""
    numbers: set[int] = set()
    run_ids: set[str] = set()
    for status in sorted(states.TERMINAL):
        after: int | None = 0
        while after is not None:
            where = _Where(status, after, older_than_s, BATCH)
            found = scheduler.store.read(partial(_look, where))
            numbers.update(found.numbers)
            run_ids.update(found.run_ids)
            after = found.after
    return Collected(jobs=len(numbers), runs=len(run_ids))


def _remove_logs(scheduler: Scheduler, run_ids: Iterable[str]) -> None:
    for run_id in run_ids:
        shutil.rmtree(scheduler.data / log_files.folder(run_id), ignore_errors=True)


def _records(
    scheduler: Scheduler, delete: Callable[[Transaction, int, int], list[str]], older_than_s: float
) -> Iterator[Collected]:
    """Remove what is old and belongs to no job."""
    more = True
    while more:
        gone = scheduler.store.write(partial(_delete, delete, older_than_s))
        if delete is kept.delete_direct_requests:
            _remove_logs(scheduler, gone)
        more = len(gone) == BATCH
        yield Collected(records=len(gone))


def _audit(scheduler: Scheduler, older_than_s: float) -> Iterator[Collected]:
    """The audit log is kept for longer: it says who collected, too."""
    kept_s = max(older_than_s, timedelta(days=KEPT_DAYS).total_seconds())
    yield from _records(scheduler, kept.delete_audit, kept_s)


def _delete(
    delete: Callable[[Transaction, int, int], list[str]], older_than_s: float, tx: Transaction
) -> list[str]:
    return delete(tx, tx.now_ms - int(older_than_s * 1000), BATCH)


def _fires(scheduler: Scheduler, older_than_s: float) -> Iterator[Collected]:
    after: Fire | None = kept.BEFORE_ALL_FIRES
    while after is not None:
        count, after = scheduler.store.write(
            partial(_forget_fires, after=after, older_than_s=older_than_s)
        )
        yield Collected(records=count)


def _forget_fires(tx: Transaction, *, after: Fire, older_than_s: float) -> tuple[int, Fire | None]:
    """How many of the next fires went, and from which one the next step goes on."""
    until = tx.now_ms - max(int(older_than_s * 1000), KEPT_FIRES_MS)
    found = kept.fires_from(tx, after, BATCH)
    old = [one for one in found if one.fire_time <= until]
    kept.delete_fires(tx, old)
    return len(old), found[-1] if len(found) == BATCH else None


def _step(where: _Where, tx: Transaction) -> _Step:
    gone, after_this = _next_gone(tx, where)
    return _Step(
        numbers=[link.number for link in gone],
        run_ids=kept.delete_jobs(tx, gone) if gone else [],
        after=after_this,
    )


def _look(where: _Where, tx: Transaction) -> _Step:
    """The step without its effect."""
    gone, after_this = _next_gone(tx, where)
    numbers = [link.number for link in gone]
    run_ids = kept.runs_of(tx, numbers) if gone else []
    return _Step(numbers=numbers, run_ids=run_ids, after=after_this)


def _next_gone(tx: Transaction, where: _Where) -> tuple[list[JobRecord], int | None]:
    """The next jobs that may go, and after which number the next step goes on, if at all."""
    until = tx.now_ms - int(where.older_than_s * 1000)
    ended = kept.ended_from(tx, where.status, where.after, where.batch)
    candidates = {one.chain for one in ended if one.finished_at <= until}
    # What was made later cannot have ended earlier: the newest jobs are never walked through.
    more = len(ended) == where.batch and ended[-1].created_at <= until
    return _removable(tx, candidates, until), ended[-1].number if more else None


def _removable(tx: Transaction, candidates: Collection[int], until: int) -> list[JobRecord]:
    """All links of those chains that ended long ago as a whole and that no job refers to."""
    if not candidates:
        return []
    links = chains.links_with_history(tx, candidates)
    stay = {link.chain for link in links if link.finished_at is None or link.finished_at > until}
    stay |= kept.followed(tx, candidates)
    stay |= kept.with_active_families(tx, {link.chain: link.parent for link in links})
    stay |= _needed(tx, links) | _in_groups(tx, links, until) | _with_open_deliveries(tx, links)
    return [link for link in links if link.chain not in stay]


def _needed(tx: Transaction, links: Sequence[JobRecord]) -> set[int]:
    """Chains that make something which a job that is not over needs."""
    makers: dict[str, set[int]] = {}
    for link in links:
        names = artifacts.names_of_job(link.job_id, link.number)
        for name in (*link.terms.produces, *names):
            makers.setdefault(name, set()).add(link.chain)
    return {chain for artifact in kept.needed(tx, makers) for chain in makers[artifact]}


def _in_groups(tx: Transaction, links: Sequence[JobRecord], until: int) -> set[int]:
    """Chains whose group is not over, or not for long enough."""
    group_ids = {link.group_id for link in links if link.group_id}
    used = kept.groups_in_use(tx, group_ids, until)
    return {link.chain for link in links if link.group_id in used}


def _with_open_deliveries(tx: Transaction, links: Sequence[JobRecord]) -> set[int]:
    """Chains with webhook messages still to be sent."""
    untold = kept.with_undelivered_messages(tx, (link.number for link in links))
    return {link.chain for link in links if link.number in untold}
