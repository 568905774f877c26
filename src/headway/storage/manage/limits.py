"""Limits and pauses as they are kept, and what is used of each limit now."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from headway.domain.answers import Paused
from headway.domain.gates.pause import Pause
from headway.domain.jobs import Lane
from headway.domain.limits import ConcurrencyPolicy, Limit, Rate, Room, Start, read_rate
from headway.domain.values import moments
from headway.storage import jobs, records
from headway.storage.engine.transaction import DUE, READY, Row, Transaction

MOST_STARTS = 1000
"""So many of the starts that fill a rate are named."""


def defined(tx: Transaction) -> list[Limit]:
    """Every limit that is defined."""
    return [_limit(row) for row in tx.rows("limits")]


def _limit(row: Row) -> Limit:
    return Limit(name=row["name"], size=row["size"], rate=row["rate"])


def rooms(
    tx: Transaction, policy: ConcurrencyPolicy, *, with_users: bool = False
) -> dict[str, Room]:
    """Each limit with what is used of it, derived from the live leases."""
    found = ask_rooms(tx, policy)()
    if not with_users:
        return found
    users = _users(tx, policy)
    return {
        name: _with_starts(tx, msgspec.structs.replace(room, users=tuple(users.get(name, ()))))
        for name, room in found.items()
    }


def ask_rooms(tx: Transaction, policy: ConcurrencyPolicy) -> Callable[[], dict[str, Room]]:
    """Each limit with what is used of it now, to be read later."""
    limits, lanes = tx.ask("limits"), tx.ask("used_by_lane")

    def read() -> dict[str, Room]:
        used: dict[str, int] = {}
        for row in lanes():
            for name, amount in policy.uses(records.lane(row)).items():
                used[name] = used.get(name, 0) + amount * row["count"]
        return {row["name"]: _room(tx, _limit(row), used.get(row["name"], 0)) for row in limits()}

    return read


def _room(tx: Transaction, limit: Limit, used: int) -> Room:
    rate = read_rate(limit.rate) if limit.rate else None
    started = 0
    if rate is not None:
        since = tx.now_ms - rate.window_s * 1000
        started = int(tx.rows("rate_used", name=limit.name, since=since)[0]["amount"])
    return Room(name=limit.name, size=limit.size, used=used, rate=rate, started=started)


def _with_starts(tx: Transaction, room: Room) -> Room:
    """The starts that fill a rate, the first to leave its window first."""
    if room.rate is None or not room.started:
        return room
    window_ms = room.rate.window_s * 1000
    since = tx.now_ms - window_ms
    rows = tx.rows("rate_starts", name=room.name, since=since, count=MOST_STARTS)
    starts = tuple(
        Start(
            job=row["job_id"],
            amount=row["amount"],
            at=moments.from_millis(row["at"]),
            until=moments.from_millis(row["at"] + window_ms),
        )
        for row in rows
    )
    return msgspec.structs.replace(room, starts=starts)


def _users(tx: Transaction, policy: ConcurrencyPolicy) -> dict[str, list[tuple[str, int]]]:
    found: dict[str, list[tuple[str, int]]] = {}
    lanes = jobs.lanes(tx)
    for row in tx.rows("live_leases"):
        for name, amount in policy.uses(lanes[row["lane_id"]]).items():
            found.setdefault(name, []).append((row["job_id"], amount))
    return found


def count_rates(
    tx: Transaction,
    policy: ConcurrencyPolicy,
    rates: Mapping[str, Rate],
    started: Sequence[tuple[int, Lane]],
) -> None:
    """Note starts that count against a rate, and forget those that have left their window."""
    if not rates:
        return
    _forget(tx, rates)
    rows: list[dict[str, Any]] = [
        {"name": name, "at": tx.now_ms, "job_number": number, "amount": amount}
        for number, lane in started
        for name, amount in policy.uses(lane).items()
        if name in rates
    ]
    tx.many("insert_rate_use", rows)
    tx.wake(DUE)


def next_rate_opening(tx: Transaction) -> int | None:
    """When the next start leaves its window, if a job waits for room; it may be long past."""
    known = rates(tx)
    if not known or not tx.rows("anybody_limited"):
        return None
    moments = []
    for name, rate in known.items():
        first = tx.rows("rate_used", name=name, since=0)[0]["first"]
        if first is not None:
            moments.append(first + rate.window_s * 1000)
    return min(moments, default=None)


def open_rates(tx: Transaction) -> bool:
    """Forget the starts that have left their windows: whether there is more room now."""
    opening = next_rate_opening(tx)
    if opening is None or opening > tx.now_ms:
        return False
    _forget(tx, rates(tx))
    tx.wake(READY)
    return True


def rates(tx: Transaction) -> dict[str, Rate]:
    """The limits that have a rate."""
    return {limit.name: read_rate(limit.rate) for limit in defined(tx) if limit.rate}


def _forget(tx: Transaction, rates: Mapping[str, Rate]) -> None:
    for name, rate in rates.items():
        tx.put("forget_rate_uses", name=name, until=tx.now_ms - rate.window_s * 1000)


def forget_later_uses(tx: Transaction) -> None:
    """The clock was set back: what was used in the time to come fills no window."""
    tx.do("forget_later_rate_uses", now=tx.now_ms)


def pauses(tx: Transaction) -> list[Pause]:
    """What is paused."""
    return [Pause(row["queue"], row["job_type"]) for row in tx.rows("pauses")]


def paused(tx: Transaction) -> tuple[Paused, ...]:
    """What is paused, as it is shown."""
    return tuple(
        Paused(
            queue=row["queue"] or None,
            job_type=row["job_type"] or None,
            since=moments.from_millis(row["since"]),
        )
        for row in tx.rows("pauses")
    )


def put(tx: Transaction, limit: Limit) -> None:
    """Define a limit or change it."""
    tx.do("put_limit", name=limit.name, size=limit.size, rate=limit.rate)


def remove(tx: Transaction, name: str) -> None:
    """A limit is no longer defined."""
    tx.do("remove_limit", name=name)


def is_named(tx: Transaction, name: str) -> bool:
    """Whether active jobs name a limit."""
    return bool(tx.value("lanes_naming_limit", name=name))


def pause(tx: Transaction, what: Pause) -> bool:
    """Pause this; false if it is paused already."""
    paused = tx.do("put_pause", queue=what.queue, job_type=what.job_type, since=tx.now_ms)
    return paused > 0


def resume(tx: Transaction, what: Pause) -> bool:
    """Lift one pause; false if there is none like it."""
    return tx.do("remove_pause", queue=what.queue, job_type=what.job_type) > 0


def resume_all(tx: Transaction) -> bool:
    """Lift every pause; false if there is none."""
    return tx.do("remove_pauses") > 0
