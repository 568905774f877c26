"""The dispatcher: which jobs start now, in exact order, for whoever asks.

Only jobs that may start are in the claim's index, by lane. A lane is closed as a whole by a full
limit, a pause or a worker that does not fit, so the cost follows the number of lanes, never the
number of jobs that wait.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from headway.domain import states
from headway.domain.gates import limits as limits_gate
from headway.domain.gates import pause
from headway.domain.jobs import Lane, Terms
from headway.domain.limits import Room
from headway.domain.workers import Abilities
from headway.scheduler import admit, dedup, settle, start
from headway.scheduler.facts import Facts
from headway.scheduler.scheduler import Scheduler
from headway.storage import codec, limits, records, reservations
from headway.storage.events import Chronicle
from headway.storage.transaction import Row, Transaction

MOST_PER_CLAIM = 1000
MOST_REFUSED = 1000
"""How many lock waiters one claim sends to wait before it answers."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A job at the head of its lane."""

    row: Row
    lane_id: int
    lane: Lane
    terms: Terms

    @property
    def order(self) -> tuple[int, int, int]:
        """Where the job stands in the queue: smaller goes first."""
        return (-self.row["priority"], self.row["position"], self.row["number"])


class ClaimRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks for jobs, how many, and whether they are to start at once."""

    worker_id: str
    abilities: Abilities
    max_jobs: int = 1
    lease: bool = True
    ttl_s: float | None = None
    only_job: int | None = None


class Picked(msgspec.Struct, kw_only=True):
    """What one claim comes to: jobs to start, and jobs to pass over, by the reason."""

    chosen: list[Candidate] = []
    locked: list[int] = []
    skipped: list[Candidate] = []
    limited: list[Candidate] = []


def claim(scheduler: Scheduler, tx: Transaction, request: ClaimRequest) -> list[start.Started]:
    """Jobs for a worker, started or claimed, in one transaction."""
    chronicle = Chronicle(tx)
    rooms = _rooms(scheduler, tx)
    lanes = _open_lanes(scheduler, tx, request)
    count = min(request.max_jobs, MOST_PER_CLAIM)
    picked = _pick(scheduler, tx, lanes, rooms, count, request)
    if picked.locked:
        settle.settle(scheduler, tx, chronicle, admit=picked.locked)
    if picked.skipped:
        dedup.skip(scheduler, tx, chronicle, picked.skipped)
    _note_limited(scheduler, tx, picked.limited)
    started = (
        start.start(scheduler, tx, chronicle, request, picked.chosen)
        if request.lease
        else start.claim(scheduler, tx, chronicle, request, picked.chosen)
    )
    chronicle.write()
    return started


def _rooms(scheduler: Scheduler, tx: Transaction) -> dict[str, Room]:
    return limits.rooms(tx, scheduler.concurrency)


def _open_lanes(
    scheduler: Scheduler, tx: Transaction, request: ClaimRequest
) -> list[tuple[int, Lane]]:
    """Lanes with work that this worker takes and nobody paused."""
    pauses = limits.pauses(tx)
    reserved_by = reservations.waiting_holder(tx)
    if reserved_by is not None:
        return []
    return [
        (row["lane_id"], lane)
        for row in tx.rows("ready_lanes")
        if request.abilities.refusal(lane := records.lane(row)) is None
        and pause.check(lane, pauses, None) is None
    ]


def _pick(
    scheduler: Scheduler,
    tx: Transaction,
    lanes: Sequence[tuple[int, Lane]],
    rooms: dict[str, Room],
    count: int,
    request: ClaimRequest,
) -> Picked:
    """Merge the lanes' heads in queue order and take what the gates let through."""
    picked = Picked()
    facts = Facts(scheduler, tx)
    closed: set[int] = set()
    for candidate in _in_order(tx, lanes, count, request.only_job):
        if candidate.lane_id in closed:
            continue
        uses = scheduler.concurrency.uses(candidate.lane)
        if request.lease and limits_gate.check(uses, rooms) is not None:
            closed.add(candidate.lane_id)
            picked.limited.append(candidate)
            _keep_back(scheduler, tx, candidate, uses, rooms)
            continue
        if candidate.row["gated"] and not _still_open(tx, facts, candidate):
            picked.locked.append(candidate.row["number"])
            if len(picked.locked) >= MOST_REFUSED:
                break
            continue
        if candidate.row["dedup_key"] and dedup.is_duplicate(tx, candidate):
            picked.skipped.append(candidate)
            continue
        picked.chosen.append(candidate)
        if request.lease:
            _take(uses, rooms)
        if len(picked.chosen) >= count:
            break
    return picked


def _in_order(
    tx: Transaction, lanes: Sequence[tuple[int, Lane]], count: int, only_job: int | None
) -> Iterator[Candidate]:
    streams = [_lane_in_order(tx, lane_id, lane, count) for lane_id, lane in lanes]
    merged = heapq.merge(*streams, key=lambda candidate: candidate.order)
    return merged if only_job is None else (one for one in merged if one.row["number"] == only_job)


def _lane_in_order(tx: Transaction, lane_id: int, lane: Lane, count: int) -> Iterator[Candidate]:
    """The jobs of a lane, page by page."""
    skip = 0
    while rows := tx.rows("lane_heads", lane_id=lane_id, count=count, skip=skip):
        for row in rows:
            yield Candidate(
                row=row, lane_id=lane_id, lane=lane, terms=codec.load_terms(row["terms"])
            )
        if len(rows) < count:
            return
        skip += len(rows)
        count = min(2 * count, MOST_PER_CLAIM)


def _still_open(tx: Transaction, facts: Facts, candidate: Candidate) -> bool:
    """Look once more at what may have changed since admission: artifacts, branches, locks."""
    record = records.job(
        tx.rows("job_records", numbers=records.listed([candidate.row["number"]]))[0]
    )
    facts.load([record])
    closed = admit.first_closed(record, facts)
    if closed is not None:
        if closed.status is states.WAITING_ON_LOCKS:
            facts.line_up(record)
        return False
    facts.hold(record)
    return True


def _take(uses: Mapping[str, int], rooms: dict[str, Room]) -> None:
    for name, amount in uses.items():
        if name in rooms:
            rooms[name] = rooms[name].take(amount)


def _keep_back(
    scheduler: Scheduler,
    tx: Transaction,
    candidate: Candidate,
    uses: Mapping[str, int],
    rooms: dict[str, Room],
) -> None:
    """A job that a limit has starved for long reserves what comes free next."""
    since = candidate.row["limited_since"]
    if since is None or tx.now_ms - since < scheduler.rules.starvation_s * 1000:
        return
    for name, amount in uses.items():
        if name in rooms:
            rooms[name] = rooms[name].keep_back(amount)


def _note_limited(scheduler: Scheduler, tx: Transaction, limited: Sequence[Candidate]) -> None:
    """Remember since when the head of a lane has met a full limit."""
    rows: list[dict[str, Any]] = []
    for candidate in limited:
        if candidate.row["limited_since"] is None:
            kinds = records.words(candidate.row["waited_on"])
            rows.append(
                {
                    "number": candidate.row["number"],
                    "since": tx.now_ms,
                    "waited_on": codec.dump(kinds if "limits" in kinds else (*kinds, "limits")),
                }
            )
    tx.many("limit_reached", rows)
