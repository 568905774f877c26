"""The graph of jobs: dependencies on jobs and on artifacts."""

import contextlib
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from typing import TypeAlias

import msgspec

from headway.domain import artifacts, errors, taken
from headway.domain.answers import AfterEdge, Edge, Graph, Node
from headway.domain.graph import DEFAULT_DEPTH
from headway.domain.jobs import COMMAND, Job
from headway.scheduler.admit.gate_facts import Facts
from headway.scheduler.explain.views import views
from headway.scheduler.scheduler import Scheduler
from headway.storage import chains, dependencies, jobs, needs, queue
from headway.storage.chains import ChainEnd
from headway.storage.engine import slices
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import groups
from headway.storage.records import JobRecord

MOST_JOBS = 1000
"""So many jobs are shown, the newest ones, or the nearest: a larger picture cannot be read."""

MOST_BYTES = 16 * 1024 * 1024
"""And fewer, if they name very much."""

_Step: TypeAlias = Callable[[Transaction, Sequence[JobRecord]], Iterable[int]]
"""From some jobs to the numbers of those that are next to them."""


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
        near = _neighbourhood(tx, jobs.read_one(tx, job), max_depth)
        return _draw(scheduler, tx, near, within={record.chain for record in near})
    find = queue.newest if everything else queue.newest_active_or_blocked
    newest = slices.fitting(find(tx, MOST_JOBS), MOST_BYTES)
    return _draw(scheduler, tx, jobs.read(tx, sorted(set(newest))))


def _neighbourhood(tx: Transaction, start: JobRecord, max_depth: int) -> list[JobRecord]:
    """What a job waits for, and what waits for it, so many steps away; the nearest ones."""
    around = _chains_around(tx, start.chain, max_depth)
    steps = {chain: place for place, chain in enumerate(around)}
    found = chains.links_with_history(tx, around)
    links = [one for one in found if not one.history and one.number != start.number]
    near = [start, *sorted(links, key=lambda one: steps[one.chain])][:MOST_JOBS]
    return sorted(near, key=lambda one: one.number)


def _chains_around(tx: Transaction, start: int, max_depth: int) -> list[int]:
    """Chains, nearest first: from a job to its retries is no step."""
    found = {start: None}
    both = zip_longest(_waves(tx, start, _upstream), _waves(tx, start, _downstream), fillvalue=())
    for up, down in islice(both, max_depth):
        found |= dict.fromkeys((*up, *down))
        if len(found) > MOST_JOBS:
            break
    return list(found)[:MOST_JOBS]


def _waves(tx: Transaction, start: int, step: _Step) -> Iterator[list[int]]:
    """The chains that are one step away in a direction, then those two steps away, and so on."""
    seen, wave = {start}, [start]
    while wave:
        links = chains.links_with_history(tx, wave)
        numbers = sorted(set(step(tx, links)), reverse=True)[:MOST_JOBS]
        wave = sorted({record.chain for record in jobs.read(tx, numbers)} - seen)
        seen |= set(wave)
        yield wave


def _upstream(tx: Transaction, found: Sequence[JobRecord]) -> Iterable[int]:
    makers = (end.number for _, end in _producers(tx, found))
    children = queue.children(tx, {record.chain for record in found}, MOST_JOBS)
    return [*(number for _, _, number in _after(tx, found)), *makers, *children]


def _downstream(tx: Transaction, found: Sequence[JobRecord]) -> Iterable[int]:
    ours = {record.chain for record in found}
    names = [
        name
        for record in found
        for name in (
            *record.terms.produces,
            *artifacts.names_of_job(record.job_id, record.number),
        )
    ]
    after = dependencies.newest_dependents(tx, ours, MOST_JOBS)
    parents = (record.parent for record in found if record.parent is not None)
    return [*after, *needs.consumers(tx, names), *parents]


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
    """The producers of what these jobs need: of each chain its last link."""
    names = {name for record in found for name in record.terms.needs}
    if not names:
        return []
    makers = {(one.artifact, one.chain) for one in needs.makers(tx, names) if not one.history}
    for name in names:
        kind, _, job = name.partition(":")
        if kind in artifacts.NAMING_JOBS:
            with contextlib.suppress(errors.NotFound):
                makers.add((name, jobs.read_one(tx, job).chain))
    ends = chains.ends(tx, {chain for _, chain in makers})
    return [(name, ends[chain]) for name, chain in sorted(makers) if chain in ends]


def _draw(
    scheduler: Scheduler,
    tx: Transaction,
    found: Sequence[JobRecord],
    within: Collection[int] | None = None,
) -> Graph:
    """The jobs with their edges; those go to these chains only, or wherever they lead."""
    edges = [
        *_after_edges(tx, found, within),
        *_group_edges(tx, found),
        *_artifact_edges(scheduler, tx, found, within),
        *_child_edges(tx, found, within),
    ]
    beyond = {edge.to for edge in edges if not edge.state} - {record.job_id for record in found}
    numbers = {record.number for record in found}
    numbers |= set(jobs.find_numbers(tx, beyond).values()) if beyond else set()
    return Graph(
        nodes=tuple(_node(job) for job in views(scheduler, tx, sorted(numbers))),
        edges=tuple(edges),
    )


def _after_edges(
    tx: Transaction, found: Sequence[JobRecord], within: Collection[int] | None
) -> list[Edge]:
    after = _after(tx, found)
    before = {record.number: record for record in jobs.read(tx, {number for *_, number in after})}
    ends = chains.ends(tx, {record.chain for record in before.values()})
    edges = []
    for record, how, number in after:
        target = before[number]
        if within is not None and target.chain not in within:
            continue
        end = ends[target.chain]
        retried = msgspec.UNSET if end.status is target.status else end.status.lower()
        edges.append(Edge(source=record.job_id, to=target.job_id, after=how, status=retried))
    return edges


def _child_edges(
    tx: Transaction, found: Sequence[JobRecord], within: Collection[int] | None
) -> list[Edge]:
    """From parents to the children that they submitted, as far as both are to be seen."""
    families = [
        record
        for record in found
        if record.parent is not None and (within is None or record.parent in within)
    ]
    parents = chains.ends(tx, {record.parent for record in families if record.parent is not None})
    return [
        Edge(source=parents[record.parent].job_id, to=record.job_id, child=True)
        for record in families
        if record.parent in parents and record.number == record.chain
    ]


def _group_edges(tx: Transaction, found: Sequence[JobRecord]) -> list[Edge]:
    """Groups are leaves: their members are jobs of their own."""
    known = groups.by_chains(tx, {a.number for record in found for a in record.terms.after_groups})
    return [
        Edge(
            source=record.job_id,
            to=f"group:{one.group}",
            after=AfterEdge(policy=one.policy),
            group=(group.name if group else None) or one.group,
            state=group.status.lower() if group else "missing",
        )
        for record in found
        for one in record.terms.after_groups
        for group in [known.get(one.number)]
    ]


def _artifact_edges(
    scheduler: Scheduler,
    tx: Transaction,
    found: Sequence[JobRecord],
    within: Collection[int] | None,
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
                Edge(source=record.job_id, to=end.job_id, artifact=name)
                for end in others
                if within is None or end.chain in within
            ]
            if not others:
                edges.append(_leaf(record, name, facts))
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
        name=job.name or msgspec.UNSET,
        wait=job.wait_reason.detail if job.wait_reason else None,
        locks=locks or msgspec.UNSET,
        pinned=f"{pin.branch}@{pin.commit[:12]}" if pin else msgspec.UNSET,
    )


def _command(job: Job) -> str:
    """What the job does, in one line."""
    argv = job.params.get("argv") if job.job_type == COMMAND else None
    return shlex.join(taken.as_typed(argv)) if isinstance(argv, list) and argv else job.job_type
