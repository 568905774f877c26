"""Starvation: what is released of a limit is reserved for jobs that waited too long for it.

A job starves once a limit has kept it waiting for longer than `starvation_s`. While every other
gate of it is open, it keeps back what it lacks of its limits, and once it has room all it uses,
until it starts. It keeps its place in the queue.
"""

from collections.abc import Mapping, Sequence

import msgspec

from headway.domain import states
from headway.domain.gates import limits as limits_gate
from headway.domain.gates import pause, worker
from headway.domain.jobs import Lane
from headway.domain.manage.limits import Keeper, Room
from headway.domain.values import moments, priorities
from headway.domain.workers import Abilities
from headway.scheduler.admit.gate_facts import gather
from headway.scheduler.admit.live_workers import known_workers
from headway.scheduler.admit.own_gates import first_closed
from headway.scheduler.scheduler import Scheduler
from headway.storage import jobs, lanes
from headway.storage.engine.question import Question
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import limits
from headway.storage.records import Head

MOST_STARVED = 100


class Starved(msgspec.Struct, frozen=True, kw_only=True):
    """A job that was kept waiting for too long, since when, and since when its lane was.

    `keeps` says whether nothing but its limits keeps it waiting now.
    """

    job: Head
    lane: Lane
    since: int
    mark: int
    keeps: bool

    def keeper(self, amount: int) -> Keeper:
        """The job as one that keeps so much of a limit."""
        return Keeper(job=self.job.job_id, amount=amount, since=moments.from_millis(self.since))


def kept_waiting(scheduler: Scheduler, tx: Transaction) -> Question[list[Head]]:
    """Which jobs have full limits kept waiting for too long?"""
    return lanes.kept_waiting(_too_long_since(scheduler, tx), MOST_STARVED)


def _too_long_since(scheduler: Scheduler, tx: Transaction) -> int:
    return tx.now_ms - int(scheduler.rules.starvation_s * 1000)


def starved(
    scheduler: Scheduler, tx: Transaction, claimer: Abilities | None = None
) -> Sequence[Starved]:
    """Jobs that starve, the longest first; alike, in the order of the queue."""
    (marked,) = tx.ask(kept_waiting(scheduler, tx))
    if not marked:
        return []
    marks = _marks(marked)
    longest = _longest(scheduler, tx, marked, marks)
    known = lanes.read(tx, {job.lane_id for job in marked})
    able = _Able(scheduler, tx, [job for _, job in longest], known, claimer)
    return [
        Starved(
            job=job,
            lane=known[job.lane_id],
            since=since,
            mark=marks.get(job.lane_id, since),
            keeps=able.could_start(job),
        )
        for since, job in longest
    ]


def _marks(marked: Sequence[Head]) -> dict[int, int]:
    """Since when limits have kept the jobs of lanes waiting; claimed jobs wait for themselves."""
    found: dict[int, int] = {}
    for job in marked:
        if job.status is states.QUEUED:
            found.setdefault(job.lane_id, job.limited_since or 0)
    return found


def _longest(
    scheduler: Scheduler, tx: Transaction, marked: Sequence[Head], marks: Mapping[int, int]
) -> list[tuple[int, Head]]:
    """Jobs that have waited for too long as their lanes have, or since they were ready."""
    found = {job.number: job for job in marked}
    for lane_id in marks:
        (heads,) = tx.ask(lanes.heads(lane_id, priorities.BEFORE_ALL, MOST_STARVED))
        found |= {job.number: job for job in heads}
    before = _too_long_since(scheduler, tx)
    waits = [(_since(job, marks), job) for job in found.values()]
    starving = [(since, job) for since, job in waits if since <= before]
    return sorted(starving, key=lambda one: (one[0], one[1].order))[:MOST_STARVED]


def _since(job: Head, marks: Mapping[int, int]) -> int:
    claimed = job.status in states.CLAIMS
    mark = job.limited_since if claimed else marks[job.lane_id]
    return max(mark or 0, job.queued_at or 0)


class _Able:
    """Which of some starved jobs could start now if their limits had room."""

    def __init__(
        self,
        scheduler: Scheduler,
        tx: Transaction,
        those: Sequence[Head],
        lanes: Mapping[int, Lane],
        claimer: Abilities | None,
    ) -> None:
        self._scheduler = scheduler
        self._tx = tx
        self._lanes = lanes
        self._claimer = claimer
        self._pauses = limits.pauses(tx)
        self._open: dict[int, bool] = {}
        gated = jobs.read(tx, [job.number for job in those if job.gated])
        facts = gather(scheduler, tx, gated)
        self._held = {one.number for one in gated if first_closed(one, facts) is not None}

    def could_start(self, job: Head) -> bool:
        """Whether every gate but the limits is open; a claimed job has its worker."""
        if job.number in self._held:
            return False
        if job.status in states.CLAIMS:
            return self._is_unpaused(job.lane_id)
        if job.lane_id not in self._open:
            is_open = self._is_unpaused(job.lane_id) and self._has_worker(job.lane_id)
            self._open[job.lane_id] = is_open
        return self._open[job.lane_id]

    def _is_unpaused(self, lane_id: int) -> bool:
        return pause.check(self._lanes[lane_id], self._pauses, None) is None

    def _has_worker(self, lane_id: int) -> bool:
        """Whether a worker takes such jobs; that all of them are full is no reason to wait."""
        lane = self._lanes[lane_id]
        if self._claimer is not None and self._claimer.refusal(lane) is None:
            return True
        known = known_workers(self._scheduler, self._tx, with_jobs=False)
        return worker.check(lane, known) is None


class Rooms:
    """Each limit as a job sees it: without what is reserved for jobs starved for longer."""

    def __init__(self, scheduler: Scheduler, tx: Transaction, *, with_users: bool = False) -> None:
        self._rooms = limits.rooms(tx, scheduler.concurrency, with_users=with_users)
        self._of_starved: dict[int, Mapping[str, Room]] = {}
        for one in starved(scheduler, tx):
            self._of_starved[one.job.number] = self._rooms.copy()
            if one.keeps:
                reserve(self._rooms, one, scheduler.concurrency.uses(one.lane))

    def seen_by(self, number: int) -> Mapping[str, Room]:
        """The limits as this job sees them; all that do not starve see the same."""
        return self._of_starved.get(number, self._rooms)


def reserve(rooms: dict[str, Room], one: Starved, uses: Mapping[str, int]) -> Mapping[str, int]:
    """Reserve what a starved job needs of the limits, and return it."""
    kept = limits_gate.kept_for(uses, rooms)
    for name, amount in kept.items():
        rooms[name] = rooms[name].keep_for(one.keeper(amount))
    return kept
