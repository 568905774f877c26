"""The queues for locks: a job that waits only for locks is in one queue for each of them.

When a lock is released or a job leaves a queue, those that may start now try: in each lane the
first of the exclusive ones, and some of the shared ones. Who finds a gate closed all the same makes
room for the next.
"""

from collections.abc import Collection, Iterable

import msgspec

from headway.domain.jobs import Lock, Mode
from headway.storage.admit import lock_lines
from headway.storage.admit.lock_lines import Line, Standing
from headway.storage.engine import codec
from headway.storage.engine.transaction import DUE, Transaction
from headway.storage.records import JobRecord
from headway.storage.upkeep import facts

AT_ONCE = {Mode.EXCLUSIVE: 1, Mode.SHARED: 20}
"""How many of a lane try at once."""


MOST_READY_AHEAD = 1000
"""So many that go first are named."""


MOST_BEHIND = 20
"""So many ready jobs of a lane are recorded as waiting when a lock that they need is taken."""


def keys_of(jobs: Iterable[JobRecord]) -> set[str]:
    """The locks that some jobs want."""
    return {lock.key for one in jobs for lock in one.terms.locks}


def next_in_line(tx: Transaction, keys: Collection[str], tried: Collection[int]) -> set[int]:
    """The jobs that may try for these locks now, without those that have tried."""
    found: set[int] = set()
    for line in lock_lines.open_lines(tx, keys):
        count = AT_ONCE[line.mode]
        first = lock_lines.first(tx, line, Standing.WAITS, count, without=tried)
        if first and line.mode is Mode.EXCLUSIVE:
            ready = lock_lines.first(tx, line, Standing.READY, count)
            if ready and ready[0].order < first[0].order:
                continue
        found |= {one.number for one in first}
    return found


def ready_ahead(tx: Transaction, record: JobRecord) -> list[tuple[str, Mode, int]]:
    """Which jobs are ready to take a lock that a job waits for, and go first."""
    found = []
    for lock in record.terms.locks:
        line = Line(lock.key, lock.mode, record.lane_id)
        for one in lock_lines.first(tx, line, Standing.READY, MOST_READY_AHEAD):
            if one.order < record.order:
                found.append((lock.key, lock.mode, one.number))
    return found


def ready_behind(tx: Transaction, taken: Iterable[Lock], takers: Collection[int]) -> set[int]:
    """Ready jobs that must wait once these locks are taken by others."""
    modes: dict[str, set[Mode]] = {}
    for lock in taken:
        modes.setdefault(lock.key, set()).add(lock.mode)
    return {
        number
        for line in lock_lines.ready_lines(tx, modes)
        if Mode.EXCLUSIVE in (line.mode, *modes[line.key])
        for number in _ready(tx, line, takers)
    }


def shared_behind(tx: Transaction, waiting: Iterable[JobRecord]) -> set[int]:
    """Ready jobs that share a lock which these wait for exclusively."""
    alone = {lock.key for one in waiting for lock in one.terms.locks if lock.mode is Mode.EXCLUSIVE}
    lines = (line for line in lock_lines.ready_lines(tx, alone) if line.mode is Mode.SHARED)
    return {number for line in lines for number in _ready(tx, line, ())}


def _ready(tx: Transaction, line: Line, without: Collection[int]) -> list[int]:
    heads = lock_lines.first(tx, line, Standing.READY, MOST_BEHIND, without)
    return [one.number for one in heads]


class _Rest(msgspec.Struct):
    """Locks whose queues are still to be tried, and the jobs that have tried."""

    keys: set[str]
    tried: set[int]


REST = "lock lines to go on with"
"""The fact that keeps them, in the order in which they are to be seen to."""


def put_off(tx: Transaction, keys: set[str], tried: set[int], *, first: bool) -> None:
    """Too many have tried for these locks: the rest of their queues try later."""
    rests = _rests(tx)
    if first:
        rests.insert(0, _Rest(keys, tried))
    elif len(rests) < 2:
        rests.append(_Rest(keys, tried))
    else:  # the last has not begun: what it leaves out, this leaves out too, or both try it
        rests[-1] = _Rest(rests[-1].keys | keys, rests[-1].tried & tried)
    _keep(tx, rests)
    tx.wake(DUE)


def is_put_off(tx: Transaction) -> bool:
    """Whether there are queues left to try."""
    return bool(_rests(tx))


def take_up(tx: Transaction) -> tuple[set[str], set[int]]:
    """The locks to try now, and the jobs that have tried for them."""
    rests = _rests(tx)
    if not rests:
        return set(), set()
    _keep(tx, rests[1:])
    return rests[0].keys, rests[0].tried


def _rests(tx: Transaction) -> list[_Rest]:
    kept = facts.read(tx, REST)
    return msgspec.json.decode(kept, type=list[_Rest]) if kept else []


def _keep(tx: Transaction, rests: list[_Rest]) -> None:
    facts.put(tx, REST, codec.dump(rests))
