"""Jobs that wait for each other: only artifacts can bring that about after the submit."""

from headway.domain import graph, states
from headway.domain.gates import Blocker
from headway.scheduler.facts import Facts, gather
from headway.scheduler.scheduler import Scheduler
from headway.storage import jobs, records
from headway.storage.records import JobRecord
from headway.storage.transaction import Transaction

MOST_STEPS = 50


def find(scheduler: Scheduler, tx: Transaction, start: JobRecord) -> Blocker | None:
    """A circle among the jobs that this one waits for, directly or not, if it is near."""
    edges: dict[int, list[int]] = {}
    wave = [start]
    while wave and len(edges) < MOST_STEPS:
        facts = gather(scheduler, tx, wave)
        edges.update((record.chain, _waits_for(tx, facts, record)) for record in wave)
        reached = {chain for targets in edges.values() for chain in targets} - edges.keys()
        ends = jobs.chain_ends(tx, sorted(reached)[:MOST_STEPS])
        numbers = [end.number for end in ends.values() if end.status is states.WAITING_ON_DEPS]
        wave = jobs.read(tx, numbers)
    circle = graph.find_cycle(edges)
    return _blocker(tx, circle) if circle else None


def _waits_for(tx: Transaction, facts: Facts, record: JobRecord) -> list[int]:
    """The chains whose end this job waits for."""
    rows = tx.rows("dependencies_of", numbers=records.listed([record.number]))
    chains = [row["chain"] for row in rows if not row["met"]]
    if missing := [name for name in record.terms.needs if not facts.is_present(name)]:
        makers = tx.rows("producers", artifacts=records.listed(missing))
        chains += [row["chain"] for row in makers if row["number"] != record.number]
    return chains


def _blocker(tx: Transaction, circle: list[int]) -> Blocker:
    ids = {record.number: record.job_id for record in jobs.read(tx, circle)}
    return Blocker(
        kind="circle",
        id=" -> ".join(ids[number] for number in circle),
        detail=f"jobs {' -> '.join(map(str, circle))} wait for each other",
    )
