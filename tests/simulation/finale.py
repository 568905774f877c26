"""The end of a play: every obstacle is removed, and everything that can end must end."""

from typing import TYPE_CHECKING

from tests.simulation import facts, fires, rules
from tests.simulation.facts import JobFacts
from tests.simulation.ledger import Broken
from tests.simulation.workers import Worker

from headway.domain import states
from headway.domain.answers import GateState
from headway.domain.gates import Gate
from headway.domain.workers import Abilities
from headway.scheduler.change import approvals, pause
from headway.scheduler.claim import claims
from headway.scheduler.explain import status
from headway.scheduler.manage import limits, schedules
from headway.scheduler.programs import signals
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import direct, verify
from headway.storage.engine.transaction import Transaction

if TYPE_CHECKING:
    from tests.simulation.world import World

ROUND_S = 61.0
"""Longer than a lease or a claim lasts without a sign of life."""
QUIET_ROUNDS = 2
"""Together longer than any delay that a job or a message has in a play."""
MOST_ROUNDS = 60
ENOUGH = 1_000_000


def end(world: "World") -> None:
    """Bring the play to its end and look whether all is well."""
    world.calm = True
    world.trace.say("finale")
    for server in world.servers:
        if server.scheduler is None:
            server.be_born()
    for server in world.servers:
        server.keep_time()
    fires.check_all(world)
    world.look()
    scheduler = world.servers[0].scheduler
    assert scheduler is not None
    world.store.write(lambda tx: _open_everything(scheduler, tx))
    _run_dry(world)
    _judge(world, scheduler)


def _open_everything(scheduler: Scheduler, tx: Transaction) -> None:
    pause.resume(scheduler, tx, None, None)
    for row in tx.select("SELECT name, rate FROM limits", {}):
        rate = None if row["rate"] is None else f"{ENOUGH}/s"
        limits.put(scheduler, tx, row["name"], size=ENOUGH, rate=rate)
    for row in tx.select("SELECT worker_id FROM workers WHERE left_at IS NULL", {}):
        claims.drain(scheduler, tx, row["worker_id"], drained=False)
    for row in tx.select("SELECT reservation_id FROM reservations WHERE state = 'ACTIVE'", {}):
        direct.release(scheduler, tx, row["reservation_id"])
    for row in tx.select("SELECT schedule_id FROM schedules", {}):
        schedules.disable(scheduler, tx, row["schedule_id"])


def _run_dry(world: "World") -> None:
    """Let time pass and workers work until nothing changes any more."""
    worker = Worker(world, "last", slots=1000, abilities=Abilities(capabilities=("gpu",)))
    quiet = 0
    for turn in range(MOST_ROUNDS):
        world.pass_time(ROUND_S)
        server = world.servers[turn % len(world.servers)]
        server.keep_time()
        server.deliver()
        server.deliver()
        if any(job.status is states.WAITING_ON_APPROVAL for job in world.facts.jobs.values()):
            world.store.write(lambda tx: _approve(world, tx))
        world.store.write(lambda tx: _signal(world, tx))
        worker.claim()
        worker.report_all()
        before = world.look()
        rules.check(before, world.facts, world.ledger)
        quiet = quiet + 1 if _standing(before) == _standing(world.facts) else 0
        if quiet == QUIET_ROUNDS:
            return
    raise Broken(f"jobs still change after {MOST_ROUNDS} rounds")


def _standing(found: facts.Facts) -> list[object]:
    return [
        *((number, job.status, job.generation) for number, job in found.jobs.items()),
        *((row["delivery_id"], row["status"]) for row in found.deliveries.values()),
    ]


def _approve(world: "World", tx: Transaction) -> None:
    scheduler = world.servers[0].scheduler
    assert scheduler is not None
    waiting = "SELECT number FROM jobs WHERE status = 'WAITING_ON_APPROVAL'"
    for row in tx.select(waiting, {}):
        approvals.approve(scheduler, tx, row["number"], actor="ann")


def _signal(world: "World", tx: Transaction) -> None:
    scheduler = world.servers[0].scheduler
    assert scheduler is not None
    waiting = "SELECT number FROM jobs WHERE status = 'SUSPENDED' AND wait_kind = 'signal'"
    for row in tx.select(waiting, {}):
        signals.send(scheduler, tx, row["number"], "go", None)


def _judge(world: "World", scheduler: Scheduler) -> None:
    found = world.facts
    for problem in verify.verify(scheduler):
        raise Broken(problem)
    for job in found.jobs.values():
        if job.is_active:
            _explain(world, scheduler, job)
    for number, generation in world.ledger.cancelled:
        job = found.jobs[number]
        if job.generation == generation and job.status is not states.CANCELLED:
            raise Broken(f"job {number} was cancelled and ended as {job.status}")
    for delivery_id, row in found.deliveries.items():
        if row["status"] == "PENDING":
            raise Broken(f"the message of job {row['job_number']} was never sent")
        if row["status"] == "DELIVERED" and delivery_id not in world.ledger.received:
            raise Broken(f"the message of job {row['job_number']} counts as sent and was not")
    for table, sentence in LEFT_OVER.items():
        if world.store.read(lambda tx, sql=f"SELECT 1 FROM {table}": tx.select(sql, {})):  # type: ignore[misc]
            raise Broken(sentence)
    fires.check_once(world)
    fires.check_overlaps(world)


LEFT_OVER = {
    "leases": "a lease is left over",
    "locks": "a lock is left over",
    "unsettled": "a consequence is left over",
    "groups WHERE ended_at IS NULL AND group_id NOT IN"
    " (SELECT group_id FROM jobs WHERE finished_at IS NULL AND group_id IS NOT NULL)": (
        "a group whose members have ended has not ended"
    ),
}


def _explain(world: "World", scheduler: Scheduler, job: JobFacts) -> None:
    """Only what somebody else would have to make, or a moment, is still waited for."""
    why = world.store.read(lambda tx: status.why(scheduler, tx, job.number))
    closed = {row.gate: row for row in why.gates if row.state is GateState.CLOSED}
    waits_for_a_moment = Gate.TIME in closed and not job.delayed
    waits_for_others = any(
        one.status in states.ACTIVE
        for gate in (Gate.AFTER, Gate.ARTIFACTS)
        for one in (closed[gate].blockers if gate in closed else ())
    )
    waits_for_a_maker = Gate.ARTIFACTS in closed and job.terms.missing_producer == "wait"
    if job.status not in states.ADMITTED or not (
        waits_for_a_moment or waits_for_others or waits_for_a_maker
    ):
        told = {gate: row.detail for gate, row in closed.items()}
        raise Broken(f"job {job.number} is {job.status} in the end: {told}")
