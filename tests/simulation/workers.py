"""Workers: they claim, prepare, renew, report, repeat themselves, come too late, and die."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from tests.simulation import requests
from tests.simulation.ledger import Broken, Execution

from headway.domain import errors
from headway.domain.leases import Lease
from headway.domain.runs import Outcome, RunStatus
from headway.domain.steps import Step, StepKind
from headway.domain.workers import Abilities
from headway.protocol.work_shapes import HeartbeatItem
from headway.protocol.work_values import Denied, Report, Started, StepReport
from headway.scheduler.claim import claims, registration
from headway.scheduler.claim.dispatch import ClaimRequest
from headway.scheduler.lease import leases
from headway.scheduler.programs import reports, steps
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.store import Store
from headway.storage.engine.transaction import Transaction

if TYPE_CHECKING:
    from tests.simulation.servers import Server
    from tests.simulation.world import World, Writes

T = TypeVar("T")

FINE = Outcome(status=RunStatus.COMPLETED)
OUTCOMES = (
    *(FINE,) * 6,
    Outcome(status=RunStatus.COMPLETED, result={"n": 1}),
    *(Outcome(status=RunStatus.FAILED, error="broken"),) * 3,
    Outcome(status=RunStatus.FAILED, error="hopeless", retry=False),
    Outcome(status=RunStatus.FAILED, error="called off", cancelled=True),
    Outcome(status=RunStatus.SKIPPED, error="not needed"),
)


@dataclass(frozen=True)
class Late:
    """A claim's answer that is still on its way."""

    started: Sequence[Started]
    asked_at: float


class Worker:
    """One worker process. A server's own dies with it; others only lose their answers."""

    def __init__(
        self,
        world: "World",
        worker_id: str,
        *,
        lease: bool = True,
        slots: int = 1,
        abilities: Abilities | None = None,
        home: "Server | None" = None,
    ) -> None:
        self._world = world
        self.worker_id = worker_id
        self.is_alive = True
        self._lease = lease
        self._slots = slots
        self._abilities = abilities or Abilities()
        self._home = home
        self._process = home.process if home else world.new_process()
        self._held: dict[str, int] = {}
        self._claims: dict[str, int] = {}
        self._unsent: list[Report] = []
        self._sent: list[Report] = []
        self._late: Late | None = None

    def act(self) -> None:
        """Do one thing that makes sense now."""
        if self._late is not None and self._world.chooser.chance(0.5):
            late, self._late = self._late, None
            self._world.trace.say(f"{self.worker_id} gets its late answer")
            self._receive(late.started, late.asked_at)
            return
        options: dict[Callable[[], None], float] = {}
        if self._room() > 0 and self._late is None:
            options[self.claim] = 5
        if self._held:
            options[self._heartbeat] = 5
        if self._held:
            options[self._do_step] = 4
            options[self._suspend] = 2
        if self._held or self._unsent:
            options[self.report] = 12
        if self._claims:
            options[self._prepare] = 1
            options[self._ask_for_lease] = 12
        if self._sent:
            options[self._repeat] = 0.5
        if self._home is None:
            options[self._die] = 0.3
            options[self._leave] = 0.2
        if options:
            verb = self._world.chooser.weighted(options)
            verb()
            self._world.counts[f"worker: {verb.__name__.lstrip('_')}"] += 1

    def _room(self) -> int:
        return self._slots - len(self._held) - len(self._claims)

    def _call(
        self, work: Callable[[Scheduler, Transaction], T], write: "Writes" = Store.write
    ) -> T:
        return self._world.call(work, write, self._home)

    def claim(self) -> None:
        """Ask for jobs; a worker that says what it holds is told of what it missed."""
        world = self._world
        request = ClaimRequest(
            worker_id=self.worker_id,
            abilities=self._abilities,
            max_jobs=self._room(),
            lease=self._lease,
        )
        holds = {*self._held, *self._claims} if world.chooser.chance(0.7) else None
        if holds is not None:
            holds |= {one.lease_id for one in self._unsent}

        def work(scheduler: Scheduler, tx: Transaction) -> list[Started]:
            self._register(scheduler, tx)
            return claims.claim(scheduler, tx, request, holds)

        world.trace.say(f"{self.worker_id} claims {request.max_jobs}")
        started = self._call(work, Store.write_apart)
        if self._home is None and not world.calm and world.chooser.chance(0.1):
            world.trace.say("answer late")
            self._late = Late(started, world.elapsed)
        else:
            self._receive(started, world.elapsed)

    def _register(self, scheduler: Scheduler, tx: Transaction) -> None:
        registration.see(
            scheduler,
            tx,
            worker_id=self.worker_id,
            host="here",
            pid=self._process,
            process_started=str(self._process),
            built_in=self._home is not None,
            abilities=self._abilities,
            slots=self._slots,
        )

    def _receive(self, started: Sequence[Started], asked_at: float) -> None:
        for one in started:
            if one.lease is None:
                self._claims[one.job_id] = one.number
            elif one.lease.lease_id not in self._held:
                self._begin(
                    one.lease.lease_id, one.number, asked_at + _lasts_s(one.lease), one.steps
                )
        self._world.trace.say("gets " + (_numbers([one.number for one in started])))

    def _begin(
        self, lease_id: str, number: int, fence: float, steps: Sequence[Step] | None = None
    ) -> None:
        self._held[lease_id] = number
        if fence > self._world.elapsed:
            journal = self._world.journal_of(lease_id)
            self._world.ledger.know_steps(*self._world.family_of(number), journal)
            if steps is not None and list(steps) != journal:
                raise Broken(f"job {number} began with another journal than it has")
            self._world.ledger.begin(
                Execution(
                    lease_id=lease_id,
                    number=number,
                    chain=self._world.chain_of(number),
                    worker_id=self.worker_id,
                    fence=fence,
                )
            )

    def _heartbeat(self) -> None:
        world = self._world
        beats = [HeartbeatItem(lease_id=lease_id, progress=0.5) for lease_id in self._held]
        world.trace.say(f"{self.worker_id} renews {_numbers(list(self._held.values()))}")
        answers = self._call(
            lambda scheduler, tx: leases.heartbeat(scheduler, tx, self.worker_id, beats),
            Store.write_beside,
        )
        for answer in answers:
            execution = world.ledger.executions.get(answer.lease_id)
            if answer.error is not None:
                world.trace.say(f"loses job {self._held.pop(answer.lease_id)}: {answer.error.code}")
                world.ledger.end(answer.lease_id)
            elif execution is not None and answer.expires_at is not None:
                left = (answer.expires_at - world.clock.now()).total_seconds()
                execution.fence = world.elapsed + left

    def _do_step(self) -> None:
        """A run has done a step; only when that is acknowledged it goes on."""
        world = self._world
        lease_id = world.chooser.one(list(self._held))
        number, name = self._held[lease_id], world.chooser.one(("cook", "salt"))
        done = [one for one in world.journal_of(lease_id) if one.name == name]
        step = StepReport(lease_id=lease_id, name=name, index=len(done), result=world.elapsed)
        world.trace.say(f"{self.worker_id} does {name} {len(done)} of job {number}")
        family = world.family_of(number)
        (answer,) = self._call(
            lambda _, tx: steps.record(tx, self.worker_id, [step]), Store.write_beside
        )
        if answer.error is not None:
            world.trace.say(f"refused: {answer.error.code}")
        else:
            known = world.ledger.steps.setdefault(family, {})
            known[StepKind.STEP, name, step.index] = step.result

    def _suspend(self) -> None:
        """A program gives its slot back."""
        world = self._world
        lease_id = world.chooser.one(list(self._held))
        defined = [name for name in requests.LIMITS if name in world.facts.limits]
        wait = requests.wait(world.chooser, defined)
        outcome = Outcome(status=RunStatus.SUSPENDED, wait=wait)
        self._unsent.append(Report(lease_id=lease_id, outcome=outcome))
        number = self._held.pop(lease_id)
        world.trace.say(f"{self.worker_id} suspends job {number} for {wait.kind} {wait.delay_s}")
        world.ledger.end(lease_id)
        self._send(list(self._unsent))

    def report(self) -> None:
        """Some runs end; tell how, together with what could not be told before."""
        held = list(self._held)
        self._end(self._world.chooser.some(held, 3) or held[:1])

    def _end(self, lease_ids: Sequence[str]) -> None:
        world = self._world
        for lease_id in lease_ids:
            outcome = FINE if world.calm else world.chooser.one(OUTCOMES)
            self._unsent.append(Report(lease_id=lease_id, outcome=outcome))
            world.trace.say(
                f"{self.worker_id} ends job {self._held.pop(lease_id)} {_told(outcome)}"
            )
            world.ledger.end(lease_id)
        self._send(list(self._unsent))

    def report_all(self) -> None:
        """Every run ends, and all are reported together."""
        if self._held or self._unsent:
            self._end(list(self._held))

    def _repeat(self) -> None:
        report = self._world.chooser.one(self._sent)
        self._world.trace.say(f"{self.worker_id} repeats a report")
        self._send([report])

    def _send(self, unsent: Sequence[Report]) -> None:
        self._sent += [one for one in unsent if one not in self._sent]
        answers = self._call(
            lambda scheduler, tx: reports.record(scheduler, tx, self.worker_id, unsent),
            Store.write_beside,
        )
        self._unsent = [one for one in self._unsent if one not in unsent]
        for report, answer in zip(unsent, answers, strict=True):
            if answer.error is None and report.outcome.wait is None:
                self._acknowledge(report)
            elif answer.error is None:
                self._world.trace.say(f"job is {answer.status}")
            else:
                self._world.trace.say(f"refused: {answer.error.code}")

    def _acknowledge(self, report: Report) -> None:
        ledger, found = self._world.ledger, self._world.facts
        ledger.finished[report.lease_id] = report.outcome.status
        if not report.outcome.retry:
            run = found.runs[report.lease_id]
            ledger.hopeless.add((run["job_number"], run["generation"]))

    def _prepare(self) -> None:
        job_id = self._world.chooser.one(list(self._claims))
        self._world.trace.say(f"{self.worker_id} prepares job {self._claims[job_id]}")
        with self._dropping(job_id):
            self._call(lambda scheduler, tx: leases.prepare(scheduler, tx, job_id, self.worker_id))

    def _ask_for_lease(self) -> None:
        world = self._world
        job_id = world.chooser.one(list(self._claims))
        number, asked_at = self._claims[job_id], world.elapsed
        world.trace.say(f"{self.worker_id} asks to start job {number}")
        with self._dropping(job_id):
            answer = self._call(
                lambda scheduler, tx: leases.request(scheduler, tx, job_id, self.worker_id, None)
            )
            if isinstance(answer, Denied):
                world.trace.say(f"denied: {answer.reason}")
            else:
                del self._claims[job_id]
                self._begin(answer.lease.lease_id, number, asked_at + _lasts_s(answer.lease))

    def _dropping(self, job_id: str) -> "_Dropping":
        return _Dropping(self._claims, job_id)

    def _leave(self) -> None:
        if self._held or self._unsent:
            return
        self._world.trace.say(f"{self.worker_id} leaves")
        self._call(lambda scheduler, tx: claims.leave(scheduler, tx, self.worker_id))
        self.is_alive = False

    def _die(self) -> None:
        self._world.trace.say(f"{self.worker_id} dies")
        self.is_alive = False
        self._world.processes.discard(self._process)
        for lease_id in self._held:
            self._world.ledger.end(lease_id)


class _Dropping:
    """A claim that turns out to be lost is forgotten."""

    def __init__(self, claimed: dict[str, int], job_id: str) -> None:
        self._claimed, self._job_id = claimed, job_id

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, errors.HeadwayError):
            self._claimed.pop(self._job_id, None)


def _lasts_s(lease: Lease) -> float:
    """How long a lease lasts at first: one term, or until the job's time is up."""
    return min(lease.ttl_s, (lease.expires_at - lease.granted_at).total_seconds())


def _told(outcome: Outcome) -> str:
    return "CANCELLED" if outcome.cancelled else outcome.status


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(f"job {number}" for number in numbers) or "nothing"
