"""The history as it is kept."""

import itertools
import time
from collections.abc import Callable, Collection
from functools import partial

from headway.domain.events import Event
from headway.domain.values import moments
from headway.storage.engine import codec
from headway.storage.engine.question import Row
from headway.storage.engine.transaction import Transaction

LOOK_AGAIN_S = 0.05
MOST_LOOKS = 40
MOST_UNCERTAIN = 1000
"""How many of the last lines may have appeared before lines with lower numbers."""


def after(tx: Transaction, seq: int, count: int) -> list[Event]:
    """What happened after a line of history."""
    return [_event(row) for row in tx.rows("events_after", seq=seq, count=count)]


def before_last(tx: Transaction, count: int) -> int:
    """The number after which so many lines follow."""
    numbers = [row["seq"] for row in tx.rows("last_event_numbers", count=count)]
    return numbers[-1] - 1 if numbers else 0


def settled(
    read: Callable[[Callable[[Transaction], list[Event]]], list[Event]], seq: int, count: int
) -> list[Event]:
    """What happened after a line of history, up to where lines may still be missing."""
    follower = Follower(seq)
    found: list[Event] = []
    for _ in range(MOST_LOOKS):
        found += read(partial(follower.read, count=count - len(found)))
        if follower.wait_s is None or len(found) == count:
            break
        time.sleep(follower.wait_s)
    return found


def from_now(tx: Transaction) -> "Follower":
    """Follows what is committed from now on, also under numbers that were taken before."""
    numbers = [row["seq"] for row in tx.rows("last_event_numbers", count=MOST_UNCERTAIN)]
    if not numbers:
        return Follower(0)
    there = set(numbers)
    certain = next(n for n in itertools.count(numbers[-1]) if n + 1 not in there)
    return Follower(certain, told={n for n in there if n > certain})


class Follower:
    """Reads on and on from a line of history, and misses none that is committed late.

    Where several write at once, a line may appear after others with higher numbers. So at a missing
    number the follower waits until all transactions have ended that wrote when it was seen: then
    the line is there, or never will be.
    """

    def __init__(self, seq: int, told: Collection[int] = ()) -> None:
        self.seq = seq
        self._told = told
        self.wait_s: float | None = None
        """When to read on; None: when there is something new."""
        self._decided = 0
        self._seen = 0
        self._writers: set[str] = set()

    def read(self, tx: Transaction, count: int) -> list[Event]:
        """The next lines that are certain."""
        rows = tx.rows("events_after", seq=self.seq, count=count)
        known = list(itertools.takewhile(self._is_next, rows))
        self.wait_s = 0.0 if len(known) == count else None
        if len(known) < len(rows):
            self._note_open_writers(tx, rows[-1]["seq"])
            self.wait_s = LOOK_AGAIN_S if self._writers else 0.0
        return [_event(row) for row in known if row["seq"] not in self._told]

    def _is_next(self, row: Row) -> bool:
        is_next: bool = row["seq"] == self.seq + 1 or row["seq"] <= self._decided
        if is_next:
            self.seq = row["seq"]
        return is_next

    def _note_open_writers(self, tx: Transaction, seen: int) -> None:
        # Only the next read surely sees what those wrote who have ended by now.
        writing = {row["writer"] for row in tx.rows("event_writers")}
        if not self._seen:
            self._seen, self._writers = seen, writing
        self._writers &= writing
        if not self._writers:
            self._decided, self._seen = self._seen, 0


def of_job(tx: Transaction, number: int, seq: int, count: int) -> list[Event]:
    """A job's timeline."""
    return [_event(row) for row in tx.rows("events_of_job", number=number, seq=seq, count=count)]


def last_number(tx: Transaction) -> int:
    """The number of the last event; 0 if there is none."""
    row = tx.row("last_event")
    return row["seq"] if row else 0


def latest_moment(tx: Transaction, after: int, count: int) -> int | None:
    """The latest moment that one of the last events after a number names."""
    at: int | None = tx.value("latest_moment", after=after, count=count)
    return at


def first_moment_since(tx: Transaction, after: int, count: int) -> int | None:
    """The first moment after the clock was set back: no later one of the last events lies ahead."""
    at: int | None = tx.value("first_moment_since", after=after, count=count, now=tx.now_ms)
    return at


def bounds(tx: Transaction) -> tuple[int, int]:
    """The numbers of the first and the last line there is."""
    row = tx.rows("event_bounds")[0]
    return row["first"], row["last"]


def _event(row: Row) -> Event:
    return Event(
        seq=row["seq"],
        at=moments.from_millis(row["at"]),
        kind=row["kind"],
        job_id=row["job_id"],
        number=row["job_number"],
        data=codec.load(row["data"]) if row["data"] else {},
    )
