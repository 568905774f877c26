"""The gates that close a whole lane at once: limits, pauses, reservations, missing workers."""

from headway.domain.gates import GATES, Closed, Gate, pause, worker
from headway.domain.gates import limits as limits_gate
from headway.domain.jobs import COMMAND, Lane
from headway.domain.workers import Worker
from headway.scheduler.admit import starvation
from headway.scheduler.admit.live_workers import known_workers
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.waiting_counts import Count, ReasonOf
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import limits, reservations

NO_JOB = 0
"""The number of no job: one that does not starve."""


class LaneGates:
    """Looked at once for each lane, however many jobs of it are shown; starved ones apart.

    Who uses limits and slots is read only to be named: full slots are no reason to wait.
    """

    def __init__(self, scheduler: Scheduler, tx: Transaction, *, with_users: bool = False) -> None:
        self._concurrency = scheduler.concurrency
        self._commands = scheduler.rules.allow_commands
        self._rooms = starvation.Rooms(scheduler, tx, with_users=with_users)
        self._pauses = limits.pauses(tx)
        self._reservation = reservations.waiting(tx)
        self._workers = known_workers(scheduler, tx, with_jobs=with_users)
        self._seen: dict[object, Closed | None] = {}

    def first_closed(self, lane: Lane, number: int, *, claimed: bool = False) -> Closed | None:
        """The first of these gates that is closed for a job of a lane, other than by full slots."""
        parts = (lane.queue, lane.job_type, lane.cost_units, lane.requires, *lane.limits.items())
        key = (id(self._rooms.seen_by(number)), claimed, *parts)
        if key not in self._seen:
            found = self.closed(lane, number, claimed=claimed).values()
            self._seen[key] = next((one for one in found if not one.is_busy), None)
        return self._seen[key]

    def closed(self, lane: Lane, number: int, *, claimed: bool = False) -> dict[Gate, Closed]:
        """Those of these gates that are closed; a claimed job has its worker."""
        rooms = self._rooms.seen_by(number)
        verdicts = {
            Gate.LIMITS: limits_gate.check(self._concurrency.uses(lane), rooms),
            Gate.PAUSE: pause.check(lane, self._pauses, self._reservation),
            Gate.WORKER: None if claimed else worker.check(lane, self._workers_for(lane)),
        }
        return {gate: closed for gate in GATES if (closed := verdicts.get(gate)) is not None}

    def _workers_for(self, lane: Lane) -> list[Worker]:
        """Where commands are off, workers elsewhere are given none, even if they would run them."""
        if self._commands or lane.job_type != COMMAND:
            return self._workers
        return [one for one in self._workers if one.built_in]


def waiting_counts(scheduler: Scheduler, tx: Transaction) -> Count:
    """How many jobs wait for what."""

    def gates() -> ReasonOf:
        shut = LaneGates(scheduler, tx)
        return lambda lane: closed.kind if (closed := shut.first_closed(lane, NO_JOB)) else None

    return scheduler.waiting.count(tx, gates)
