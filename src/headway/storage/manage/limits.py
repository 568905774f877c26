"""Limits and pauses as they are kept, and what is used of each limit now."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from headway.domain.answers import Paused
from headway.domain.gates.pause import Pause
from headway.domain.jobs import Lane
from headway.domain.manage.limits import (
    FAMILY,
    ConcurrencyPolicy,
    Limit,
    Rate,
    Room,
    Rooms,
    Start,
    read_rate,
)
from headway.domain.values import moments
from headway.storage import lanes, records
from headway.storage.engine import question
from headway.storage.engine.question import Question, Row
from headway.storage.engine.transaction import DUE, READY, Transaction

MOST_STARTS = 1000
"""So many of the starts that fill a rate are named."""


class LaneUse(NamedTuple):
    """A lane, and how many live leases it has."""

    lane: Lane
    leases: int


class Usage(NamedTuple):
    """The limits that are defined, and the live leases from which their use follows."""

    defined: Sequence[Limit]
    lanes: Sequence[LaneUse]


DEFINED = question.of_rows(lambda rows: [_limit(row) for row in rows], "limits")
"""Every limit that is defined."""

USED = question.of_rows(
    lambda rows: [LaneUse(records.lane(row), row["count"]) for row in rows], "used_by_lane"
)
"""How many live leases each lane has."""

PAUSES = question.of_rows(
    lambda rows: [Pause(row["queue"], row["job_type"]) for row in rows], "pauses"
)
"""What is paused."""


def defined(tx: Transaction) -> list[Limit]:
    """Every limit that is defined."""
    return tx.ask(DEFINED)[0]


def _limit(row: Row) -> Limit:
    return Limit(name=row["name"], size=row["size"], rate=row["rate"])


def rooms(
    tx: Transaction,
    policy: ConcurrencyPolicy,
    *,
    with_users: bool = False,
    ahead: Iterable[Question[Any]] = (),
) -> Rooms:
    """Each limit with what is used of it, derived from the live leases.

    Questions that are likely to be asked next may share the round trip.
    """
    found = rooms_of(tx, policy, Usage(*tx.ask(DEFINED, USED, ahead=ahead)))
    if not with_users:
        return found
    found.users = _users(tx, policy)
    for name, room in found.items():
        users = tuple(found.users.get(name, ()))
        found[name] = _with_starts(tx, msgspec.structs.replace(room, users=users))
    return found


def rooms_of(tx: Transaction, policy: ConcurrencyPolicy, usage: Usage) -> Rooms:
    """Each limit with what is used of it, from leases that were read before."""
    used: dict[str, int] = {}
    for one in usage.lanes:
        for name, amount in policy.uses(one.lane).items():
            used[name] = used.get(name, 0) + amount * one.leases
    rates = {one.name: read_rate(one.rate) for one in usage.defined if one.rate}
    started = _started(tx, rates)
    found = {
        one.name: Room(
            name=one.name,
            size=one.size,
            used=used.get(one.name, 0),
            rate=rates.get(one.name),
            started=started.get(one.name, 0),
        )
        for one in usage.defined
    }
    families = {name: room for name, room in found.items() if name.endswith(FAMILY)}
    return Rooms(found, families, used)


def _started(tx: Transaction, rates: Mapping[str, Rate]) -> dict[str, int]:
    """How much was started under each of these rates within its window."""
    asked = [
        question.of_rows(
            lambda rows: int(rows[0]["amount"]),
            "rate_used",
            name=name,
            since=tx.now_ms - rate.window_s * 1000,
        )
        for name, rate in rates.items()
    ]
    return dict(zip(rates, tx.ask(*asked), strict=True)) if rates else {}


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
    known = lanes.read(tx)
    for row in tx.rows("live_leases"):
        for name, amount in policy.uses(known[row["lane_id"]]).items():
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
    return tx.ask(PAUSES)[0]


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
    prefix = name.removesuffix("*") if name.endswith(FAMILY) else ""
    return bool(tx.value("lanes_naming_limit", name=name, prefix=prefix))


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
