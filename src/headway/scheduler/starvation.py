"""Starvation: jobs that a full limit has kept waiting for too long keep back what comes free.

A job starves once a limit has kept it waiting for longer than `starvation_s`. While every other
gate of it is open, it keeps back what it lacks of its limits, and once it has room all it uses,
until it starts. It keeps its place in the queue.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from headway.domain import moments, priorities, states
from headway.domain.gates import limits as limits_gate
from headway.domain.gates import pause, worker
from headway.domain.jobs import Lane
from headway.domain.limits import Keeper, Room
from headway.domain.workers import Abilities
from headway.scheduler import admit
from headway.scheduler.facts import gather
from headway.scheduler.known_workers import known_workers
from headway.scheduler.scheduler import Scheduler
from headway.storage import jobs, limits, records
from headway.storage.records import Head
from headway.storage.transaction import Transaction

MOST_STARVED = 100


class Starved(msgspec.Struct, frozen=True, kw_only=True):
    """A job that was kept waiting for too long, and since when."""

    job: Head
    lane: Lane
    since: int

    def keeper(self, amount: int) -> Keeper:
        """The job as one that keeps so much of a limit."""
        return Keeper(job=self.job.job_id, amount=amount, since=moments.from_millis(self.since))


def expect(scheduler: Scheduler, tx: Transaction) -> None:
    """The starved jobs are about to be read."""
    tx.expect("starved_jobs", **_kept_waiting(scheduler, tx))


def _kept_waiting(scheduler: Scheduler, tx: Transaction) -> dict[str, int]:
    before = tx.now_ms - int(scheduler.rules.starvation_s * 1000)
    return {"before": before, "count": MOST_STARVED}


def starved(
    scheduler: Scheduler, tx: Transaction, claimer: Abilities | None = None
) -> Sequence[Starved]:
    """Those that starve and could use the limit now, the longest first; a claimer has a slot."""
    marked = tx.values(Head, "starved_jobs", **_kept_waiting(scheduler, tx))
    if not marked:
        return []
    lanes = jobs.lanes(tx, {job.lane_id for job in marked})
    found = {one.job.number: one for one in _with_lane_mates(scheduler, tx, marked, lanes)}
    longest = sorted(found.values(), key=lambda one: (one.since, one.job.order))[:MOST_STARVED]
    able = _Able(scheduler, tx, longest, claimer)
    return [one for one in longest if able.could_start(one)]


def _with_lane_mates(
    scheduler: Scheduler, tx: Transaction, marked: Sequence[Head], lanes: Mapping[int, Lane]
) -> Iterator[Starved]:
    """A limit that holds the head of a lane holds every job of it, since each was ready."""
    before = _kept_waiting(scheduler, tx)["before"]
    first: dict[int, int] = {}
    for job in marked:
        since = job.limited_since or 0
        yield Starved(job=job, lane=lanes[job.lane_id], since=since)
        if job.status is states.QUEUED:
            first.setdefault(job.lane_id, since)
    for lane_id, since in first.items():
        page = records.lane_page(lane_id, priorities.BEFORE_ALL, MOST_STARVED)
        for job in tx.values(Head, "lane_heads", **page):
            waits = max(since, job.queued_at or since)
            if job.limited_since is None and waits <= before:
                yield Starved(job=job, lane=lanes[lane_id], since=waits)


class _Able:
    """Which of some starved jobs could start now if their limits had room."""

    def __init__(
        self,
        scheduler: Scheduler,
        tx: Transaction,
        those: Sequence[Starved],
        claimer: Abilities | None,
    ) -> None:
        self._pauses = limits.pauses(tx)
        self._workers = known_workers(scheduler, tx)
        self._claimer = claimer
        gated = jobs.read(tx, [one.job.number for one in those if one.job.gated])
        facts = gather(scheduler, tx, gated)
        self._held = {one.number for one in gated if admit.first_closed(one, facts) is not None}

    def could_start(self, one: Starved) -> bool:
        """Whether every gate but the limits is open."""
        return (
            one.job.number not in self._held
            and pause.check(one.lane, self._pauses, None) is None
            and self._has_worker(one)
        )

    def _has_worker(self, one: Starved) -> bool:
        if one.job.status in states.CLAIMS:
            return True
        if self._claimer is not None and self._claimer.refusal(one.lane) is None:
            return True
        return worker.check(one.lane, self._workers) is None


class Rooms:
    """Each limit as a job sees it: without what jobs keep back that starve for longer."""

    def __init__(self, scheduler: Scheduler, tx: Transaction, *, with_users: bool = False) -> None:
        self._rooms = limits.rooms(tx, scheduler.concurrency, with_users=with_users)
        self._of_starved: dict[int, Mapping[str, Room]] = {}
        for one in starved(scheduler, tx):
            self._of_starved[one.job.number] = dict(self._rooms)
            kept = limits_gate.kept_for(scheduler.concurrency.uses(one.lane), self._rooms)
            for name, amount in kept.items():
                self._rooms[name] = self._rooms[name].keep_for(one.keeper(amount))

    def seen_by(self, number: int) -> Mapping[str, Room]:
        """The limits as this job sees them; all that do not starve see the same."""
        return self._of_starved.get(number, self._rooms)
