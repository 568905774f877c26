"""Admit: check the gates of jobs, record their status, and let lock waiters try."""

from collections.abc import Collection, Iterable

from headway.scheduler.admit import limit_waits, lock_queues
from headway.scheduler.admit.standing import Blocked, look
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord

MOST_TRIED = 1000
"""How many may try for locks that came free in one transaction; the timekeeper sees to the rest."""


def admit(
    scheduler: Scheduler,
    tx: Transaction,
    numbers: Collection[int],
    *,
    freed: Collection[str] = (),
    tried: Collection[int] = (),
) -> list[Blocked]:
    """Check the gates of these jobs and of the next for these locks; return those never to start.

    `tried` are jobs that have tried for the locks in an earlier transaction.
    """
    admission = Admission(scheduler, tx, freed=freed, tried=tried)
    blocked = admission.round(numbers)
    while admission.goes_on:
        blocked += admission.round()
    admission.end()
    return blocked


class Admission:
    """Rounds of looking at gates in one transaction: a lock that comes free lets the next try."""

    def __init__(
        self,
        scheduler: Scheduler,
        tx: Transaction,
        *,
        freed: Collection[str] = (),
        tried: Collection[int] = (),
    ) -> None:
        self._scheduler = scheduler
        self._tx = tx
        self._freed = set(freed)
        self._tried = set(tried)
        self._continues = bool(tried)
        self._trying: set[int] = set()
        self._tries_left = MOST_TRIED
        self._put_off: set[str] = set()

    @property
    def goes_on(self) -> bool:
        """Whether there are jobs that have not tried yet."""
        return bool(self._trying)

    def round(
        self,
        numbers: Collection[int] = (),
        *,
        ended: Collection[JobRecord] = (),
        ending: Collection[int] = (),
    ) -> list[Blocked]:
        """Look at these jobs and at those whose turn it is; return those that can never start.

        `ended` have just ended and free their locks; `ending` will end next and are left out.
        """
        found = look(self._scheduler, self._tx, (self._trying | set(numbers)) - set(ending))
        _pass_on_marks(self._tx, [*ended, *found.unmarked])
        waits_still = (one for one in found.locked if one.number in self._tried)
        freed = self._freed | found.left | lock_queues.keys_of(waits_still)
        freed |= lock_queues.keys_of(one for one in ended if one.gated)
        if ended:  # they may have kept a lock from jobs that tried in vain
            self._tried = set()
        waits_now = [one for one in found.locked if one.is_ready]
        self._choose(freed, found.unseen | lock_queues.shared_behind(self._tx, waits_now))
        return found.blocked

    def _choose(self, freed: set[str], unseen: set[int]) -> None:
        """Choose the jobs that try in the next round, as far as this transaction has room."""
        trying = lock_queues.next_in_line(self._tx, freed, self._tried) | (unseen - self._tried)
        if trying and self._tries_left <= 0:
            self._put_off |= freed
            trying = set()
        self._tried |= trying
        self._tries_left -= len(trying)
        self._trying = trying
        self._freed = set()

    def end(self) -> None:
        """Leave what was put off to later transactions."""
        if self._put_off:
            lock_queues.put_off(self._tx, self._put_off, self._tried, first=self._continues)


def _pass_on_marks(tx: Transaction, gone: Iterable[JobRecord]) -> None:
    """Jobs that a full limit kept waiting no longer do: the next of their lanes have waited too."""
    marked = [one for one in gone if one.limited_since is not None]
    limit_waits.hand_on(tx, {one.lane_id: one.limited_since or 0 for one in marked})
