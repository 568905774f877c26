"""Limits and locks as they stand, and limits by hand."""

from collections.abc import Mapping

from headway.domain import errors
from headway.domain.answers import LimitView, LockHolder, LockView
from headway.domain.manage import limits
from headway.domain.requests import job_requests
from headway.scheduler.admit import lane_waits
from headway.scheduler.scheduler import Scheduler
from headway.storage import locks as kept_locks
from headway.storage.engine.transaction import READY, Transaction
from headway.storage.manage import limits as kept

LARGEST_SIZE = 1_000_000_000


def views(scheduler: Scheduler, tx: Transaction) -> list[LimitView]:
    """Every limit with what is used of it now."""
    rooms = kept.rooms(tx, scheduler.concurrency)
    return [
        LimitView(
            name=limit.name,
            size=limit.size,
            rate=limit.rate,
            used=rooms[limit.name].used,
            started=rooms[limit.name].started if limit.rate else None,
        )
        for limit in kept.defined(tx)
    ]


def view(scheduler: Scheduler, tx: Transaction, name: str) -> LimitView:
    """One limit."""
    for found in views(scheduler, tx):
        if found.name == name:
            return found
    raise errors.NotFound("limit", name)


def put(
    scheduler: Scheduler, tx: Transaction, name: str, *, size: int | None, rate: str | None
) -> LimitView:
    """Define a limit or change it; jobs that wait for room may try again."""
    job_requests.check_name("name", name)
    if size is None and rate is None:
        raise errors.InvalidRequest("size", "give a size, a rate, or both")
    if size is not None and not 0 <= size <= LARGEST_SIZE:
        raise errors.InvalidRequest("size", f"{size} is not between 0 and {LARGEST_SIZE}")
    if rate is not None:
        limits.read_rate(rate)
        if name.endswith(limits.FAMILY):
            raise errors.InvalidRequest("rate", "a family of limits has a size for each key only")
    with lane_waits.kept(scheduler, tx):
        kept.put(tx, limits.Limit(name=name, size=size, rate=rate))
    tx.wake(READY)
    return view(scheduler, tx, name)


def set_sizes(scheduler: Scheduler, tx: Transaction, sizes: Mapping[str, int]) -> None:
    """Give limits the sizes of the settings; a rate that was set by hand stays."""
    rates = {limit.name: limit.rate for limit in kept.defined(tx)}
    for name, size in sizes.items():
        try:
            put(scheduler, tx, name, size=size, rate=rates.get(name))
        except errors.Invalid as error:
            raise errors.InvalidRequest("limits", f"{name!r}: {error.detail}") from None


def remove(scheduler: Scheduler, tx: Transaction, name: str) -> LimitView:
    """Remove a limit that no active job names; return how it was."""
    found = view(scheduler, tx, name)
    if kept.is_named(tx, name):
        raise errors.Conflict(f"limit {name!r} is named by active jobs")
    with lane_waits.kept(scheduler, tx):
        kept.remove(tx, name)
    tx.wake(READY)
    return found


def locks(tx: Transaction) -> list[LockView]:
    """Every lock that is held or waited for."""
    waiting = kept_locks.waiting_counts(tx)
    holders: dict[str, list[LockHolder]] = {key: [] for key in waiting}
    for key, holder in kept_locks.held(tx):
        holders.setdefault(key, []).append(holder)
    return [
        LockView(key=key, holders=tuple(held), waiting=waiting.get(key, 0))
        for key, held in sorted(holders.items())
    ]
