"""Takes away what `why` names, in a transaction that is undone, and sees whether the job starts."""

from collections.abc import Callable, Collection
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from headway.domain import states
from headway.domain.answers import GateState, Why
from headway.domain.gates import Blocker, Gate
from headway.domain.jobs import Policy
from headway.domain.manage.limits import read_rate
from headway.domain.requests.job_requests import JobPatch
from headway.domain.workers import Abilities, Worker
from headway.protocol.work_values import Granted
from headway.scheduler.admit import lock_queues
from headway.scheduler.admit.live_workers import known_workers
from headway.scheduler.change import edit, pause
from headway.scheduler.claim import dispatch
from headway.scheduler.explain import status
from headway.scheduler.finish import consequences
from headway.scheduler.lease import expire, leases
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import direct
from headway.storage import jobs, lanes, records
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import limits, workers
from headway.storage.records import JobRecord

FAR_OFF = datetime(2030, 1, 1, tzinfo=UTC)
NEW_WORKER = "new"
MANY = 50


class Named(NamedTuple):
    """One thing that keeps a job from starting, and the blockers that say so."""

    gate: Gate
    name: str
    blockers: tuple[Blocker, ...]


def named(answer: Why) -> list[Named]:
    """What `why` names: a limit and the worker gate are one thing each, with all who fill them.

    The time comes last: a job whose time has come may end at its other gates.
    """
    found = [
        one
        for row in answer.gates
        for one in _named(row.gate, row.detail or "", row.blockers)
        if row.state is GateState.CLOSED
    ]
    return sorted(found, key=lambda one: one.gate is Gate.TIME)


def _named(gate: Gate, detail: str, blockers: tuple[Blocker, ...]) -> list[Named]:
    if gate in (Gate.TIME, Gate.APPROVAL, Gate.WORKER):
        return [Named(gate, "", blockers)]
    if gate is Gate.LIMITS:
        names = [part.partition(": ")[0] for part in detail.split("; ")]
        return [
            Named(gate, name, tuple(one for one in blockers if _is_of(one, name))) for name in names
        ]
    kinds = {Gate.AFTER: ("job",), Gate.ARTIFACTS: ("artifact",)}.get(gate)
    found = [one for one in blockers if kinds is None or one.kind in kinds]
    ids = dict.fromkeys(one.id for one in found)
    return [Named(gate, id_, tuple(one for one in found if one.id == id_)) for id_ in ids]


def _is_of(one: Blocker, limit: str) -> bool:
    words = (one.detail or "").replace(",", " ").split()
    return one.id == limit or limit in words


class _GivenUp(Exception):
    """The transaction is undone."""


def tried(scheduler: Scheduler, work: Callable[[Transaction], Any]) -> Any:
    """What the work comes to; nothing of it stays."""
    found: list[Any] = []

    def do(tx: Transaction) -> None:
        found.append(work(tx))
        raise _GivenUp

    try:
        scheduler.store.write(do)
    except _GivenUp:
        return found[-1]


class Experiment:
    """One job, and a transaction in which things are taken away."""

    def __init__(self, scheduler: Scheduler, tx: Transaction, number: int) -> None:
        self._scheduler = scheduler
        self._tx = tx
        self._number = number

    def starts_without(self, those: Collection[Named]) -> bool:
        """Whether the job is the next to start when these and all others are out of the way."""
        ended = self._ended()
        self._put_aside_others(keep=())
        if self._ended() != ended:  # a claim was given back that could never start
            return True
        for one in those:
            self._take_away(one, keep=())
        self._look_again()
        return self._starts(1)

    def starts_despite(self, left: Named, those: Collection[Named]) -> bool:
        """Whether the job starts although one thing is left, and what that one waits for."""
        keep = self._kept(left)
        ended = self._ended()
        self._put_aside_others(keep)
        if self._ended() != ended:  # a claim was given back that could never start
            return False
        for one in those:
            if one is not left:
                self._take_away(one, keep)
        self._look_again()
        return self._starts(MANY)

    def _ended(self) -> int:
        return int(self._tx.select("SELECT count(*) AS n FROM jobs WHERE phase = 3", {})[0]["n"])

    def _kept(self, left: Named) -> set[int]:
        """The jobs that are named, and those that they wait for at their own locks."""
        found: set[int] = set()
        new = {one.id for one in left.blockers if one.kind == "job"}
        while new:
            numbers = set(jobs.find_numbers(self._tx, new).values()) - found
            found |= numbers
            waiting = [
                n for n in numbers if self._record(n).status in states.WAITING | states.CLAIMS
            ]
            rows = [row for n in waiting for row in status.why(self._scheduler, self._tx, n).gates]
            new = {one.id for row in rows if row.gate is Gate.LOCKS for one in row.blockers}
        return found

    def _record(self, number: int) -> JobRecord:
        return jobs.read(self._tx, [number])[0]

    def _put_aside_others(self, keep: Collection[int]) -> None:
        """Nothing that is not named matters."""
        sql = f"SELECT number FROM jobs WHERE phase < 2 AND number <> {self._number}"
        for row in self._tx.select(sql, {}):
            if row["number"] not in keep:
                self._put_aside(row["number"])

    def _put_aside(self, number: int) -> None:
        record = self._record(number)
        if record.status in states.CLAIMS:
            expire.give_back(self._scheduler, self._tx, [number])
        if self._record(number).status in states.WAITING:
            later = JobPatch(scheduled_for=FAR_OFF)
            edit.edit(self._scheduler, self._tx, number, later)

    def _look_again(self) -> None:
        if self._record(self._number).status in states.WAITING:
            consequences.admit_or_end(self._scheduler, self._tx, [self._number])

    def _take_away(self, one: Named, keep: Collection[int]) -> None:
        match one.gate:
            case Gate.TIME:
                patch = JobPatch(scheduled_for=None)
                edit.edit(self._scheduler, self._tx, self._number, patch)
            case Gate.AFTER:
                self._meet(self._number_of(one.name))
            case Gate.ARTIFACTS:
                now = self._tx.now_ms
                self._tx.do("put_marker", artifact=one.name, job_number=None, created_at=now)
            case Gate.APPROVAL:
                self._tx.do("set_approval", number=self._number, approval="APPROVED")
            case Gate.LOCKS:
                self._unlock(self._number_of(one.name), keep)
            case Gate.LIMITS:
                for blocker in one.blockers:
                    self._make_room(one.name, blocker, keep)
            case Gate.PAUSE:
                for blocker in one.blockers:
                    self._resume(blocker)
            case Gate.WORKER:
                self._register()

    def _number_of(self, job_id: str) -> int:
        return jobs.find_numbers(self._tx, [job_id])[job_id]

    def _meet(self, number: int) -> None:
        """The chain of a job has ended as those want that come after it."""
        chains = records.listed([self._record(number).chain])
        policies = records.listed(Policy)
        self._tx.rows("lower_open_deps", chains=chains, policies=policies)
        self._tx.put("meet_dependencies", chains=chains, policies=policies)

    def _unlock(self, number: int, keep: Collection[int]) -> None:
        if number in keep:
            return
        record = self._record(number)
        if record.status is states.RUNNING:
            self._tx.rows("free_locks", numbers=records.listed([number]))
            freed = lock_queues.keys_of([record])
            consequences.admit_or_end(self._scheduler, self._tx, freed=freed)
        else:
            self._put_aside(number)

    def _make_room(self, limit: str, one: Blocker, keep: Collection[int]) -> None:
        """Room for as much as a job uses or has started is as good as if it did not."""
        words = (one.detail or "").split()
        if one.kind == "limit":
            self._enlarge(limit, size=1000, starts=1000)
        elif words[0] == "uses":
            self._enlarge(limit, size=int(words[1]))
        elif words[0] == "used":
            self._enlarge(limit, starts=int(words[1]))
        elif words[0] == "keeps" and (number := self._number_of(one.id)) not in keep:
            self._put_aside(number)

    def _enlarge(self, name: str, *, size: int = 0, starts: int = 0) -> None:
        (limit,) = [one for one in limits.defined(self._tx) if one.name == name]
        rate = read_rate(limit.rate) if limit.rate else None
        self._tx.do(
            "put_limit",
            name=name,
            size=None if limit.size is None else limit.size + size,
            rate=f"{rate.amount + starts}/{rate.window_s}s" if rate else None,
        )

    def _resume(self, one: Blocker) -> None:
        if one.kind == "reservation":
            direct.release(self._scheduler, self._tx, one.id)
        elif (one.detail or "").startswith("queue"):
            pause.resume(self._scheduler, self._tx, one.id, None)
        elif (one.detail or "").startswith("job type"):
            pause.resume(self._scheduler, self._tx, None, one.id)
        else:
            self._tx.do("remove_pause", queue="", job_type="")

    def _register(self) -> None:
        """There is a worker that takes such a job and is free."""
        record = self._record(self._number)
        lane = lanes.read(self._tx, [record.lane_id])[record.lane_id]
        workers.see(
            self._tx,
            worker_id=NEW_WORKER,
            host="here",
            pid=1,
            process_started="then",
            built_in=False,
            abilities=Abilities(
                queues=(lane.queue,), job_types=(lane.job_type,), capabilities=lane.requires
            ),
            slots=MANY,
        )

    def _starts(self, count: int) -> bool:
        """Whether a worker that lives, takes such jobs and has a free slot starts the job."""
        record = self._record(self._number)
        if record.status in states.CLAIMS:
            number, worker = str(record.number), str(record.worker_id)
            found = leases.request(self._scheduler, self._tx, number, worker, None)
            return isinstance(found, Granted)
        lane = lanes.read(self._tx, [record.lane_id])[record.lane_id]
        able = [
            one
            for one in known_workers(self._scheduler, self._tx)
            if one.alive and not one.is_full and one.abilities.refusal(lane) is None
        ]
        for one in able[:1]:
            request = dispatch.ClaimRequest(
                worker_id=one.worker_id, abilities=one.abilities, max_jobs=count
            )
            dispatch.claim(self._scheduler, self._tx, request)
        return self._record(self._number).status is states.RUNNING


def free_workers(scheduler: Scheduler) -> list[Worker]:
    """The workers that live and have a free slot."""
    known = scheduler.store.read(lambda tx: known_workers(scheduler, tx))
    return [one for one in known if one.alive and not one.is_full]


def started_by(scheduler: Scheduler, worker: Worker, count: int = MANY) -> list[int]:
    """The jobs that start when a worker asks for so many."""
    request = dispatch.ClaimRequest(
        worker_id=worker.worker_id, abilities=worker.abilities, max_jobs=count
    )
    started = tried(scheduler, partial(dispatch.claim, scheduler, request=request))
    return [job.number for job in started]
