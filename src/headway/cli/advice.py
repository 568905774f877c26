"""What a person can do about a job that does not run."""

from collections.abc import Callable

from headway.cli import words
from headway.cli.session import Session
from headway.client import calls
from headway.domain import states
from headway.domain.answers import GateRow, GateState, Why
from headway.domain.gates import Gate
from headway.domain.jobs import Job

FARTHEST = 20

OPEN: dict[Gate, Callable[[Job], str]] = {
    Gate.TIME: lambda job: "its time has come" if job.scheduled_for else "no time was set",
    Gate.AFTER: lambda job: "every job before it is done" if job.after else "comes after no job",
    Gate.ARTIFACTS: lambda job: "all it needs is there" if job.needs else "needs no artifact",
    Gate.PINNED_HEAD: lambda job: "the branch is where it should be" if job.pinned_head else "none",
    Gate.APPROVAL: lambda job: "approved" if job.approval else "nobody is asked",
    Gate.LOCKS: lambda job: "all are free for it" if job.locks else "takes no lock",
    Gate.LIMITS: lambda job: "there is room in each",
    Gate.PAUSE: lambda job: "nothing is paused for it",
    Gate.WORKER: lambda job: "a worker can take it",
}
"""What is said of an open gate."""


def next_steps(session: Session, job: Job, why: Why) -> list[str]:
    """One or two sentences, with the command to type."""
    if why.status is states.RUNNING:
        return [f"It is running. Watch it: headway jobs attach {job.number}"]
    row = _closed(why)
    if why.status in states.TERMINAL:
        return _ended(session, job, why, row)
    if row is None:
        return _in_line(job, why)
    steps = _STEPS[row.gate](session, job, row)
    if why.startable or row.gate is Gate.WORKER:
        return steps
    return ["Nothing can start it as things are now.", *steps]


def _closed(why: Why) -> GateRow | None:
    return next((row for row in why.gates if row.state is GateState.CLOSED), None)


def _in_line(job: Job, why: Why) -> list[str]:
    if job.status in states.CLAIMS:
        return [f"The worker {job.worker_id} has taken it and is about to start."]
    if why.ahead == 0:
        return ["Every gate is open and nobody is ahead: it goes next, as soon as a slot is free."]
    jobs = "1 job is" if why.ahead == 1 else f"{why.ahead} jobs are"
    return [f"Every gate is open; {jobs} ahead. To go first: headway jobs move {job.number} --to 1"]


def _ended(session: Session, job: Job, why: Why, row: GateRow | None) -> list[str]:
    if why.status in states.SUCCESS:
        return ["It has done its work."]
    root = _root(session, why)[0]
    if row is not None and root.number != job.number:
        return _began(root)
    if why.status in (states.FAILED, states.TIMEOUT):
        return [
            f"What it said: headway jobs tail {job.number} --stderr",
            f"To do it again, with all that follows: headway jobs retry {job.number}",
        ]
    return [f"To do it again, with all that follows: headway jobs retry {job.number}"]


def _root(session: Session, why: Why) -> tuple[Why, GateRow | None]:
    """Down the chain of waiting jobs to the one that the others wait for in the end."""
    seen = {why.job_id}
    row = _closed(why)
    for _ in range(FARTHEST):
        behind = [one for one in (row.blockers if row else ()) if one.kind == "job"]
        following = next((one.id for one in behind if one.id not in seen), None)
        if following is None:
            break
        seen.add(following)
        why = session.send(calls.why(following))
        row = _closed(why)
    return why, row


def _began(root: Why) -> list[str]:
    """What to do about the job with which the trouble began."""
    again = f"headway jobs retry {root.number}"
    if root.status in (states.FAILED, states.TIMEOUT):
        look = f"headway jobs tail {root.number} --stderr"
        return [f"It began with job {root.number}: {look}", f"Once that is mended: {again}"]
    ended = root.status.lower()
    return [f"It began with job {root.number}, which is {ended}. To do it again: {again}"]


def _earlier(session: Session, job: Job, row: GateRow) -> list[str]:
    why = session.send(calls.why(job.number))
    root, gate = _root(session, why)
    if root.number == job.number:
        return _missing(row)
    if root.status is states.RUNNING:
        return [
            f"It goes on after job {root.number}. Watch that: headway jobs attach {root.number}"
        ]
    begin = f"In the end it all waits for job {root.number}"
    if gate is None:
        return [f"{begin}, which is {root.status.lower()}: headway why {root.number}"]
    other = session.send(calls.get_job(root.number))
    return [f"{begin}.", *_STEPS[gate.gate](session, other, gate)]


def _missing(row: GateRow) -> list[str]:
    wanted = [one.id for one in row.blockers if one.kind == "artifact"]
    return [f"It goes on as soon as {' and '.join(wanted) or 'that'} is there."]


def _time(session: Session, job: Job, row: GateRow) -> list[str]:
    return [f"Nothing to do: it starts by itself, {words.when(job.scheduled_for)}."]


def _head(session: Session, job: Job, row: GateRow) -> list[str]:
    pin = job.pinned_head
    where = f"{pin.branch} is at {pin.commit[:12]} again" if pin else "the branch is back"
    return [f"It goes on when {where}. To drop it: headway jobs cancel {job.number}"]


def _approval(session: Session, job: Job, row: GateRow) -> list[str]:
    number = job.number
    return [
        f"Your word is needed: headway jobs approve {number}   (or: headway jobs reject {number})"
    ]


def _locks(session: Session, job: Job, row: GateRow) -> list[str]:
    holders = [session.number(one.id) for one in row.blockers if one.kind == "job"]
    if not holders:
        return ["It goes on when the lock is free."]
    return [
        f"It goes on when job {holders[0]} lets go. Watch that: headway jobs attach {holders[0]}"
    ]


def _limits(session: Session, job: Job, row: GateRow) -> list[str]:
    name = (row.detail or "").partition(": used")[0].partition(":  ")[0]
    return [
        f"It goes on when there is room. To make room: headway limits set {name or 'NAME'} SIZE"
    ]


def _pause(session: Session, job: Job, row: GateRow) -> list[str]:
    if any(one.kind == "reservation" for one in row.blockers):
        return ["It goes on after the request that holds the next slot."]
    if any(one.id == job.queue for one in row.blockers):
        return [f"To go on: headway resume --queue {job.queue}"]
    if any(one.id == job.job_type for one in row.blockers):
        return [f"To go on: headway resume --type {job.job_type}"]
    return ["To go on: headway resume"]


def _worker(session: Session, job: Job, row: GateRow) -> list[str]:
    if job.job_type == "command" and not job.requires:
        return ["Nobody is there to do the work. Start somebody: headway serve"]
    start = "headway serve --app MODULE:APP"
    able = "".join(f" --capability {word}" for word in job.requires)
    return [f"A worker that knows {job.job_type} is needed: {start}{able}"]


_STEPS: dict[Gate, Callable[[Session, Job, GateRow], list[str]]] = {
    Gate.TIME: _time,
    Gate.AFTER: _earlier,
    Gate.ARTIFACTS: _earlier,
    Gate.PINNED_HEAD: _head,
    Gate.APPROVAL: _approval,
    Gate.LOCKS: _locks,
    Gate.LIMITS: _limits,
    Gate.PAUSE: _pause,
    Gate.WORKER: _worker,
}
