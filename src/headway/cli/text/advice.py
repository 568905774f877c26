"""What a person can do about a job that does not run."""

import shlex
from collections.abc import Callable
from typing import NamedTuple

from headway import protocol
from headway.cli import lost
from headway.cli.session import Session
from headway.cli.text import aftermath, words
from headway.domain import states
from headway.domain.answers import GateRow, GateState, Why
from headway.domain.gates import Blocker, Gate
from headway.domain.jobs import Job

OPEN: dict[Gate, Callable[[Job], str]] = {
    Gate.TIME: lambda job: "its time has come" if job.scheduled_for else "no start time set",
    Gate.AFTER: lambda job: "every job before it has ended" if job.after else "depends on no job",
    Gate.ARTIFACTS: lambda job: (
        "everything it needs is there" if job.needs else "needs no artifact"
    ),
    Gate.PINNED_HEAD: lambda job: "the branch is at that commit" if job.pinned_head else "none",
    Gate.APPROVAL: lambda job: "approved" if job.approval else "none needed",
    Gate.LOCKS: lambda job: "all its locks are free" if job.locks else "takes no lock",
    Gate.LIMITS: lambda _: "every limit has room",
    Gate.PAUSE: lambda _: "not paused",
    Gate.WORKER: lambda _: "a worker can take it",
}
"""What is said of an open gate."""


class Step(NamedTuple):
    """A sentence, and the command that goes with it."""

    sentence: str
    command: str | None = None


def next_steps(session: Session, job: Job, why: Why) -> list[Step]:
    """What to do, most useful first."""
    if why.status is states.RUNNING:
        if gone := lost.reason(session, job):
            return [Step(f"It does not go on: {gone}", "headway serve")]
        return [Step("It is running. To watch it", f"headway jobs attach {job.number}")]
    row = closed(why)
    if why.status in states.TERMINAL:
        return _ended(session, job, why, row)
    if row is None or _is_busy(row):
        return _in_line(session, job, why)
    steps = _STEPS[row.gate](session, job, row)
    if row.gate is Gate.TIME and (others := _besides(why, row)):
        steps = _time_and_more(job, others)
    if why.startable or row.gate is Gate.WORKER or _is_cycle(row):
        return steps
    if row.gate is Gate.LIMITS:
        steps = [step._replace(sentence="To make room") for step in steps]
    return [Step("As things are now, nothing could ever start it."), *steps]


def closed(why: Why) -> GateRow | None:
    """The gate that keeps the job from going on."""
    return next((row for row in why.gates if row.state is GateState.CLOSED), None)


def _besides(why: Why, first: GateRow) -> list[Gate]:
    """The other gates that are closed, by more than full slots."""
    shut = [row for row in why.gates if row.state is GateState.CLOSED and row is not first]
    return [row.gate for row in shut if not _is_busy(row)]


def _is_busy(row: GateRow) -> bool:
    """Whether a worker takes the job, and only a slot is missing."""
    full = any(one.status == "full" for one in row.blockers)
    return row.gate is Gate.WORKER and full and not _threads(row)


def _threads(row: GateRow) -> list[str]:
    """The earlier attempts whose threads keep a job waiting."""
    return [one.id for one in row.blockers if one.kind == "thread"]


def _in_line(session: Session, job: Job, why: Why) -> list[Step]:
    if job.status in states.CLAIMS:
        return [Step(f"Worker {job.worker_id} has taken it and is about to start it.")]
    if parent := _parent_with_slot(session, job, why):
        return parent
    begin = "Only a free slot is missing" if closed(why) else "Every gate is open"
    if why.ahead == 0:
        return [Step(f"{begin} and no job is ahead; it starts when a slot is free.")]
    jobs = "1 job is" if why.ahead == 1 else f"{why.ahead} jobs are"
    first = f"headway jobs change {job.number} --priority urgent"
    return [Step(f"{begin}; {jobs} ahead of it. To run it first", first)]


def _parent_with_slot(session: Session, job: Job, why: Why) -> list[Step]:
    """A parent that waits for its child keeps the slot that the child waits for."""
    row = closed(why)
    if row is None or all(one.id != job.parent_id for one in row.blockers):
        return []
    number = session.number(str(job.parent_id))
    program = "headway serve --slots N" if session.is_local else "headway worker --app MODULE:APP"
    return [
        Step(f"Every slot is taken, one of them by its parent, job {number}."),
        Step("If that waits for this job, neither goes on. To add slots", program),
    ]


def _ended(session: Session, job: Job, why: Why, row: GateRow | None) -> list[Step]:
    if why.status in states.SUCCESS:
        return [Step("Its work is done.")]
    if row is not None and (cause := _cause(row)):
        status = states.JobStatus(cause.status or "")
        if cause.kind == "job" and status is states.BLOCKED_BY_DEPENDENCY:
            number = session.number(cause.id)
            return [
                Step(f"Job {number} was blocked before it. To see by what", f"headway why {number}")
            ]
        return _began(session, cause.id, status)
    wanted = _wanted(row) if row is not None else []
    once = f"Once {wanted[0]} is there" if wanted else "To retry it and everything downstream"
    again = Step(once, f"headway jobs retry {job.number}")
    return [*_to_read(session, job, "To read its output"), again]


def _to_read(session: Session, job: Job, sentence: str) -> list[Step]:
    command = aftermath.tail_command(session, job)
    return [Step(sentence, command)] if command else []


def _cause(row: GateRow) -> Blocker | None:
    """The job with which it began, or else the first that blocks."""
    behind = [one for one in row.blockers if one.kind == "job"]
    return next((one for one in row.blockers if one.kind == "cause"), next(iter(behind), None))


def _wanted(row: GateRow) -> list[str]:
    return [one.id for one in row.blockers if one.kind == "artifact"]


def _is_cycle(row: GateRow) -> bool:
    return any(one.kind == "circle" for one in row.blockers)


def _began(session: Session, job_id: str, status: states.JobStatus) -> list[Step]:
    """What to do about the job with which the trouble began."""
    number = session.number(job_id)
    again = f"headway jobs retry {number}"
    if status in states.SUCCESS:
        sentence = (
            f"Job {number} {status.lower()}, but that did not open the gate. To run it again anyway"
        )
        return [Step(sentence, f"{again} --force")]
    if status in states.RETRYABLE:
        began = f"The root cause is job {number}, which failed"
        job = aftermath.last_link(session, session.send(protocol.jobs.get_job, id=job_id))
        said = f"{began}: {job.error}" if job.error else began
        told = _to_read(session, job, said) or [Step(f"{said}.")]
        return [*told, Step("Once that is fixed", again)]
    return [Step(f"The root cause is job {number}, which is {status.lower()}. To retry it", again)]


def _earlier(session: Session, job: Job, row: GateRow) -> list[Step]:
    if _is_cycle(row):
        stop = f"headway jobs cancel {job.number}"
        return [Step("They wait for each other forever. To break the circle", stop)]
    cause = _cause(row)
    if cause is None:
        wanted = _wanted(row)
        there = "are there" if len(wanted) > 1 else "is there"
        return [Step(f"It can start as soon as {' and '.join(wanted) or 'that'} {there}.")]
    number = session.number(cause.id)
    if cause.status == states.RUNNING:
        return [_watch(f"It waits for job {number}, which is running", number)]
    gate = closed(session.send(protocol.jobs.why, id=cause.id))
    if gate is None or _cause(gate):
        status = (cause.status or "").lower()
        return [
            Step(
                f"Ultimately, it waits for job {number}, which is {status}", f"headway why {number}"
            )
        ]
    other = session.send(protocol.jobs.get_job, id=cause.id)
    begin = Step(f"Ultimately, it waits for job {number}.")
    return [begin, *_STEPS[gate.gate](session, other, gate)]


def _watch(sentence: str, number: int | str) -> Step:
    return Step(f"{sentence}. To watch it", f"headway jobs attach {number}")


def _time(_session: Session, job: Job, _row: GateRow) -> list[Step]:
    if job.status is states.SUSPENDED:
        return [Step("It goes on by itself then. To see what it has done", _journal(job))]
    return [
        Step(f"It starts by itself at {words.when(job.scheduled_for)}."),
        Step("To start it now", f"headway jobs change {job.number} --now"),
    ]


def _time_and_more(job: Job, others: list[Gate]) -> list[Step]:
    """Time alone does not start a job to which other gates are closed, too."""
    names = " and ".join(gate.replace("_", " ") for gate in others)
    gates = "the gate" if len(others) == 1 else "the gates"
    return [
        Step(f"Its time comes at {words.when(job.scheduled_for)}; {gates} {names} must open, too."),
        Step("To bring its time forward", f"headway jobs change {job.number} --now"),
    ]


def _head(_session: Session, job: Job, _row: GateRow) -> list[Step]:
    pin = job.pinned_head
    where = f"{pin.branch} is at {pin.commit[:12]} again" if pin else "the branch is back"
    return [Step(f"It can start when {where}. To cancel it", f"headway jobs cancel {job.number}")]


def _journal(job: Job) -> str:
    return f"headway jobs steps {job.number}"


def _approval(_session: Session, job: Job, row: GateRow) -> list[Step]:
    signal = next((one.id for one in row.blockers if one.kind == "signal"), None)
    if signal is not None:
        return [
            Step("To send the signal", f"headway jobs signal {job.number} {shlex.quote(signal)}"),
            Step("To see what it has done", _journal(job)),
        ]
    return [
        Step("It needs approval", f"headway jobs approve {job.number}"),
        Step("Or reject it", f"headway jobs reject {job.number} --reason WHY"),
    ]


def _locks(session: Session, _job: Job, row: GateRow) -> list[Step]:
    first = next((one for one in row.blockers if one.kind == "job"), None)
    if first is None:
        return [Step("It can start when the lock is free.")]
    number = session.number(first.id)
    if first.status == states.RUNNING:
        return [_watch(f"It can start when job {number} releases the lock", number)]
    return [Step(f"It can start after job {number}, which is ahead of it", f"headway why {number}")]


def _limits(_session: Session, _job: Job, row: GateRow) -> list[Step]:
    command = "headway limits set NAME SIZE"
    for first in (row.full_limits or ())[:1]:
        command = f"headway limits set {first.name} {'--rate N/min' if first.by_rate else 'SIZE'}"
    return [Step("It can start when there is room. To raise the limit", command)]


def _pause(_session: Session, job: Job, row: GateRow) -> list[Step]:
    if any(one.kind == "reservation" for one in row.blockers):
        return [Step("It can start after the request that holds the next slot.")]
    if any(one.id == job.queue for one in row.blockers):
        return [Step("To resume", f"headway resume --queue {job.queue}")]
    if any(one.id == job.job_type for one in row.blockers):
        return [Step("To resume", f"headway resume --type {job.job_type}")]
    return [Step("To resume", "headway resume")]


def _worker(session: Session, job: Job, row: GateRow) -> list[Step]:
    """Beside a server a worker is enough; without one, a scheduler is needed too."""
    if threads := _threads(row):
        numbers = ", ".join(str(session.number(one)) for one in threads)
        return [
            Step(f"It starts when the thread of job {numbers} ends, or its server is restarted.")
        ]
    if drained := [one.id for one in row.blockers if one.status == "draining"]:
        again = f"headway workers drain {drained[0]} --undo"
        return [Step("The workers for it are drained. To let one take jobs again", again)]
    program = "headway serve" if session.is_local else "headway worker"
    able = "".join(f" --capability {word}" for word in job.requires)
    if job.job_type == "command":
        return [Step("No worker takes it; start one", f"{program}{able}")]
    what = " with ".join([job.job_type, *([", ".join(job.requires)] if job.requires else [])])
    return [Step(f"No worker can run {what}; start one", f"{program} --app MODULE:APP{able}")]


_STEPS: dict[Gate, Callable[[Session, Job, GateRow], list[Step]]] = {
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
