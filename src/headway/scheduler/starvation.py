"""Starvation: jobs that a full limit has kept waiting for too long keep back what comes free."""

from collections.abc import Iterator, Mapping

import msgspec

from headway.domain import states
from headway.domain.gates import limits as limits_gate
from headway.domain.jobs import Lane
from headway.domain.limits import Room
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
                rooms[name] = rooms[name].keep_back(amount)
        return True


def starved(scheduler: Scheduler, tx: Transaction) -> Iterator[Starved]:
    """Those that starve, the longest first."""
    before = tx.now_ms - int(scheduler.rules.starvation_s * 1000)
    heads = tx.values(Head, "starved_jobs", before=before, count=MOST_STARVED)
    lanes = jobs.lanes(tx, {job.lane_id for job in heads}) if heads else {}
    return (Starved(job=job, lane=lanes[job.lane_id]) for job in heads)


def rooms_for(scheduler: Scheduler, tx: Transaction, number: int) -> dict[str, Room]:
    """Each limit as this job sees it: without what jobs keep back that starve for longer."""
    rooms = limits.rooms(tx, scheduler.concurrency)
    for one in starved(scheduler, tx):
        if one.job.number == number:
            break
        one.keep_back(scheduler.concurrency.uses(one.lane), rooms)
    return rooms
