"""The graph of jobs: who comes after whom, and who needs what from whom."""

import contextlib
import shlex
from collections.abc import Collection, Iterable, Sequence

import msgspec

from headway.domain import artifacts, errors
from headway.domain.answers import AfterEdge, Edge, Graph, Node
from headway.domain.jobs import COMMAND, Job
from headway.scheduler.facts import Facts
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.views import views
from headway.storage import jobs, records
from headway.storage.jobs import ChainEnd
from headway.storage.records import JobRecord
from headway.storage.transaction import Transaction

MOST_JOBS = 5000
"""So many jobs are shown, the newest ones: nobody reads a larger picture."""

DEFAULT_DEPTH = 3


def graph(
    scheduler: Scheduler,
    tx: Transaction,
    *,
    everything: bool = False,
    job: str | int | None = None,
    max_depth: int = DEFAULT_DEPTH,
) -> Graph:
    """Active and blocked jobs, all jobs, or the neighbourhood of one."""
    if job is not None:
        shown = _neighbourhood(tx, jobs.find_number(tx, job), max_depth)
        return _draw(scheduler, tx, shown, closed=True)
    query = "newest_numbers" if everything else "shown_numbers"
    shown = sorted({row["number"] for row in tx.rows(query, count=MOST_JOBS)})
    return _draw(scheduler, tx, shown, closed=False)


def _neighbourhood(tx: Transaction, start: int, max_depth: int) -> list[int]:
    """What a job waits for, and what waits for it, so many steps away."""
    found = {start}
    for step in (_upstream, _downstream):
        wave = {start}
        for _ in range(max_depth):
            wave = set(step(tx, wave)) - found
            found |= wave
            if not wave or len(found) > MOST_JOBS:
                break
    return sorted(found)[:MOST_JOBS]


def _upstream(tx: Transaction, numbers: Collection[int]) -> Iterable[int]:
    found = jobs.read(tx, numbers)
    makers = (end.number for _, end in _producers(tx, found))
    return [*(number for _, _, number in _after(tx, found)), *makers]


def _downstream(tx: Transaction, numbers: Collection[int]) -> Iterable[int]:
    found = jobs.read(tx, numbers)
    chains = records.listed({abs(record.chain) for record in found})
    names = [
        name
        for record in found
        for name in (
            *record.terms.produces,
            *artifacts.names_of_job(record.job_id, record.number),
        )
    ]
    return [
        *(row["job_number"] for row in tx.rows("all_dependents", chains=chains)),
        *(row["job_number"] for row in tx.rows("consumers", artifacts=records.listed(names))),
    ]


def _after(tx: Transaction, found: Sequence[JobRecord]) -> list[tuple[JobRecord, AfterEdge, int]]:
    """Each job with how and after which job it comes, as far as those are still there."""
    ids = {one.job for record in found for one in record.terms.after}
    numbers = jobs.find_numbers(tx, ids) if ids else {}
    return [
        (record, AfterEdge(policy=one.policy), numbers[one.job])
        for record in found
        for one in record.terms.after
        if one.job in numbers
    ]


def _producers(tx: Transaction, found: Sequence[JobRecord]) -> list[tuple[str, ChainEnd]]:
    """Who makes what these jobs need: of each chain its last link."""
    names = {name for record in found for name in record.terms.needs}
    if not names:
        return []
    rows = tx.rows("producers", artifacts=records.listed(names))
    makers = {(row["artifact"], row["chain"]) for row in rows if row["chain"] > 0}
    for name in names:
        kind, _, job = name.partition(":")
        if kind in artifacts.NAMING_JOBS:
            with contextlib.suppress(errors.NotFound):
                makers.add((name, abs(jobs.read_one(tx, job).chain)))
    ends = jobs.chain_ends(tx, {chain for _, chain in makers})
    return [(name, ends[chain]) for name, chain in sorted(makers) if chain in ends]


def _draw(scheduler: Scheduler, tx: Transaction, shown: Sequence[int], *, closed: bool) -> Graph:
    """The jobs with their edges. A closed picture takes in nobody beyond these."""
    found = jobs.read(tx, shown)
    edges = [*_after_edges(tx, found), *_artifact_edges(scheduler, tx, found)]
    ids = {record.job_id for record in found}
    if closed:
        edges = [edge for edge in edges if edge.to in ids or edge.state]
    beyond = {edge.to for edge in edges if not edge.state} - ids
    numbers = [*shown, *jobs.find_numbers(tx, beyond).values()] if beyond else shown
    return Graph(
        nodes=tuple(_node(job) for job in views(scheduler, tx, sorted(numbers))),
        edges=tuple(edges),
    )


def _after_edges(tx: Transaction, found: Sequence[JobRecord]) -> list[Edge]:
    after = _after(tx, found)
    before = {record.number: record for record in jobs.read(tx, {number for *_, number in after})}
    ends = jobs.chain_ends(tx, {abs(record.chain) for record in before.values()})
    edges = []
    for record, how, number in after:
        target = before[number]
        end = ends[abs(target.chain)]
        retried = msgspec.UNSET if end.status is target.status else end.status.lower()
        edges.append(Edge(source=record.job_id, to=target.job_id, after=how, status=retried))
    return edges


def _artifact_edges(
    scheduler: Scheduler, tx: Transaction, found: Sequence[JobRecord]
) -> list[Edge]:
    makers: dict[str, list[ChainEnd]] = {}
    for name, end in _producers(tx, found):
        makers.setdefault(name, []).append(end)
    facts = Facts(scheduler, tx)
    facts.load([record for record in found if record.terms.needs])
    edges = []
    for record in found:
        for name in record.terms.needs:
            others = [end for end in makers.get(name, ()) if end.number != record.number]
            edges += [
                Edge(source=record.job_id, to=end.job_id, artifact=name) for end in others
            ] or [_leaf(record, name, facts)]
    return edges


def _leaf(record: JobRecord, name: str, facts: Facts) -> Edge:
    """An artifact that no job makes."""
    state = "present" if facts.is_present(name) else "missing"
    return Edge(source=record.job_id, to=f"artifact:{name}", artifact=name, state=state)


def _node(job: Job) -> Node:
    locks = tuple(f"{lock.key} ({lock.mode})" for lock in job.locks)
    pin = job.pinned_head
    return Node(
        id=job.job_id,
        number=job.number,
        status=job.status.lower(),
        command=_command(job),
        wait=job.wait_reason.detail if job.wait_reason else None,
        locks=locks or msgspec.UNSET,
        pinned=f"{pin.branch}@{pin.commit[:12]}" if pin else msgspec.UNSET,
    )


def _command(job: Job) -> str:
    """What the job does, in one line."""
    argv = job.params.get("argv") if job.job_type == COMMAND else None
    return shlex.join(map(str, argv)) if isinstance(argv, list) and argv else job.job_type
