"""What closed a whole lane, kept for the jobs in it.

A full limit, a pause, a reservation or a missing worker closes a lane without a write to any job.
So a lane counts its changes. It keeps which gate was the first closed one from which count on, and
a job keeps the count at which it became ready: the gates that were closed since then are those it
waited on. Before such a gate changes, `kept` notes what is closed, and afterwards what has opened.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from headway.domain.gates import limits as limits_gate
from headway.domain.limits import Room
from headway.scheduler.admit import lane_gates
from headway.scheduler.scheduler import Scheduler
from headway.storage import records
from headway.storage.engine import codec
from headway.storage.engine.transaction import Row, Transaction
from headway.storage.manage import limits
from headway.storage.records import Head

LIMITS = "limits"
MOST_WAITS = 64
"""So many waits of different kinds, one after the other, are kept for a lane."""


@contextmanager
def kept(scheduler: Scheduler, tx: Transaction) -> Iterator[None]:
    """Something is about to change the gates of lanes."""
    note(scheduler, tx)
    yield
    note_openings(scheduler, tx)


def note(scheduler: Scheduler, tx: Transaction) -> None:
    """Keep the first closed gate of every lane that has jobs which are ready."""
    if rows := tx.rows("ready_lanes"):
        _write(tx, rows, _kinds(scheduler, tx, rows))


def note_openings(scheduler: Scheduler, tx: Transaction) -> None:
    """Lanes that were closed may be open now, or closed by another gate."""
    if rows := tx.rows("closed_lanes"):
        ready = {row["lane_id"] for row in tx.rows("ready_lanes")}
        kinds = _kinds(scheduler, tx, [row for row in rows if row["lane_id"] in ready])
        _write(tx, rows, kinds)


def _kinds(scheduler: Scheduler, tx: Transaction, rows: Sequence[Row]) -> dict[int, str]:
    if not rows:
        return {}
    gates = lane_gates.LaneGates(scheduler, tx)
    closed = {
        row["lane_id"]: gates.first_closed(records.lane(row), lane_gates.NO_JOB) for row in rows
    }
    return {lane_id: one.kind for lane_id, one in closed.items() if one is not None}


def _write(tx: Transaction, rows: Sequence[Row], kinds: Mapping[int, str]) -> None:
    """Keep what these lanes are closed by, where it differs from what is known."""
    changed = [row["lane_id"] for row in rows if row["closed"] != kinds.get(row["lane_id"])]
    opened = [lane_id for lane_id in changed if lane_id not in kinds]
    _close(tx, {lane_id: kinds[lane_id] for lane_id in changed if lane_id in kinds})
    if opened:
        tx.put("open_lanes", lane_ids=records.listed(opened))


def _close(tx: Transaction, kinds: Mapping[int, str]) -> None:
    closings = [{"lane_id": lane_id, "kind": kind} for lane_id, kind in sorted(kinds.items())]
    tx.many("close_lane", closings)
    tx.many("forget_lane_waits", [{**one, "most": MOST_WAITS} for one in closings])
    tx.many("insert_lane_wait", [{"lane_id": lane_id, "since": tx.now_ms} for lane_id in kinds])


class Release:
    """Leases are about to end, which may open limits; jobs that are ready waited on those."""

    def __init__(self, scheduler: Scheduler, tx: Transaction) -> None:
        self._scheduler = scheduler
        self._tx = tx
        self._ready = tx.ask("ready_lanes")
        self._closed = tx.ask("closed_lanes")
        self._rooms: Callable[[], dict[str, Room]] = limits.ask_rooms(tx, scheduler.concurrency)

    def note(self) -> None:
        """Keep which limits were full before, and what has opened."""
        full = self._full_lanes()
        _close(self._tx, {row["lane_id"]: LIMITS for row in full if row["closed"] != LIMITS})
        if full or self._closed():
            note_openings(self._scheduler, self._tx)

    def _full_lanes(self) -> list[Row]:
        rows = self._ready()
        rooms = self._rooms() if rows else {}
        uses = self._scheduler.concurrency.uses
        return [row for row in rows if limits_gate.check(uses(records.lane(row)), rooms)]


def since_ready(
    tx: Transaction, numbers: Sequence[int], ends: Mapping[int, int] | None = None
) -> dict[int, list[str]]:
    """What closed the lanes of jobs that are ready, since they are, as far as it was noted.

    `ends` are the moments at which gates of their own closed: what came later, they did not meet.
    """
    found: dict[int, list[str]] = {}
    rows = tx.rows("lane_waits_of", numbers=records.listed(numbers)) if numbers else ()
    for row in rows:
        end = ends.get(row["number"]) if ends else None
        if end is None or row["since"] < end:
            found.setdefault(row["number"], []).append(row["kind"])
    return found


def met(
    tx: Transaction, ready: Sequence[Head], ends: Mapping[int, int] | None = None
) -> dict[int, tuple[str, ...]]:
    """What jobs that are ready have waited on, with what closed their lanes since they are."""
    found = since_ready(tx, [job.number for job in ready], ends)
    return {
        job.number: tuple(dict.fromkeys((*job.waited_on, *found.get(job.number, ()))))
        for job in ready
    }


def met_now(
    scheduler: Scheduler, tx: Transaction, ready: Sequence[Head]
) -> dict[int, tuple[str, ...]]:
    """What jobs that are ready have waited on, with what keeps them waiting at this moment."""
    if ready:
        note(scheduler, tx)
    return met(tx, ready)


def keep_met(tx: Transaction, ready: Sequence[Head]) -> None:
    """Jobs stop being ready: what closed their lanes becomes part of what they waited on."""
    by_number = {job.number: job.waited_on for job in ready}
    alike: dict[tuple[str, ...], list[int]] = {}
    for number, kinds in met(tx, ready).items():
        if kinds != by_number[number]:
            alike.setdefault(kinds, []).append(number)
    tx.many(
        "note_waited_on",
        [
            {"waited_on": codec.dump(kinds), "numbers": records.listed(numbers)}
            for kinds, numbers in alike.items()
        ],
    )
