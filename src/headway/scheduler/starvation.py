"""Starvation: jobs that a full limit has kept waiting for too long keep back what comes free."""

from collections.abc import Iterator, Mapping

import msgspec

from headway.domain import moments, states
from headway.domain.gates import limits as limits_gate
from headway.domain.gates import pause
from headway.domain.jobs import Lane
from headway.domain.limits import Keeper, Room
from headway.scheduler.scheduler import Scheduler
from headway.storage import jobs, limits
from headway.storage.records import Head
from headway.storage.transaction import Transaction

MOST_STARVED = 100


class Starved(msgspec.Struct, frozen=True, kw_only=True):
    """A job that was kept waiting for too long."""

    job: Head
    lane: Lane

    def keep_back(self, uses: Mapping[str, int], rooms: dict[str, Room]) -> bool:
        """Reserve what the job needs; False when it may start now and has no worker yet."""
        known = {name: amount for name, amount in uses.items() if name in rooms}
        closed = limits_gate.check(known, rooms)
        if closed is None and self.job.status not in states.CLAIMS:
            return False
        for name, amount in known.items():
            # A claimed job has all it needs kept for it, until its worker comes back.
            if closed is None or not (closed.forever or rooms[name].has_space(amount)):
                rooms[name] = rooms[name].keep_for(self._keeper(amount))
        return True

    def _keeper(self, amount: int) -> Keeper:
        since = moments.maybe_from_millis(self.job.limited_since)
        return Keeper(job=self.job.job_id, amount=amount, since=since)


def expect(scheduler: Scheduler, tx: Transaction) -> None:
    """Somebody is about to look for those that starve."""
    tx.expect("starved_jobs", **_kept_waiting(scheduler, tx))


def _kept_waiting(scheduler: Scheduler, tx: Transaction) -> dict[str, int]:
    before = tx.now_ms - int(scheduler.rules.starvation_s * 1000)
    return {"before": before, "count": MOST_STARVED}


def starved(scheduler: Scheduler, tx: Transaction) -> Iterator[Starved]:
    """Those that starve, the longest first; one that is paused keeps nothing back."""
    heads = tx.values(Head, "starved_jobs", **_kept_waiting(scheduler, tx))
    lanes = jobs.lanes(tx, {job.lane_id for job in heads}) if heads else {}
    pauses = limits.pauses(tx) if heads else ()
    for job in heads:
        if pause.check(lanes[job.lane_id], pauses, None) is None:
            yield Starved(job=job, lane=lanes[job.lane_id])


class Rooms:
    """Each limit as a job sees it: without what jobs keep back that starve for longer."""

    def __init__(self, scheduler: Scheduler, tx: Transaction, *, with_users: bool = False) -> None:
        self._rooms = limits.rooms(tx, scheduler.concurrency, with_users=with_users)
        self._of_starved: dict[int, Mapping[str, Room]] = {}
        for one in starved(scheduler, tx):
            self._of_starved[one.job.number] = dict(self._rooms)
            one.keep_back(scheduler.concurrency.uses(one.lane), self._rooms)

    def seen_by(self, number: int) -> Mapping[str, Room]:
        """The limits as this job sees them; all that do not starve see the same."""
        return self._of_starved.get(number, self._rooms)
