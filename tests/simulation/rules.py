"""What must hold after every step, judged from the facts before it and after it."""

import json
from collections import Counter
from collections.abc import Callable, Iterator

from tests.simulation import succession
from tests.simulation.facts import Facts, JobFacts
from tests.simulation.ledger import Broken, Ledger

from headway.domain import states
from headway.domain.manage.limits import StandardPolicy
from headway.domain.manage.webhooks import RUN_EVENTS

STARVED_MS = 300_000


def check(before: Facts, after: Facts, ledger: Ledger) -> None:
    """Raise if a promise was broken in this step."""
    for sentence in ledger.wrongs:
        raise Broken(sentence)
    for rule in LASTING if after.is_same_as(before) else RULES:
        for sentence in rule(before, after, ledger):
            raise Broken(sentence)


def nothing_is_lost(before: Facts, after: Facts, ledger: Ledger) -> Iterator[str]:
    """What was acknowledged is there, and nothing that was there is gone."""
    for number, job_id in ledger.submitted.items():
        if number not in after.jobs or after.jobs[number].job_id != job_id:
            yield f"job {number} was acknowledged and is gone"
    for run_id, status in ledger.finished.items():
        if after.runs[run_id]["status"] != status:
            yield f"run {run_id} was acknowledged as {status} and is {after.runs[run_id]['status']}"
    if not before.jobs.keys() <= after.jobs.keys():
        yield f"jobs {sorted(before.jobs.keys() - after.jobs.keys())} are gone"
    if not before.runs.keys() <= after.runs.keys():
        yield "a run is gone"


def ends_are_final(before: Facts, after: Facts, ledger: Ledger) -> Iterator[str]:
    """A run keeps its end; a job does, unless it is rewound; nothing that runs is queued again."""
    for run_id, row in before.runs.items():
        if row["status"] is not None and row != after.runs[run_id]:
            yield f"the ended run of job {row['job_number']} changed"
    for number, old in before.jobs.items():
        new = after.jobs[number]
        if old.row == new.row or old.generation != new.generation:
            continue
        if old.status in states.TERMINAL and new.status is not old.status:
            yield f"job {number} was {old.status} and is {new.status}"
        if old.status is states.RUNNING and new.is_active and old.run_id != new.run_id:
            yield f"job {number} was running and is {new.status}"


def cancelled_stays_cancelled(before: Facts, after: Facts, ledger: Ledger) -> Iterator[str]:
    """An acknowledged cancel ends the job as CANCELLED, now or with its run, and is not retried."""
    for number, generation in ledger.cancelled:
        job = after.jobs[number]
        if job.generation != generation:
            continue
        if job.status is not states.CANCELLED and job.status is not states.RUNNING:
            yield f"job {number} was cancelled and is {job.status}"
    for number in after.jobs.keys() - before.jobs.keys():
        job = after.jobs[number]
        of = after.jobs.get(job.retry_of)
        if of is None or of.number in ledger.retried_by_hand:
            continue
        if (of.number, of.generation) in ledger.cancelled:
            yield f"cancelled job {job.retry_of} is retried as job {number}"


def starts_are_allowed(before: Facts, after: Facts, ledger: Ledger) -> Iterator[str]:
    """Every gate of a job that started in this step is open."""
    for run_id, job in after.running.items():
        if run_id not in before.runs:
            for obstacle in OBSTACLES:
                if found := obstacle(before, after, job):
                    yield f"job {job.number} started although {found}"
            if found := _dependency(after, job, ledger):
                yield f"job {job.number} started although {found}"


def _too_early(before: Facts, after: Facts, job: JobFacts) -> str | None:
    at = job.scheduled_for
    was_due = job.number in before.jobs and before.jobs[job.number].is_ready
    if at is not None and at > after.now_ms and not was_due:
        return f"it is scheduled for {at}"
    return None


def _dependency(after: Facts, job: JobFacts, ledger: Ledger) -> str | None:
    for one in job.terms.after:
        links = after.chains.get(one.number, [])
        if any(link.number in ledger.retried_by_hand for link in links):
            continue  # the chain had ended, and what was decided then stays decided
        succeeded = any(link.status in states.SUCCESS for link in links)
        if any(link.is_active for link in links) and not succeeded:
            return f"job {one.number} has not ended"
        if one.policy == "success" and not succeeded:
            return f"job {one.number} did not succeed"
        if one.policy == "failure" and succeeded:
            return f"job {one.number} did not fail"
    return None


def _artifact(before: Facts, after: Facts, job: JobFacts) -> str | None:
    missing = [name for name in job.terms.needs if name not in after.markers]
    return f"{missing[0]} is missing" if missing else None


def _approval(before: Facts, after: Facts, job: JobFacts) -> str | None:
    return "it is not approved" if job.approval == "PENDING" else None


def _lock(before: Facts, after: Facts, job: JobFacts) -> str | None:
    wanted = {lock.key: lock.mode for lock in job.terms.locks}
    for other in after.running.values():
        for lock in other.terms.locks if other.number != job.number else ():
            if lock.key in wanted and "exclusive" in (lock.mode, wanted[lock.key]):
                return f"job {other.number} holds lock {lock.key}"
    return None


def _limit(before: Facts, after: Facts, job: JobFacts) -> str | None:
    used = _used(after)
    for name in StandardPolicy().uses(after.lanes[job.lane_id]):
        size = after.limits[name]["size"] if name in after.limits else None
        if size is not None and used[name] > size:
            return f"limit {name} of {size} is used by {used[name]}"
    return None


def _pause(before: Facts, after: Facts, job: JobFacts) -> str | None:
    lane = after.lanes[job.lane_id]
    for row in before.pauses:
        if row["queue"] in ("", lane.queue) and row["job_type"] in ("", lane.job_type):
            return "it is paused"
    return None


def _reservation(before: Facts, after: Facts, job: JobFacts) -> str | None:
    held = [
        row
        for row in before.reservations
        if not row["running"] and row["expires_at"] > after.now_ms
    ]
    return "the next slot is reserved" if held else None


def _drained(before: Facts, after: Facts, job: JobFacts) -> str | None:
    was = before.jobs.get(job.number)
    was_claimed = was is not None and was.status in states.CLAIMS
    worker = before.workers.get(job.worker_id)
    is_drained = worker is not None and worker["draining_since"] is not None
    return f"{job.worker_id} is drained" if is_drained and not was_claimed else None


def _unfit(before: Facts, after: Facts, job: JobFacts) -> str | None:
    unfit = not _takes(after, job.worker_id, job)
    return f"{job.worker_id} does not take such jobs" if unfit else None


def _takes(after: Facts, worker_id: str, job: JobFacts) -> bool:
    """Whether a worker said that it takes jobs like this one."""
    lane, said = after.lanes[job.lane_id], json.loads(after.workers[worker_id]["abilities"])
    queues = said.get("queues")
    return set(lane.requires) <= set(said.get("capabilities", ())) and (
        queues is None or lane.queue in queues
    )


def order_is_kept(before: Facts, after: Facts, ledger: Ledger) -> Iterator[str]:
    """No job is taken while one before it could go as well and stays behind."""
    taken = [
        before.jobs[number]
        for number, job in after.jobs.items()
        if number in before.jobs
        and before.jobs[number].is_ready
        and job.status in (states.RUNNING, states.CLAIMED)
    ]
    left = [
        job
        for number, job in before.jobs.items()
        if job.is_ready and not job.gated and after.jobs[number].is_ready
    ]
    if not taken or not left or any(_starves(after, job) for job in before.jobs.values()):
        return
    used = _used(after)
    for job in taken:
        worker_id = after.jobs[job.number].worker_id
        for other in left:
            if other.order < job.order and (
                other.lane_id == job.lane_id or _could_go(after, used, worker_id, other)
            ):
                yield f"job {job.number} was taken before job {other.number}"


def _starves(after: Facts, job: JobFacts) -> bool:
    """A job that a limit has kept waiting for long reserves its room: others are passed over."""
    since = job.limited_since
    return since is not None and after.now_ms - since >= STARVED_MS


def _could_go(after: Facts, used: Counter[str], worker_id: str, job: JobFacts) -> bool:
    """Whether nothing but its turn keeps a job from this worker."""
    lane = after.lanes[job.lane_id]
    if not _takes(after, worker_id, job) or _pause(after, after, job):
        return False
    for name, amount in StandardPolicy().uses(lane).items():
        limit = after.limits.get(name)
        if limit is not None and (limit["rate"] or used[name] + amount > (limit["size"] or 0)):
            return False
    return True


def _used(after: Facts) -> Counter[str]:
    used: Counter[str] = Counter()
    for job in after.running.values():
        used.update(StandardPolicy().uses(after.lanes[job.lane_id]))
    return used


def ends_are_told(before: Facts, after: Facts, ledger: Ledger) -> Iterator[str]:
    """Every end of a run is written into the outbox of each webhook that wants it, once."""
    ended = Counter(
        (row["job_number"], RUN_EVENTS[row["status"]])
        for run_id, row in after.runs.items()
        if row["status"] in RUN_EVENTS
        and (run_id not in before.runs or before.runs[run_id]["status"] is None)
    )
    told = Counter(
        (row["webhook_id"], row["job_number"], row["event"])
        for delivery_id, row in after.deliveries.items()
        if delivery_id not in before.deliveries
    )
    kept = {row["webhook_id"] for row in after.webhooks}
    for row in before.webhooks:
        for (number, event), count in ended.items():
            wanted = row["webhook_id"] in kept and event in json.loads(row["events"])
            if wanted and told[row["webhook_id"], number, event] != count:
                yield f"{event} of job {number} was not written into the outbox once"


Rule = Callable[[Facts, Facts, Ledger], Iterator[str]]

LASTING: tuple[Rule, ...] = (nothing_is_lost, cancelled_stays_cancelled)
"""Those that look at what was acknowledged, which may be news although nothing was written."""

RULES: tuple[Rule, ...] = (
    *LASTING,
    ends_are_final,
    starts_are_allowed,
    order_is_kept,
    ends_are_told,
    *succession.RULES,
)
OBSTACLES: tuple[Callable[[Facts, Facts, JobFacts], str | None], ...] = (
    _too_early,
    _artifact,
    _approval,
    _lock,
    _limit,
    _pause,
    _reservation,
    _drained,
    _unfit,
)
