"""Servers: they are born with a recovery, keep time, send webhooks, and die."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests.simulation.storage import Fate

from headway.scheduler.manage import webhooks
from headway.scheduler.manage.webhooks import DueDelivery, Tried
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import recovery
from headway.scheduler.upkeep.clock_steps import ClockWatch
from headway.scheduler.upkeep.timekeeper import Rounds
from headway.storage.manage.workers import WorkerRecord

if TYPE_CHECKING:
    from tests.simulation.workers import Worker
    from tests.simulation.world import World

MOST_SENT = 10


class Server:
    """One server process after the other, under one name."""

    def __init__(self, world: "World", name: str) -> None:
        self._world = world
        self.name = name
        self.scheduler: Scheduler | None = None
        self.process = 0
        self.worker: Worker | None = None
        self._births = 0
        self._rounds: Rounds | None = None
        self._in_hand: list[DueDelivery] = []

    def be_born(self) -> None:
        """Start a process: it recovers what dead ones left behind, and its timekeeper begins."""
        world = self._world
        self._births += 1
        self.process = world.new_process()
        self.scheduler = world.new_scheduler(f"{self.name}.{self._births}")
        scheduler = self.scheduler
        world.trace.say(f"{self.name} starts as {scheduler.server}")
        self._arm()
        try:
            report = world.at_risk(
                self, lambda: recovery.recover(scheduler, self._is_alive, self._end_orphans)
            )
        except BaseException:
            self.die()
            raise
        world.trace.say(f"recovers {report.running_jobs_recovered} jobs")
        self._rounds = Rounds(
            scheduler, ClockWatch(world.clock, lambda: world.elapsed, lambda: world.elapsed)
        )
        self.keep_time()

    def die(self) -> None:
        """The process is gone, with its worker; programs that it started may go on for a while."""
        self.scheduler = None
        self._rounds = None
        self._in_hand = []
        self._world.behind.discard(self.name)
        self._world.processes.discard(self.process)
        if self.worker is not None:
            self.worker.is_alive = False
            self.worker = None

    def keep_time(self) -> None:
        """One round of the timekeeper."""
        if self._rounds is not None:
            self._world.trace.say(f"{self.name} keeps time")
            self._world.behind.discard(self.name)
            self._arm()
            self._world.at_risk(self, self._rounds.run)

    def deliver(self) -> None:
        """The courier writes down what it tried, or takes what is due and sends it."""
        if self.scheduler is None:
            return
        world, in_hand = self._world, self._in_hand
        self._arm()
        if in_hand:
            results = [self._send(one) for one in in_hand]
            self._in_hand = []
            world.trace.say(f"{self.name} sends {len(results)} messages")
            world.at_risk(self, lambda: world.store.write(lambda tx: webhooks.record(tx, results)))
        else:
            chosen = world.store.read(lambda tx: webhooks.choose(tx, MOST_SENT))
            if not chosen:
                world.fates.disarm()
                return
            taken = world.at_risk(
                self, lambda: world.store.write(lambda tx: webhooks.take(tx, chosen))
            )
            if taken:
                world.trace.say(f"{self.name} takes {len(taken)} messages")
            self._in_hand = taken

    def _send(self, delivery: DueDelivery) -> Tried:
        world = self._world
        error = None if world.calm or world.chooser.chance(0.7) else "no connection"
        if error is None or world.chooser.chance(0.3):
            world.ledger.received.add(delivery.delivery_id)
        return Tried(delivery_id=delivery.delivery_id, attempts=delivery.attempts + 1, error=error)

    def _arm(self) -> None:
        """Something may go wrong at one of the commits that this work makes."""
        chooser = self._world.chooser
        if not self._world.calm and chooser.chance(0.15):
            self._world.fates.arm(chooser.one(list(Fate)), chooser.number(0, 4))

    def _is_alive(self, worker: WorkerRecord) -> bool:
        return worker.pid in self._world.processes

    def _end_orphans(self, run_ids: Sequence[str]) -> None:
        world = self._world
        living = {str(one.scheduler.server) for one in world.servers if one.scheduler is not None}
        for run_id in run_ids:
            execution = world.ledger.executions.get(run_id)
            if execution is not None and execution.worker_id in living:
                world.ledger.wrongs.append(f"job {execution.number} is ended, but its server lives")
            world.ledger.end(run_id)
