"""People who run the place: pauses, limits, templates, schedules, the next slot, webhooks."""

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
from tests.simulation.requests import LIMITS, QUEUES, TEMPLATES, TYPES

from headway.domain.jobs import RetryPolicy
from headway.domain.manage import webhooks as messages
from headway.domain.requests.schedule_requests import ScheduleRequest
from headway.domain.requests.template_requests import TemplatePatch, TemplateRequest
from headway.scheduler.change import pause as pauses
from headway.scheduler.claim import claims
from headway.scheduler.manage import limits, schedules, templates, webhooks
from headway.scheduler.upkeep import direct, trigger
from headway.storage.engine.question import Row

if TYPE_CHECKING:
    from tests.simulation.world import World

FEW_RETRIES = RetryPolicy(max_attempts=1, base_delay_s=5.0)


def act(world: "World") -> None:
    """Do one thing."""
    verb = world.chooser.weighted(ACTS)
    verb(world)
    world.counts[verb.__name__] += 1


def furnish(world: "World") -> None:
    """Most plays begin with templates and limits."""
    for name in TEMPLATES if world.chooser.chance(0.8) else ():
        request = TemplateRequest(name=name, job_type=TYPES[0], retry_policy=FEW_RETRIES)
        _make_template(world, request)
    for name in LIMITS if world.chooser.chance(0.6) else ():
        _put_limit(world, name, world.chooser.number(1, 2), None)


def pause(world: "World") -> None:
    """Pause everything, a queue or a job type."""
    queue, job_type = _target(world)
    world.trace.say(f"pause of {queue or job_type or 'everything'}")
    world.call(lambda scheduler, tx: pauses.pause(scheduler, tx, queue, job_type))


def resume(world: "World") -> None:
    """Lift one pause, or all."""
    queue, job_type = _target(world)
    world.trace.say(f"resume of {queue or job_type or 'everything'}")
    world.call(lambda scheduler, tx: pauses.resume(scheduler, tx, queue, job_type))


def _target(world: "World") -> tuple[str | None, str | None]:
    return world.chooser.one(
        [(None, None), (world.chooser.one(QUEUES), None), (None, world.chooser.one(TYPES))]
    )


def limit(world: "World") -> None:
    """Set a limit to a size or a rate."""
    chooser = world.chooser
    name = chooser.one((*LIMITS, *LIMITS, "global", "capacity", f"type:{TYPES[0]}"))
    size = chooser.number(20, 100) if name == "capacity" else chooser.number(0, 3)
    rate = f"{chooser.number(1, 3)}/min" if chooser.chance(0.3) else None
    world.trace.say(f"limit {name} is {size}, {rate}")
    _put_limit(world, name, size, rate)


def _put_limit(world: "World", name: str, size: int, rate: str | None) -> None:
    world.call(lambda scheduler, tx: limits.put(scheduler, tx, name, size=size, rate=rate))


def template(world: "World") -> None:
    """Make a template, change it or archive it."""
    name = world.chooser.one(TEMPLATES)
    request = TemplateRequest(name=name, job_type=world.chooser.one(TYPES))
    what = world.chooser.weighted({"made": 1, "changed": 2, "archived": 0.5})
    world.trace.say(f"template {name} is {what}")
    if what == "made":
        _make_template(world, request)
    elif what == "changed":
        changed = TemplatePatch(priority=world.chooser.number(-5, 5))
        world.call(
            lambda scheduler, tx: templates.change(scheduler, tx, name, changed, by_admin=True)
        )
    else:
        world.call(lambda scheduler, tx: templates.archive(tx, name))


def _make_template(world: "World", request: TemplateRequest) -> None:
    world.call(lambda scheduler, tx: templates.create(scheduler, tx, request, by_admin=True))


def schedule(world: "World") -> None:
    """Make a schedule."""
    fields: dict[str, Any] = {
        "template": world.chooser.one(TEMPLATES),
        "catchup": world.chooser.one(("skip", "one", "all")),
        "overlap": world.chooser.one(("allow", "skip")),
        **world.chooser.one(
            (
                {"cron": "* * * * *"},
                {"every": world.chooser.number(20, 90)},
                {"at": world.clock.now() + timedelta(seconds=40)},
            )
        ),
    }
    world.trace.say(f"schedule of {fields}")
    request = msgspec.convert(fields, ScheduleRequest)
    world.call(lambda scheduler, tx: schedules.create(scheduler, tx, request))


def change_schedule(world: "World") -> None:
    """Switch a schedule off or on, fire it by hand, or remove it."""
    found = _rows(world, "SELECT schedule_id FROM schedules ORDER BY schedule_id")
    if not found:
        return schedule(world)
    name = world.chooser.one(found)["schedule_id"]
    what = world.chooser.weighted({"trigger": 4, "disable": 2, "enable": 2, "remove": 0.5})
    world.trace.say(f"{what} of schedule {name[-4:]}")
    if what == "trigger":
        world.call(lambda scheduler, tx: trigger.trigger_now(scheduler, tx, name))
        return None
    world.ledger.changed_schedules.add(name)
    if what == "remove":
        world.call(lambda scheduler, tx: schedules.remove(tx, name))
    else:
        verb = schedules.disable if what == "disable" else schedules.enable
        world.call(lambda scheduler, tx: verb(scheduler, tx, name))
    return None


def reserve(world: "World") -> None:
    """A direct request takes the next slot, goes on with it, or gives it back."""
    found = _rows(world, "SELECT reservation_id FROM reservations WHERE state = 'ACTIVE'")
    if not found:
        world.trace.say("direct request reserves the next slot")
        world.call(lambda scheduler, tx: direct.reserve(scheduler, tx, "ann", scheduler.server))
        return
    name = found[0]["reservation_id"]
    what = world.chooser.weighted({"release": 4, "run": 2, "renew": 1})
    world.trace.say(f"direct request: {what}")
    if what == "release":
        world.call(lambda scheduler, tx: direct.release(scheduler, tx, name))
    elif what == "run":
        world.call(lambda scheduler, tx: direct.mark_running(scheduler, tx, name))
    else:
        world.call(lambda scheduler, tx: direct.renew(tx, name))


def webhook(world: "World") -> None:
    """Register an endpoint, remove one, or send something again."""
    found = _rows(world, "SELECT delivery_id FROM deliveries ORDER BY delivery_id")
    what = world.chooser.weighted({"register": 4, "remove": 0.5, "redeliver": 1})
    if what == "redeliver" and found:
        name = world.chooser.one(found)["delivery_id"]
        world.trace.say("a message is sent again")
        world.call(lambda scheduler, tx: webhooks.redeliver(tx, name))
    elif what == "remove" and world.facts.webhooks:
        name = world.chooser.one(world.facts.webhooks)["webhook_id"]
        world.trace.say("a webhook is removed")
        world.call(lambda scheduler, tx: webhooks.remove(tx, name))
    else:
        events = world.chooser.some(messages.EVENTS, 3) or None
        world.trace.say(f"webhook for {events or 'all events'}")
        url = "http://endpoint.example/all"
        world.call(lambda scheduler, tx: webhooks.register(scheduler, tx, url, events))


def drain(world: "World") -> None:
    """Let a worker take no more jobs, or some again."""
    found = _rows(world, "SELECT worker_id FROM workers WHERE left_at IS NULL ORDER BY worker_id")
    if found:
        name, drained = world.chooser.one(found)["worker_id"], world.chooser.chance(0.5)
        world.trace.say(f"{name} is {'drained' if drained else 'to take jobs again'}")
        world.call(lambda scheduler, tx: claims.drain(scheduler, tx, name, drained=drained))


def _rows(world: "World", sql: str) -> list[Row]:
    return list(world.store.read(lambda tx: tx.select(sql, {})))


ACTS: dict[Callable[["World"], None], float] = {
    pause: 1,
    resume: 3,
    limit: 3,
    template: 1,
    schedule: 5,
    change_schedule: 2,
    reserve: 3,
    webhook: 2,
    drain: 0.7,
}
