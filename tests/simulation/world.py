"""The stage: one store, several servers and workers on it, a clock, and messages that get lost."""

import dataclasses
import random
import tempfile
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from tests.simulation import facts, people
from tests.simulation.chooser import Chooser
from tests.simulation.facts import Facts
from tests.simulation.ledger import Ledger
from tests.simulation.servers import Server
from tests.simulation.storage import BrittleDatabase, Crash, Fate, Fates
from tests.simulation.trace import Trace
from tests.simulation.workers import Worker

from headway.domain import errors
from headway.domain.steps import Step
from headway.domain.values import moments
from headway.scheduler.explain import journals
from headway.scheduler.scheduler import Scheduler
from headway.storage import jobs
from headway.storage.engine.store import Database, Store
from headway.storage.engine.transaction import SAFETY_POLL_S, Transaction
from headway.testing import MovableClock
from headway.workspace import Workspace

T = TypeVar("T")
Writes = Callable[[Store, Callable[[Transaction], Any]], Any]
"""How a store is asked to write: alone, beside others or apart."""

SERVERS = 2
START = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
FOLDER = Path(tempfile.gettempdir())

MESSAGES = {
    "arrives": 80.0,
    "request lost": 3.0,
    "answer lost": 5.0,
    "sent twice": 4.0,
    Fate.BEFORE: 3.0,
    Fate.AFTER: 3.0,
    Fate.REFUSED: 2.0,
}
"""What becomes of a request to a server, in percent."""

OWN_WORK = {"done": 88.0, Fate.BEFORE: 4.0, Fate.AFTER: 4.0, Fate.REFUSED: 4.0}
"""What becomes of the work that a server does by itself, in percent."""


class NoAnswerError(Exception):
    """Who asked never learns what became of the request."""


class Bed:
    """A store that plays can use one after the other."""

    def __init__(
        self,
        database: Database,
        clock: MovableClock,
        empty: Callable[[], None],
        changes: Callable[[], int] | None = None,
    ) -> None:
        self.fates = Fates()
        self.clock = clock
        self.store = Store(BrittleDatabase(database, self.fates))
        self.empty = empty
        self.changes = changes


class World:
    """Everything that a play is made of."""

    def __init__(self, bed: Bed, seed: int) -> None:
        bed.empty()
        bed.clock.set(START)
        self.store, self.clock, self.fates = bed.store, bed.clock, bed.fates
        self.seed = seed
        self.elapsed = 0.0
        self.calm = False
        """Whether nothing goes wrong any more."""
        self.behind: set[str] = set()
        """Servers that have not looked at the clock since it was set."""
        self.ledger = Ledger()
        self.trace = Trace()
        self.counts: Counter[str] = Counter()
        """How often what was done, and how often what went wrong."""
        self.chooser = Chooser(seed, -1)
        self.workspace = Workspace(FOLDER)
        self.processes: set[int] = set()
        self._last_process = 0
        self._last_worker = 0
        self.servers = [Server(self, f"s{place}") for place in range(SERVERS)]
        self.workers: list[Worker] = []
        self._changes = bed.changes
        self.facts: Facts = self.store.read(facts.read)

    def open(self) -> None:
        """Every server starts, before anything can go wrong."""
        self.calm = True
        for server in self.servers:
            server.be_born()
        people.furnish(self)
        self.calm = False

    def look(self) -> Facts:
        """See how things stand now; returns how they stood before."""
        before, timely = self.facts, not self.behind
        changes = self._changes() if self._changes else None
        if changes is not None and changes == before.changes:
            now_ms = moments.to_millis(self.clock.now())
            self.facts = dataclasses.replace(before, now_ms=now_ms, timely=timely)
        else:
            self.facts = self.store.read(lambda tx: facts.read(tx, changes, timely=timely))
        return before

    def new_process(self) -> int:
        """The id of a process that starts now."""
        self._last_process += 1
        self.processes.add(self._last_process)
        return self._last_process

    def new_worker_number(self) -> int:
        """For the name of a worker that comes over the network."""
        self._last_worker += 1
        return self._last_worker

    def new_scheduler(self, name: str) -> Scheduler:
        """A server's view of the store; it draws its own chance."""
        return Scheduler(
            store=self.store,
            clock=self.clock,
            workspace=self.workspace,
            data=FOLDER,
            server=name,
            chance=random.Random(f"{self.seed}/{name}"),
        )

    def pass_time(self, seconds: float) -> None:
        """Time goes by; workers stop what they could not renew.

        A server looks at its clock every few seconds: one that was set is noticed before long.
        """
        if seconds > SAFETY_POLL_S and self.behind:
            calm, self.calm = self.calm, True
            for server in self.servers:
                if server.name in self.behind:
                    server.keep_time()
            self.calm = calm
        self.elapsed += seconds
        self.clock.advance(seconds)
        for one in self.ledger.fence(self.elapsed):
            self.counts["a worker stops in time"] += 1
            self.trace.say(f"{one.worker_id} stops job {one.number}: its lease ran out")

    def set_clock(self, seconds: float) -> None:
        """The clock is set, forward or back; no time goes by."""
        self.clock.set(self.clock.now() + timedelta(seconds=seconds))
        self.behind = {server.name for server in self.servers if server.scheduler is not None}

    def call(
        self,
        work: Callable[[Scheduler, Transaction], T],
        write: Writes = Store.write,
        server: Server | None = None,
    ) -> T:
        """Ask some server, over a network that loses and repeats; or this one, without."""
        asked = server or self._some_server()
        if asked is None or asked.scheduler is None:
            self.trace.say("no server")
            raise NoAnswerError
        fate = self.chooser.weighted(OWN_WORK if server else MESSAGES) if not self.calm else "done"
        if isinstance(fate, str) and fate not in ("arrives", "done"):
            self.counts[fate] += 1
        if server is None:
            self.trace.say(f"via {asked.name}")
        if fate == "request lost":
            self.trace.say("request lost")
            raise NoAnswerError
        if isinstance(fate, Fate):
            self.fates.arm(fate, 0)
        answer = self._ask(asked, work, write)
        if fate == "sent twice":
            self.trace.say("sent twice")
            answer = self._ask(asked, work, write)
        if fate == "answer lost":
            self.trace.say("answer lost")
            raise NoAnswerError
        return answer

    def _ask(self, server: Server, work: Callable[[Scheduler, Transaction], T], write: Writes) -> T:
        scheduler = server.scheduler
        assert scheduler is not None
        answer: T = self.at_risk(server, lambda: write(self.store, lambda tx: work(scheduler, tx)))
        return answer

    def at_risk(self, server: Server, work: Callable[[], T]) -> T:
        """Do what may kill the server, or fail for want of a disk."""
        try:
            return work()
        except Crash:
            self.trace.say(f"{server.name} dies")
            self.counts["a server dies at a commit"] += 1
            server.die()
            raise NoAnswerError from None
        except errors.Unavailable as error:
            self.trace.say(f"{server.name} says: {error.detail}")
            self.counts["a commit fails"] += 1
            raise NoAnswerError from error
        finally:
            self.fates.disarm()

    def _some_server(self) -> Server | None:
        alive = [server for server in self.servers if server.scheduler is not None]
        return self.chooser.one(alive) if alive else None

    def family_of(self, number: int) -> tuple[int, int]:
        """The chain of a job and its generation: they have a journal together."""
        sql = f"SELECT first_job, generation FROM jobs WHERE number = {number}"
        row = self.store.read(lambda tx: tx.select(sql, {}))[0]
        return int(row["first_job"]), int(row["generation"])

    def journal_of(self, lease_id: str) -> list[Step]:
        """What is done of the job of a run."""
        sql = f"SELECT job_number FROM runs WHERE run_id = '{lease_id}'"

        def read(tx: Transaction) -> list[Step]:
            record = jobs.read(tx, [tx.select(sql, {})[0]["job_number"]])[0]
            return [one for one in journals.of_job(tx, record) if one.finished_at is not None]

        return self.store.read(read)

    def chain_of(self, number: int) -> int:
        """The chain of a job, whatever a rewind made of it."""
        sql = f"SELECT first_job FROM jobs WHERE number = {number}"
        return int(self.store.read(lambda tx: tx.select(sql, {}))[0]["first_job"])
