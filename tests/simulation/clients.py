"""Clients: they submit, and change their minds."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.simulation import requests
from tests.simulation.requests import KEYS, MARKERS

from headway.domain import states
from headway.domain.manage.groups import GroupMode, OnFailure
from headway.domain.requests.group_requests import GroupRequest
from headway.domain.requests.job_requests import JobPatch
from headway.scheduler.change import approvals, cancel, edit, retry, rewind
from headway.scheduler.change import move as moves
from headway.scheduler.manage import groups, markers
from headway.scheduler.programs import signals
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import submit
from headway.scheduler.submit.submit import Submission
from headway.storage.engine.store import Store
from headway.storage.engine.transaction import Transaction

if TYPE_CHECKING:
    from tests.simulation.facts import JobFacts
    from tests.simulation.world import World


def act(world: "World") -> None:
    """Do one thing that makes sense now."""
    verb = world.chooser.weighted(ACTS) if world.facts.jobs else submit_one
    verb(world)
    world.counts[verb.__name__] += 1


def submit_one(world: "World") -> None:
    """Submit a job; with a key, the same request may come again."""
    key = world.chooser.one(KEYS) if world.chooser.chance(0.3) else None
    if key is None:
        request = requests.job(world.chooser, _known(world), _defined(world))
    else:
        request = requests.keyed(key)
    world.trace.say(f"client submits {key or request.job_type or request.template}")

    def work(scheduler: Scheduler, tx: Transaction) -> submit.Receipt:
        submission = Submission(
            scheduler=scheduler, request=submit.prepared(scheduler, [request])[0]
        )
        return submit.submit_each(tx, [submission])[0]

    job = world.call(work, Store.write_beside).job
    world.trace.say(f"job {job.number}")
    world.ledger.acknowledge_submit(job.number, job.job_id, key)


def submit_batch(world: "World") -> None:
    """Submit a DAG, all or nothing."""
    wanted = requests.batch(world.chooser, _known(world), _defined(world))
    world.trace.say(f"client submits a batch of {len(wanted)}")
    made = world.call(
        lambda scheduler, tx: submit.submit_all(scheduler, tx, wanted), Store.write_beside
    )
    world.trace.say("jobs " + ", ".join(str(one.number) for one in made))
    for one in made:
        world.ledger.acknowledge_submit(one.number, one.job_id, None)


def submit_group(world: "World") -> None:
    """Submit jobs that belong together."""
    chooser = world.chooser
    count = chooser.number(1, 4)
    request = GroupRequest(
        jobs=[requests.job(chooser, [], _defined(world)) for _ in range(count)],
        mode=chooser.one(list(GroupMode)),
        on_failure=chooser.one(list(OnFailure)),
    )
    world.trace.say(
        f"client makes a {request.mode} group of {count}, on failure {request.on_failure}"
    )
    world.call(lambda scheduler, tx: groups.create(scheduler, tx, request))


def cancel_job(world: "World") -> None:
    """Cancel a job that has not ended, as far as is known."""
    job = _some(world, lambda job: job.is_active)
    force = world.chooser.chance(0.3)
    world.trace.say(f"client cancels job {job.number}")
    world.call(lambda scheduler, tx: cancel.cancel(scheduler, tx, job.number, force=force))
    world.ledger.cancelled.add((job.number, job.generation))


def cancel_group(world: "World") -> None:
    """Cancel a whole group."""
    job = _some(world, lambda job: job.group_id is not None)
    if job.group_id is not None:
        world.trace.say(f"client cancels the group of job {job.number}")
        world.call(lambda scheduler, tx: groups.cancel(scheduler, tx, job.group_id))


def decide(world: "World") -> None:
    """Approve a job, or reject it."""
    job = _some(world, lambda job: job.approval == "PENDING")
    verb = approvals.approve if world.chooser.chance(0.8) else approvals.reject
    world.trace.say(f"client says {verb.__name__} of job {job.number}")
    world.call(lambda scheduler, tx: verb(scheduler, tx, job.number, actor="ann"))


def signal(world: "World") -> None:
    """Send a signal to a job that goes on, as far as is known."""
    job = _some(world, lambda job: job.is_active)
    world.trace.say(f"client signals job {job.number}")
    world.call(lambda scheduler, tx: signals.send(scheduler, tx, job.number, "go", world.elapsed))


def move(world: "World") -> None:
    """Move a job before or behind another one, or to a place."""
    job, other = _some(world, _is_waiting), _some(world, _is_waiting)
    where: dict[str, Any] = world.chooser.one(
        [{"before": other.number}, {"after": other.number}, {"queue_position": 1}]
    )
    world.trace.say(f"client moves job {job.number} {where}")
    world.call(lambda scheduler, tx: moves.move(scheduler, tx, job.number, **where))


def patch(world: "World") -> None:
    """Change a job that waits."""
    job = _some(world, _is_waiting)
    changed = world.chooser.one(
        [
            JobPatch(priority=world.chooser.one((-10, 0, 10))),
            JobPatch(params={"n": 7}),
            JobPatch(scheduled_for=None),
            JobPatch(scheduled_for=world.clock.now()),
        ]
    )
    world.trace.say(f"client changes job {job.number}")
    world.call(lambda scheduler, tx: edit.edit(scheduler, tx, job.number, changed))


def retry_run(world: "World") -> None:
    """Try a failed run again."""
    failed = [row for row in world.facts.runs.values() if row["status"] == "FAILED"]
    if failed:
        run = world.chooser.one(failed)
        world.trace.say(f"client retries a run of job {run['job_number']}")
        world.ledger.retried_by_hand.add(run["job_number"])
        world.call(lambda scheduler, tx: retry.retry_run(scheduler, tx, run["run_id"]))


def rewind_job(world: "World") -> None:
    """Start a chain and everything downstream afresh."""
    job = _some(world, lambda job: not job.is_active)
    world.trace.say(f"client rewinds job {job.number}")
    world.call(lambda scheduler, tx: rewind.rewind(scheduler, tx, job.number, force=True))


def mark(world: "World") -> None:
    """Say that an artifact is there, or that it is gone."""
    _, kind, key = world.chooser.one(MARKERS).split(":")
    verb = markers.put if world.chooser.chance(0.6) else markers.remove
    world.trace.say(f"client says {verb.__name__} {kind}:{key}")
    world.call(lambda scheduler, tx: verb(scheduler, tx, kind, key))


def _is_waiting(job: "JobFacts") -> bool:
    return job.status in states.WAITING


def _some(world: "World", fits: "Callable[[JobFacts], bool]") -> "JobFacts":
    """A job that fits; now and then any job, to see it refused."""
    jobs = list(world.facts.jobs.values())
    fitting = [job for job in jobs if fits(job)]
    return world.chooser.one(fitting if fitting and world.chooser.chance(0.9) else jobs)


def _known(world: "World") -> list[int]:
    return list(world.facts.jobs)[-8:]


def _defined(world: "World") -> list[str]:
    return [name for name in requests.LIMITS if name in world.facts.limits]


ACTS: dict[Callable[["World"], None], float] = {
    submit_one: 10,
    submit_batch: 4,
    submit_group: 2,
    cancel_job: 2,
    cancel_group: 0.5,
    decide: 2,
    signal: 2,
    move: 1.5,
    patch: 1.5,
    retry_run: 1.5,
    rewind_job: 1.5,
    mark: 2,
}
