"""Jobs that wait for each other: only artifacts can bring that about after the submit."""

from collections.abc import Collection

from headway.domain import graph
from headway.domain.gates import Blocker
from headway.scheduler.admit.gate_facts import Facts
from headway.scheduler.scheduler import Scheduler
from headway.storage import dependencies, jobs
from headway.storage.dependencies import Waiting
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord

MOST_JOBS = 20_000
"""So many jobs that wait are looked at; jobs behind those may be able to go on."""

MOST_NAMED = 10

Waits = dict[int, dict[str, set[int]]]


def find(scheduler: Scheduler, tx: Transaction, start: JobRecord) -> Blocker | None:
    """A cycle that keeps this job from ever going on, directly or not."""
    reached = _waiting(tx, [start.number])
    if not any(one.gated for one in reached):
        return None
    facts = Facts(scheduler, tx)
    waits: Waits = {}
    while reached and len(waits) < MOST_JOBS:
        found = jobs.read(tx, [one.number for one in reached])
        facts.load(found)
        new = {record.number: facts.waits_for(record) for record in found}
        waits.update(new)
        makers = {one for some in new.values() for who in some.values() for one in who}
        reached = [one for one in _waiting(tx, makers - waits.keys()) if one.number not in waits]
    stuck = _stuck(start, waits) and _stuck(start, _without_what_is_there(facts, waits))
    return _blocker(tx, stuck) if stuck else None


def _waiting(tx: Transaction, numbers: Collection[int]) -> list[Waiting]:
    """Those of these jobs that wait for others, and all before them that do."""
    return dependencies.waiting(tx, numbers, MOST_JOBS) if numbers else []


def _without_what_is_there(facts: Facts, waits: Waits) -> Waits:
    """No job waits for an artifact that exists; probing is slow, so it is done last."""
    return {
        number: {what: makers for what, makers in some.items() if not facts.is_there(what)}
        for number, some in waits.items()
    }


def _stuck(start: JobRecord, waits: Waits) -> list[int]:
    """The cycle at the end of the path from this job, if no other path leads on."""
    stuck = graph.stuck({number: list(some.values()) for number, some in waits.items()})
    if start.number not in stuck:
        return []
    edges = {
        number: [one for makers in waits[number].values() for one in sorted(makers & stuck)]
        for number in (start.number, *sorted(stuck))
    }
    return graph.find_cycle(edges) or []


def _blocker(tx: Transaction, cycle: list[int]) -> Blocker:
    ids = {record.number: record.job_id for record in jobs.read(tx, cycle)}
    return Blocker(
        kind="circle",
        id=" -> ".join(ids[number] for number in cycle),
        detail=f"jobs {_named(cycle)} wait for each other",
    )


def _named(cycle: list[int]) -> str:
    names = [str(number) for number in cycle]
    if len(names) > MOST_NAMED:
        left_out = f"({len(names) - MOST_NAMED} more)"
        names = [*names[: MOST_NAMED // 2], left_out, *names[-MOST_NAMED // 2 :]]
    return " -> ".join(names)
