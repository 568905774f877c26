"""Why a job is not running, as text: nine gates, what blocks, what to do next."""

from collections.abc import Iterator, Sequence

from headway import protocol
from headway.cli.session import Session
from headway.cli.text import advice, aftermath, words
from headway.cli.text.screen import Cell, Styled, clean
from headway.domain import states
from headway.domain.answers import GateRow, GateState, Why
from headway.domain.gates import Blocker, Gate
from headway.domain.jobs import Job

DEEPEST = 5
MOST_BLOCKERS = 8
NAMES = {Gate.PINNED_HEAD: "pinned head"}
WIDEST = 11


def show(session: Session, job: Job, why: Why) -> None:
    """The whole story of one job."""
    screen = session.screen
    work = clean(words.work(job))
    name = f" {clean(job.name)}" if job.name else ""
    screen.line(
        Styled(f"Job {job.number}{name}", "bold"),
        " is ",
        words.status(why.status),
        _since(job, why),
    )
    screen.line(
        "  ", Styled(work if screen.width is None else screen.cut(work, screen.width - 2), "dim")
    )
    for said in (job.error, words.progress(job), aftermath.retry(session, job)):
        if said:
            screen.line("  ", clean(said))
    screen.line()
    for row in why.gates:
        screen.line("  ", *_gate(session, job, row))
        for line in _blockers(session, row.blockers, seen={job.job_id}, depth=1):
            screen.line(*line)
    if why.start_by is not None:
        screen.line("  it is cancelled unless it starts by ", words.when(why.start_by) or "")
    screen.line()
    for step in advice.next_steps(session, job, why):
        screen.line(step.sentence + (":" if step.command else ""))
        if step.command:
            screen.line("    ", Styled(step.command, "bold"))


def _since(job: Job, why: Why) -> str:
    if why.status is states.RUNNING and job.started_at is not None:
        return f", for {words.age(job.started_at)}"
    if job.finished_at is not None:
        return f", ended {words.age(job.finished_at)} ago"
    return f", submitted {words.age(job.created_at)} ago"


def _gate(session: Session, job: Job, row: GateRow) -> Sequence[Cell]:
    name = f"{NAMES.get(row.gate, row.gate.value):<{WIDEST}}  "
    if row.state is GateState.CLOSED:
        detail = clean(session.text(row.detail or ""))
        return (Styled(mark(session, row.state), "red"), " ", Styled(name, "bold"), detail)
    if row.state is GateState.OPEN:
        said = Styled(advice.OPEN[row.gate](job), "dim")
        return (Styled(mark(session, row.state), "green"), " ", name, said)
    return (Styled(f"{mark(session, row.state)} {name}{row.detail or 'not reached'}", "dim"),)


def mark(session: Session, state: GateState) -> str:
    """A sign for a gate, in letters where the terminal has no others."""
    signs = {GateState.OPEN: "✓", GateState.CLOSED: "✗", GateState.NOT_REACHED: "·"}
    plain = {GateState.OPEN: "ok", GateState.CLOSED: "XX", GateState.NOT_REACHED: "--"}
    return (signs if session.screen.unicode else plain)[state]


def _blockers(
    session: Session, blockers: Sequence[Blocker], seen: set[str], depth: int
) -> Iterator[Sequence[Cell]]:
    """Everything that blocks, and underneath what blocks that in turn."""
    indent = "      " + "   " * (depth - 1)
    blockers = [one for one in blockers if one.kind != "cause"]
    ends_here = depth == DEEPEST or any(one.kind == "circle" for one in blockers)
    for one in blockers[:MOST_BLOCKERS]:
        yield (indent, *_blocker(session, one))
        if one.kind == "job" and one.id not in seen and not ends_here and _waits(one):
            seen.add(one.id)
            row = advice.closed(session.send(protocol.jobs.why, id=one.id))
            if row is not None:
                yield from _blockers(session, row.blockers, seen, depth + 1)
    if len(blockers) > MOST_BLOCKERS:
        yield (indent, Styled(f"and {len(blockers) - MOST_BLOCKERS} more", "dim"))


def _waits(one: Blocker) -> bool:
    return one.status is not None and one.status in states.ACTIVE - {states.RUNNING}


def _name(session: Session, one: Blocker) -> str:
    if one.kind == "circle":  # its detail has the numbers
        return one.kind
    if one.kind == "thread":
        return f"thread of job {session.number(one.id)}"
    return f"job {session.number(one.id)}" if one.kind == "job" else f"{one.kind} {one.id}"


def _blocker(session: Session, one: Blocker) -> Sequence[Cell]:
    arrow = "└ " if session.screen.unicode else "`- "
    parts: list[Cell] = [Styled(arrow, "dim"), clean(_name(session, one))]
    if one.status:
        parts += [" ", words.status(one.status)]
    if one.detail:
        parts += [Styled(f"  {clean(session.text(one.detail))}", "dim")]
    if one.since is not None:
        ago = words.age(one.since)
        seen = one.kind == "worker" and one.status is None
        parts += [Styled(f"  seen {ago} ago" if seen else f"  for {ago}", "dim")]
    return parts
