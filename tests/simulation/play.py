"""A play: actors chosen one after the other, every rule checked after every step."""

import json
import traceback
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from tests.simulation import clients, finale, people, rules
from tests.simulation.chooser import Chooser
from tests.simulation.ledger import Broken
from tests.simulation.requests import QUEUES
from tests.simulation.workers import Worker
from tests.simulation.world import Bed, NoAnswerError, World

from headway.domain import errors
from headway.domain.workers import Abilities
from headway.storage.upkeep import invariants

STEPS = 50
MOST_WORKERS = 4

SETTINGS_S = (-4013, -89, -11, 13, 97, 3011)
"""By how much a clock is set. None takes another back: decision 45 says what would be mistaken."""


@dataclass(frozen=True)
class Played:
    """How a play went."""

    seed: int
    steps: int
    trace: str
    failure: str | None
    counts: Counter[str] = field(default_factory=Counter)


def play(bed: Bed, seed: int, only: Collection[int] | None = None) -> Played:
    """Play a seed to its end, or those of its steps."""
    world = World(bed, seed)
    failure = None
    try:
        world.open()
        for step in range(STEPS):
            if only is None or step in only:
                _step(world, step)
        finale.end(world)
    except Broken as broken:
        failure = str(broken)
    except Exception:
        failure = traceback.format_exc()
    world.fates.disarm()
    world.trace.end_step("", world.clock.now())
    return Played(seed, STEPS, world.trace.text(), failure, _counted(world))


def _counted(world: World) -> Counter[str]:
    """What a play consisted of."""
    found = world.facts
    ends = Counter(f"job {job.status}" for job in found.jobs.values())
    waits = Counter(
        f"waited: {kind}" for job in found.jobs.values() for kind in json.loads(job.waited_on)
    )
    return (
        world.counts + ends + waits + Counter(runs=len(found.runs), messages=len(found.deliveries))
    )


def _step(world: World, step: int) -> None:
    world.chooser = Chooser(world.seed, step)
    try:
        _actor(world)()
    except NoAnswerError:
        pass
    except errors.HeadwayError as error:
        world.trace.say(f"refused: {error.code}")
        world.counts[f"refused: {error.code}"] += 1
    check(world)
    world.trace.end_step(step, world.clock.now())


def check(world: World) -> None:
    """Compare what the store holds with what may be there."""
    before = world.look()
    rules.check(before, world.facts, world.ledger)
    if not world.facts.is_same_as(before):
        for sentence in world.store.read(invariants.broken):
            raise Broken(sentence)


def _actor(world: World) -> Callable[[], None]:
    """Who acts next."""
    world.workers = [worker for worker in world.workers if worker.is_alive]
    dead = [server for server in world.servers if server.scheduler is None]
    alive = [server for server in world.servers if server.scheduler is not None]
    options: dict[Callable[[], None], float] = {
        lambda: clients.act(world): 14,
        lambda: people.act(world): 4,
        lambda: _pass_time(world): 5,
    }
    if not world.behind:
        options[lambda: _set_clock(world)] = 0.8
    if dead:
        options[lambda: world.chooser.one(dead).be_born()] = 6
    if alive:
        options[lambda: world.chooser.one(alive).keep_time()] = 7
        options[lambda: world.chooser.one(alive).deliver()] = 2
        options[lambda: _kill(world)] = 0.7
    if world.workers:
        options[lambda: world.chooser.one(world.workers).act()] = 16
    if len(world.workers) < MOST_WORKERS:
        options[lambda: _hire(world)] = 6
    return world.chooser.weighted(options)


def _pass_time(world: World) -> None:
    seconds = world.chooser.weighted({1: 4, 6: 4, 12: 3, 35: 1, 70: 1, 400: 0.3})
    world.trace.say(f"{seconds} s go by")
    world.pass_time(seconds)


def _set_clock(world: World) -> None:
    seconds = world.chooser.one(SETTINGS_S)
    world.trace.say(f"the clock is set by {seconds} s")
    world.counts["the clock is set"] += 1
    world.set_clock(seconds)


def _kill(world: World) -> None:
    server = world.chooser.one([one for one in world.servers if one.scheduler is not None])
    world.trace.say(f"{server.name} is killed")
    server.die()


def _hire(world: World) -> None:
    """A new worker: a server's own, or one that goes over the network."""
    chooser = world.chooser
    homes = [one for one in world.servers if one.scheduler is not None and one.worker is None]
    abilities = Abilities(
        capabilities=("gpu",) if chooser.chance(0.7) else (),
        queues=(chooser.one(QUEUES),) if chooser.chance(0.2) else None,
    )
    slots = chooser.one((1, 1, 2, 4))
    if homes and chooser.chance(0.5):
        server = chooser.one(homes)
        assert server.scheduler is not None
        name = str(server.scheduler.server)
        worker = Worker(world, name, slots=slots, abilities=abilities, home=server)
        server.worker = worker
    else:
        name = f"w{world.new_worker_number()}"
        lease = chooser.chance(0.6)
        worker = Worker(world, name, lease=lease, slots=slots, abilities=abilities)
    world.trace.say(f"{name} starts to work with {slots} slots")
    world.workers.append(worker)
