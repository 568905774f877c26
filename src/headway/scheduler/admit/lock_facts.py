"""The facts of the locks gate: the holders of locks, and the queues for them."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from headway.domain.gates import locks, pause
from headway.domain.gates.locks import Holder
from headway.domain.jobs import Lock, Mode
from headway.storage import lanes
from headway.storage import locks as stored_locks
from headway.storage.admit import lock_lines
from headway.storage.admit.lock_lines import Exclusive, Standing
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import limits
from headway.storage.records import Head

MOST_IN_LINE = 200
"""How many jobs of a lane in the queue for a lock are checked to find one that waits."""

MOST_NAMED = 1000
"""So many jobs that want a lock alone are named."""


class _Exclusive(NamedTuple):
    """A job in the queue for a lock that wants it exclusively, and all the locks it wants."""

    order: tuple[int, int, int]
    holder: Holder
    locks: tuple[Lock, ...]
    standing: Standing = Standing.WAITS
    denied: bool = False

    @property
    def number(self) -> int:
        """The number of the job."""
        return self.order[2]


class LockFacts:
    """Holders and queues of some locks; to name all jobs ahead takes the whole queues."""

    def __init__(self, tx: Transaction, *, whole_lines: bool) -> None:
        self._tx = tx
        self._whole_lines = whole_lines
        self._locks_read: set[str] = set()
        self._holders: dict[str, list[Holder]] = {}
        self._lines_read: set[str] = set()
        self._exclusives: dict[str, list[_Exclusive]] = {}

    def load(self, wanted: Collection[Lock]) -> None:
        """Read what decides about these locks."""
        self._load_holders({lock.key for lock in wanted})
        shared = {lock.key for lock in wanted if lock.mode is Mode.SHARED}
        while shared := shared - self._lines_read:
            shared = self._load_lines(shared)

    def holders(self, record: Head) -> list[Holder]:
        """The holders of the locks that the job wants."""
        return [one for lock in record.terms.locks for one in self._holders.get(lock.key, ())]

    def ahead(self, record: Head) -> list[Holder]:
        """Jobs ahead that wait for one of the job's locks exclusively."""
        return [
            one.holder
            for lock in record.terms.locks
            for one in self._exclusives_before(lock.key, record.order)
        ]

    def _exclusives_before(self, key: str, order: tuple[int, int, int]) -> Iterator[_Exclusive]:
        """Those before a place that wait for any of their locks, and want this one alone."""
        for one in sorted(self._exclusives.get(key, ()), key=lambda one: one.order):
            if one.order < order and self._waits(one):
                yield one

    def ready_that_wait(self, record: Head) -> set[int]:
        """Jobs that block this one and wait themselves, although that is not recorded yet."""
        shared = [lock.key for lock in record.terms.locks if lock.mode is Mode.SHARED]
        before = (one for key in shared for one in self._exclusives_before(key, record.order))
        return {one.number for one in before if one.standing is Standing.READY}

    def _waits(self, one: _Exclusive) -> bool:
        """Whether a held lock blocks a job, or a waiting job ahead of it does.

        A claimed job waits for its other locks only once it was denied its lease for them.
        """
        if one.standing is Standing.CLAIMED:
            return one.denied or bool(self._holders.get(one.holder.key))
        held = [holder for lock in one.locks for holder in self._holders.get(lock.key, ())]
        return locks.check(one.locks, held) is not None or any(
            next(self._exclusives_before(lock.key, one.order), None) is not None
            for lock in one.locks
            if lock.mode is Mode.SHARED
        )

    def hold(self, record: Head) -> None:
        """The job takes its locks, for those that are looked at after it."""
        for lock in record.terms.locks:
            holder = Holder(key=lock.key, mode=lock.mode, job=record.job_id, since=self._tx.now)
            self._holders.setdefault(lock.key, []).append(holder)

    def line_up(self, record: Head) -> None:
        """The job waits for its locks: shared ones behind it must not overtake it."""
        for lock in record.terms.locks:
            if lock.mode is Mode.EXCLUSIVE:
                holder = Holder(key=lock.key, mode=Mode.EXCLUSIVE, job=record.job_id)
                self._stand(_Exclusive(record.order, holder, record.terms.locks))

    def _stand(self, one: _Exclusive) -> None:
        line = self._exclusives.setdefault(one.holder.key, [])
        if all(other.number != one.number for other in line):
            line.append(one)

    def _load_holders(self, wanted: Collection[str]) -> None:
        keys = set(wanted) - self._locks_read
        if not keys:
            return
        self._locks_read |= keys
        for holder in stored_locks.holders(self._tx, keys):
            self._holders.setdefault(holder.key, []).append(holder)

    def _load_lines(self, keys: Collection[str]) -> set[str]:
        """Read the exclusive waiters of these locks; return the locks that they want shared.

        One that is paused blocks no other.
        """
        self._lines_read |= set(keys)
        found = self._exclusives_of(keys)
        if not found:
            return set()
        wanted = lock_lines.wanted(self._tx, {one.number for one in found})
        every = [lock for some in wanted.values() for lock in some]
        self._load_holders({lock.key for lock in every})
        pauses = limits.pauses(self._tx)
        known = lanes.read(self._tx, {one.lane_id for one in found}) if pauses else {}
        for one in found:
            if pauses and pause.check(known[one.lane_id], pauses, None) is not None:
                continue
            holder = Holder(key=one.key, mode=Mode.EXCLUSIVE, job=one.job_id)
            locks_wanted = wanted[one.number]
            self._stand(_Exclusive(one.order, holder, locks_wanted, one.standing, one.denied))
        return {lock.key for lock in every if lock.mode is Mode.SHARED}

    def _exclusives_of(self, keys: Collection[str]) -> list[Exclusive]:
        if self._whole_lines:
            return lock_lines.all_exclusives(self._tx, keys, MOST_NAMED)
        return lock_lines.first_exclusives(self._tx, keys, MOST_IN_LINE)
