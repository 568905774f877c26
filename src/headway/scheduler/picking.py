"""Picking: the jobs that a claim takes, merged from the lanes in exact queue order."""

import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from headway.domain import priorities, states
from headway.domain.jobs import Lane
from headway.domain.limits import Rate
from headway.domain.workers import Abilities
from headway.scheduler import admit, dedup, starvation
from headway.scheduler.facts import Facts
from headway.scheduler.scheduler import Scheduler
from headway.storage import codec, holds, jobs, limits
from headway.storage.records import Head
from headway.storage.transaction import DUE, Transaction

MOST_PER_CLAIM = 1000
MOST_PASSED_OVER = 1000
"""How many jobs one claim sends to wait or skips before it answers."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A job at the head of its lane."""

    job: Head
    lane: Lane


class ClaimRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks for jobs, how many, and whether they are to start at once."""

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
    rates: Mapping[str, Rate] = field(default_factory=dict)


class Picker:
    """Looks at candidates one by one, each in the light of those taken before it."""

    def __init__(
        self,
        scheduler: Scheduler,
        tx: Transaction,
        request: ClaimRequest,
        lanes: Mapping[int, Lane],
    ) -> None:
        self._scheduler = scheduler
        self._tx = tx
        self._request = request
        self._lanes = lanes
        self._count = min(request.max_jobs, MOST_PER_CLAIM)
        starvation.expect(scheduler, tx)
        if request.only_job is None:
            for lane_id in lanes:
                tx.expect("lane_heads", **_page(lane_id, priorities.BEFORE_ALL, self._count))
        self._rooms = limits.rooms(tx, scheduler.concurrency)
        tx.look_at_the_clock()  # nobody is waited for any more: leases last from here on
        self._facts = Facts(scheduler, tx)
        self._left = {name: room.left for name, room in self._rooms.items()}
        self._uses: dict[int, Mapping[str, int]] = {}
        self._closed: set[int] = set()
        self._seen: set[int] = set()
        rates = {name: room.rate for name, room in self._rooms.items() if room.rate is not None}
        self.picked = Picked(rates=rates)

    def pick(self) -> Picked:
        """Take starved jobs first, then the heads of the lanes in queue order."""
        for candidate in self._starved():
            if not self._consider(candidate):
                return self.picked
        candidates = self._in_order()
        for candidate in self._held(candidates) if self._tx.beside else candidates:
            if candidate.job.number in self._seen or candidate.job.lane_id in self._closed:
                continue
            if not self._consider(candidate):
                break
        return self.picked

    def _consider(self, candidate: Candidate) -> bool:
        """Take the candidate or pass over it; False when the claim is full."""
        self._seen.add(candidate.job.number)
        uses = self._uses_of(candidate)
        if self._request.lease and not self._fits(uses):
            self._closed.add(candidate.job.lane_id)
            self.picked.limited.append(candidate)
            if any(self._rooms[name].rate for name in uses):
                self._tx.wake(DUE)  # somebody waits for the rate now: its opening is to be told
        elif candidate.job.gated and not self._is_still_open(candidate):
            self.picked.refused.append(candidate.job.number)
        elif candidate.job.dedup_key and dedup.is_duplicate(self._tx, candidate):
            self.picked.skipped.append(candidate)
        else:
            self._take(candidate, uses)
        passed_over = len(self.picked.refused) + len(self.picked.skipped)
        return len(self.picked.chosen) < self._count and passed_over < MOST_PASSED_OVER

    def _take(self, candidate: Candidate, uses: Mapping[str, int]) -> None:
        self.picked.chosen.append(candidate)
        for name, amount in uses.items():
            left = self._left[name]
            if left is not None:
                self._left[name] = left - amount

    def _fits(self, uses: Mapping[str, int]) -> bool:
        """Whether a job fits beside those that were taken before it."""
        for name, amount in uses.items():
            left = self._left[name]
            if left is not None and amount > left:
                return False
        return True

    def _uses_of(self, candidate: Candidate) -> Mapping[str, int]:
        """What a job of this lane uses of the limits that are defined."""
        if candidate.job.lane_id not in self._uses:
            uses = self._scheduler.concurrency.uses(candidate.lane)
            known = {name: amount for name, amount in uses.items() if name in self._rooms}
            self._uses[candidate.job.lane_id] = known
        return self._uses[candidate.job.lane_id]

    def _is_still_open(self, candidate: Candidate) -> bool:
        """Look once more at what may have changed since admission: artifacts, branches, locks."""
        self._tx.alone()
        record = jobs.read(self._tx, [candidate.job.number])[0]
        self._facts.load([record])
        closed = admit.first_closed(record, self._facts)
        if closed is None and self._request.lease:
            self._facts.hold(record)
        elif closed is not None and closed.status is states.WAITING_ON_LOCKS:
            self._facts.line_up(record)
        return closed is None

    def _starved(self) -> Iterator[Candidate]:
        """Jobs that a limit has starved, the longest first: they start or keep back what they need.

        One that starts is not kept from it by what those behind it need.
        """
        if not self._request.lease or self._request.only_job is not None:
            return
        for starved in starvation.starved(self._scheduler, self._tx):
            candidate = Candidate(job=starved.job, lane=starved.lane)
            uses = self._uses_of(candidate)
            if not uses:  # the limit is gone: it stands in line like everybody
                continue
            if starved.keep_back(uses, self._rooms):
                self._leave_room(uses)
            elif starved.job.lane_id in self._lanes and starved.job.status is states.QUEUED:
                yield candidate
                if candidate in self.picked.chosen[-1:]:
                    for name, amount in uses.items():
                        self._rooms[name] = self._rooms[name].keep_back(amount)

    def _leave_room(self, names: Iterable[str]) -> None:
        for name in names:
            before, now = self._left[name], self._rooms[name].left
            if before is not None and now is not None:
                self._left[name] = min(before, now)

    def _in_order(self) -> Iterator[Candidate]:
        if self._request.only_job is not None:
            return self._only(self._request.only_job)
        streams = [self._lane_in_order(lane_id, lane) for lane_id, lane in self._lanes.items()]
        return heapq.merge(*streams, key=lambda candidate: candidate.job.order)

    def _held(self, candidates: Iterator[Candidate]) -> Iterator[Candidate]:
        """Pass over those that another claim is about to take at this moment.

        Whoever takes jobs of a lane that a limit holds for has locked that limit, and is alone.
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
            if job.status is states.QUEUED and job.due_at is None and job.lane_id in self._lanes:
                yield Candidate(job=job, lane=self._lanes[job.lane_id])

    def _lane_in_order(self, lane_id: int, lane: Lane) -> Iterator[Candidate]:
        """The jobs of a lane, page by page."""
        place, count = priorities.BEFORE_ALL, self._count
        while heads := self._tx.values(Head, "lane_heads", **_page(lane_id, place, count)):
            for job in heads:
                if lane_id in self._closed:
                    return
                yield Candidate(job=job, lane=lane)
            if len(heads) < count or lane_id in self._closed:
                return
            place = (job.priority, job.position, job.number)
            count = min(2 * count, MOST_PER_CLAIM)


def _page(lane_id: int, behind: tuple[int, int, int], count: int) -> dict[str, int]:
    """So many jobs of a lane behind a place in the queue."""
    priority, position, number = behind
    return {
        "lane_id": lane_id,
        "priority": priority,
        "position": position,
        "number": number,
        "count": count,
    }


def note_limited(tx: Transaction, limited: Sequence[Candidate]) -> None:
    """Remember since when the head of a lane has met a full limit."""
    rows = []
    for candidate in limited:
        if candidate.job.limited_since is None:
            kinds = candidate.job.waited_on
            rows.append(
                {
                    "number": candidate.job.number,
                    "since": tx.now_ms,
                    "waited_on": codec.dump(kinds if "limits" in kinds else (*kinds, "limits")),
                }
            )
    tx.many("limit_reached", rows)
