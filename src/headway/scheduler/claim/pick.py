"""Picking: the jobs that a claim takes, merged from the lanes in exact queue order."""

import heapq
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from headway.domain import states
from headway.domain.jobs import Lane
from headway.domain.manage.limits import Rate
from headway.domain.values import priorities
from headway.domain.workers import Abilities
from headway.protocol.work_shapes import MOST_PER_CLAIM
from headway.scheduler import alone
from headway.scheduler.admit import late_threads, own_gates, starvation
from headway.scheduler.admit.gate_facts import Facts
from headway.scheduler.admit.lane_gates import NO_JOB
from headway.scheduler.claim import duplicates, lane_order
from headway.scheduler.scheduler import Scheduler
from headway.storage import holds, jobs, lanes
from headway.storage.engine.question import Question
from headway.storage.engine.transaction import DUE, Transaction
from headway.storage.lanes import Order, ReadyLane
from headway.storage.manage import limits
from headway.storage.records import Head

MOST_EXPECTED = 50
"""The heads of so many lanes are read together, where that takes less time."""

MOST_PASSED_OVER = 1000
"""How many jobs one claim sends to wait or skips before it returns."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A job at the head of its lane, or one that starves: then it says since when its lane does."""

    job: Head
    lane: Lane
    mark: int | None = None


class ClaimRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A claim: the worker, how many jobs, and whether they start at once."""

    worker_id: str
    abilities: Abilities
    max_jobs: int = 1
    lease: bool = True
    ttl_s: float | None = None
    only_job: int | None = None


@dataclass
class Picked:
    """What one claim comes to: jobs to start, and jobs to pass over, by the reason."""

    chosen: list[Candidate] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    skipped: list[Candidate] = field(default_factory=list)
    limited: list[Candidate] = field(default_factory=list)
    marks: dict[int, int] = field(default_factory=dict)
    """Lanes that have no room after a job was taken, and since when it had waited for that."""
    rates: Mapping[str, Rate] = field(default_factory=dict)


class Picker:
    """Checks candidates one by one, each with those taken before it."""

    def __init__(
        self,
        scheduler: Scheduler,
        tx: Transaction,
        request: ClaimRequest,
        ready: Mapping[int, ReadyLane],
    ) -> None:
        self._scheduler = scheduler
        self._tx = tx
        self._request = request
        self._ready = ready
        self._count = min(request.max_jobs, MOST_PER_CLAIM)
        self._rooms = limits.rooms(tx, scheduler.concurrency, ahead=self._asked_next())
        tx.look_at_the_clock()  # all row locks are held: leases last from here on
        self._facts = Facts(scheduler, tx)
        self._late = late_threads.late_chains(scheduler, tx)
        self._left: dict[str, int | None] = {}
        self._starved: dict[int, Candidate] = {}
        self._keeps: dict[int, Mapping[str, int]] = {}
        self._uses: dict[int, Mapping[str, int]] = {}
        self._closed: set[int] = set()
        self._seen: set[int] = set()
        rates = {name: room.rate for name, room in self._rooms.items() if room.rate is not None}
        self.picked = Picked(rates=rates)

    def _asked_next(self) -> Iterator[Question[list[Head]]]:
        """The jobs that starve and the first jobs of the first lanes."""
        if self._request.lease:
            yield starvation.kept_waiting(self._scheduler, self._tx)
        if self._request.only_job is None:
            for one in heapq.nsmallest(
                MOST_EXPECTED, self._ready.values(), key=lambda one: one.first
            ):
                yield lanes.heads(one.lane_id, priorities.BEFORE_ALL, self._count)

    def pick(self) -> Picked:
        """Take the heads of the lanes in queue order, beside what is kept for starved jobs."""
        if self._request.lease:
            self._reserve_for_starved()
        candidates = self._in_order()
        for candidate in self._held(candidates) if holds.are_needed(self._tx) else candidates:
            number = candidate.job.number
            passed = candidate.job.lane_id in self._closed and number not in self._starved
            if number in self._seen or passed:
                continue
            if not self._consider(self._starved.get(number, candidate)):
                break
        return self.picked

    def _reserve_for_starved(self) -> None:
        """Reserve what starved jobs need, the longest first, wherever they are in the queue.

        Behind one that has no room, those of its lane have none and keep back nothing new.
        """
        rooms, full = self._rooms.copy(), set[int]()
        for one in starvation.starved(self._scheduler, self._tx, self._request.abilities):
            if not one.keeps or one.job.lane_id in full:
                continue
            candidate = Candidate(job=one.job, lane=one.lane, mark=one.mark)
            uses = self._uses_of(candidate)
            if not all(rooms[name].fits(amount) for name, amount in uses.items()):
                full.add(one.job.lane_id)
            self._starved[one.job.number] = candidate
            self._keeps[one.job.number] = starvation.reserve(rooms, one, uses)

    def _consider(self, candidate: Candidate) -> bool:
        """Take the candidate or pass over it; False when the claim is full."""
        self._seen.add(candidate.job.number)
        if self._late and self._waits_for_thread(candidate.job.number):
            return True
        if candidate.job.says("start_within_s") and self._has_expired(candidate.job.number):
            return True
        uses = self._uses_of(candidate)
        has_room = not self._request.lease or self._fits(candidate.job.number, uses)
        if candidate.job.gated and not self._is_still_open(candidate, has_room):
            self.picked.refused.append(candidate.job.number)
        elif not has_room:
            self._closed.add(candidate.job.lane_id)
            self.picked.limited.append(candidate)
            if any(self._rooms[name].rate for name in uses):
                self._tx.wake(DUE)  # a job waits for the rate now: its opening is a due time
        elif candidate.job.dedup_key and duplicates.is_duplicate(self._tx, candidate):
            self.picked.skipped.append(candidate)
        else:
            self._take(candidate, uses)
        passed_over = len(self.picked.refused) + len(self.picked.skipped)
        return len(self.picked.chosen) < self._count and passed_over < MOST_PASSED_OVER

    def _waits_for_thread(self, number: int) -> bool:
        (record,) = jobs.read(self._tx, [number])
        return late_threads.closed(self._late, record) is not None

    def _has_expired(self, number: int) -> bool:
        """Whether it should have started before; then the timekeeper is about to end it."""
        (record,) = jobs.read(self._tx, [number])
        return record.expires_at is not None and record.expires_at <= self._tx.now_ms

    def _take(self, candidate: Candidate, uses: Mapping[str, int]) -> None:
        number = candidate.job.number
        self.picked.chosen.append(candidate)
        self._keeps.pop(number, None)
        if self._request.lease:
            self._use(candidate, uses)
        mark = candidate.mark or candidate.job.limited_since
        if mark is not None and not self._fits(number, uses):
            self.picked.marks.setdefault(candidate.job.lane_id, mark)

    def _use(self, candidate: Candidate, uses: Mapping[str, int]) -> None:
        """What the candidate takes is not there for those that are considered after it."""
        for name, amount in uses.items():
            left = self._left_of(name)
            if left is not None:
                self._left[name] = left - amount
        if candidate.job.gated:
            self._facts.locks.hold(candidate.job)

    def _fits(self, number: int, uses: Mapping[str, int]) -> bool:
        """Whether a job fits beside those taken before it and what is kept for others."""
        for name, amount in uses.items():
            left = self._left_of(name)
            if left is not None and amount > left - (self._kept(name, number) if amount else 0):
                return False
        return True

    def _left_of(self, name: str) -> int | None:
        if name not in self._left:
            self._left[name] = self._rooms[name].left
        return self._left[name]

    def is_full_for(self, one: ReadyLane) -> bool:
        """Whether a limit has no room for one more job of this lane."""
        return not self._fits(NO_JOB, self._uses_in(one.lane_id, one.lane))

    def _kept(self, name: str, number: int) -> int:
        """What is reserved of a limit for jobs starved for longer than this one."""
        kept = 0
        for keeper, amounts in self._keeps.items():
            if keeper == number:
                break
            kept += amounts.get(name, 0)
        return kept

    def _uses_of(self, candidate: Candidate) -> Mapping[str, int]:
        return self._uses_in(candidate.job.lane_id, candidate.lane)

    def _uses_in(self, lane_id: int, lane: Lane) -> Mapping[str, int]:
        """What a job of this lane uses of the limits that are defined."""
        if lane_id not in self._uses:
            uses = self._scheduler.concurrency.uses(lane)
            known = {name: amount for name, amount in uses.items() if name in self._rooms}
            self._uses[lane_id] = known
        return self._uses[lane_id]

    def _is_still_open(self, candidate: Candidate, has_room: bool) -> bool:
        """Check again what may have changed since admission: artifacts, branches, locks.

        This comes before the limits, as the gates do. A job without room is not taken, and need
        not be kept from others for that.
        """
        if has_room:
            alone.to_claim(self._tx, candidate.job)
        record = jobs.read(self._tx, [candidate.job.number])[0]
        self._facts.load([record])
        closed = own_gates.first_closed(record, self._facts)
        if closed is not None and closed.status is states.WAITING_ON_LOCKS:
            self._facts.locks.line_up(record)
        return closed is None

    def _in_order(self) -> Iterator[Candidate]:
        if self._request.only_job is not None:
            return self._only(self._request.only_job)
        heads = {lane_id: one.first for lane_id, one in self._ready.items()}
        ready = lane_order.merged(heads, self._lane_in_order, _order)
        if not self._starved:
            return ready
        return heapq.merge(ready, self._starved_in_order(), key=_order)

    def _starved_in_order(self) -> Iterator[Candidate]:
        """Starved jobs of open lanes; one may have room though others before it have none."""
        ours = [one for one in self._starved.values() if one.job.lane_id in self._ready]
        ready = [one for one in ours if one.job.status is states.QUEUED]
        return iter(sorted(ready, key=lambda one: one.job.order))

    def _held(self, candidates: Iterator[Candidate]) -> Iterator[Candidate]:
        """Pass over those that another claim is about to take at this moment.

        A claim from a lane that uses a limit has locked that limit, and is alone.
        """
        in_vain = 0
        while page := list(itertools.islice(candidates, self._wanted << in_vain)):
            contested = [one.job.number for one in page if not self._uses_of(one)]
            held = holds.ready_jobs(self._tx, contested) if contested else set()
            ours = [one for one in page if one.job.number in held or self._uses_of(one)]
            in_vain = 0 if ours else min(in_vain + 1, 10)
            yield from ours

    @property
    def _wanted(self) -> int:
        return self._count - len(self.picked.chosen)

    def _only(self, number: int) -> Iterator[Candidate]:
        """The one job that this worker is there for, if it may start."""
        for job in jobs.read(self._tx, [number]):
            if job.status is states.QUEUED and job.due_at is None and job.lane_id in self._ready:
                yield Candidate(job=job, lane=self._ready[job.lane_id].lane)

    def _lane_in_order(self, lane_id: int) -> Iterator[Candidate]:
        """The jobs of a lane, page by page."""
        lane = self._ready[lane_id].lane
        place, count = priorities.BEFORE_ALL, self._count
        while heads := self._tx.ask(lanes.heads(lane_id, place, count))[0]:
            for job in heads:
                if lane_id in self._closed:
                    return
                yield Candidate(job=job, lane=lane)
            if len(heads) < count or lane_id in self._closed:
                return
            place = (job.priority, job.position, job.number)
            count = min(2 * count, MOST_PER_CLAIM)


def _order(candidate: Candidate) -> Order:
    return candidate.job.order
