"""The facts of the gates, gathered for many jobs at once."""

import contextlib
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from headway.domain import artifacts, errors
from headway.domain.gates import Blocker
from headway.domain.gates.after import Before, PrecedingGroup, Predecessor
from headway.domain.gates.artifacts import Need, Producer
from headway.domain.manage.groups import Group
from headway.domain.states import ACTIVE, SUCCEEDED, SUSPENDED
from headway.domain.steps import StepKind
from headway.scheduler.admit.lock_facts import LockFacts
from headway.scheduler.scheduler import Scheduler
from headway.storage import chains, dependencies, jobs, needs, steps
from headway.storage.chains import ChainEnd
from headway.storage.dependencies import Dependency
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import groups, markers
from headway.storage.needs import Maker
from headway.storage.records import JobRecord
from headway.storage.steps import Pending

HEAD = "head:"
MOST_MEMBERS = 50
"""So many active members of a group are named."""


class Facts:
    """What the gates may ask about some jobs. Files and branches are looked at once each."""

    def __init__(self, scheduler: Scheduler, tx: Transaction, *, whole_lines: bool = False) -> None:
        self.now: datetime = tx.now
        self._scheduler = scheduler
        self._tx = tx
        self._dependencies: dict[int, list[Dependency]] = {}
        self._ends: dict[int, ChainEnd] = {}
        self._groups: dict[int, Group] = {}
        self._makers: dict[int, ChainEnd] = {}
        self._producers: dict[str, dict[int, Maker]] = {}
        self._markers: set[str] = set()
        self._present: dict[str, bool] = {}
        self._heads: dict[str, str | None] = {}
        self._pending: dict[int, Pending] = {}
        self._children: dict[int, str] = {}
        self.locks = LockFacts(tx, whole_lines=whole_lines)

    def load(self, waiting: Sequence[JobRecord], *, everything: bool = False) -> None:
        """Read what these jobs need; met dependencies only when everything is wanted."""
        self._load_dependencies([one for one in waiting if one.open_deps or everything], everything)
        self._load_waits([one.number for one in waiting if one.status is SUSPENDED])
        gated = [one for one in waiting if one.gated]
        self._load_artifacts({need for one in gated for need in one.terms.needs})
        self.locks.load([lock for one in gated for lock in one.terms.locks])

    def predecessors(self, record: JobRecord) -> list[Before]:
        """The dependencies that are not met, or all of them if all were loaded."""
        waits = self._dependencies.get(record.number)
        if not waits:
            return []
        found: list[Before] = []
        named = {**self._children, **{one.number: one.job for one in reversed(record.terms.after)}}
        for one in waits:
            if one.chain < 0:
                found.append(self._preceding_group(record, one))
                continue
            end = self._ends.get(one.chain)
            found.append(
                Predecessor(
                    job=named[one.chain],
                    policy=one.policy,
                    status=end.status if end else None,
                    detail=end.detail if end else None,
                )
            )
        return found

    def pending(self, record: JobRecord) -> Pending | None:
        """What a suspended job waits for; nothing if that has come."""
        return self._pending.get(record.number)

    def waits_for_kind(self, record: JobRecord) -> StepKind | None:
        """What kind of thing a suspended job waits for."""
        pending = self.pending(record)
        return pending.kind if pending else None

    def _preceding_group(self, record: JobRecord, one: Dependency) -> PrecedingGroup:
        group = self._groups.get(one.chain)
        named = next(after for after in record.terms.after_groups if after.number == one.chain)
        members = group.members if group else ()
        active = [member for member in members if member.status in ACTIVE]
        return PrecedingGroup(
            group=named.group,
            policy=one.policy,
            status=group.status if group else None,
            members=tuple(
                Blocker(kind="job", id=member.job_id, status=member.status)
                for member in active[:MOST_MEMBERS]
            ),
        )

    def needs(self, record: JobRecord) -> list[Need]:
        """The needed artifacts in order, with their producers."""
        return [
            Need(
                artifact=name,
                present=self.is_present(name),
                producers=tuple(
                    Producer(job=maker.job_id, status=self._makers[maker.chain].status)
                    for maker in self._producers_for(record, name)
                ),
            )
            for name in record.terms.needs
        ]

    def waits_for(self, record: JobRecord) -> dict[str, set[int]]:
        """What the job waits for, and which active jobs bring it about: one of them is enough."""
        found = {}
        for one in self._dependencies.get(record.number, ()):
            end = self._ends.get(one.chain)
            found[str(one.chain)] = {end.number} if end and end.status in ACTIVE else set()
        for name in record.terms.needs:
            links = (self._makers[maker.chain] for maker in self._producers_for(record, name))
            found[name] = {link.number for link in links if link.status in ACTIVE}
        return {what: makers for what, makers in found.items() if makers}

    def _producers_for(self, record: JobRecord, name: str) -> list[Maker]:
        """One job for each chain that makes the artifact; no job waits for itself."""
        makers = self._producers.get(name, {})
        return [maker for chain, maker in makers.items() if chain != record.chain]

    def is_present(self, name: str) -> bool:
        """Whether an artifact is there, in the workspace or by the database's word."""
        if name not in self._present:
            probe = _probe(self._scheduler, name)
            self._present[name] = (
                name in self._markers
                or self._succeeded(name)
                or self._scheduler.workspace.has(probe)
            )
        return self._present[name]

    def is_there(self, what: str) -> bool:
        """Whether this is an artifact, which is there, and not a chain that goes on."""
        return what in self._producers and self.is_present(what)

    def head(self, record: JobRecord) -> str | None:
        """Where the branch is that the job is pinned to."""
        pin = record.terms.pinned_head
        if pin is None:
            return None
        if pin.branch not in self._heads:
            self._heads[pin.branch] = self._scheduler.workspace.head(pin.branch)
        return self._heads[pin.branch]

    def head_matches(self, record: JobRecord) -> bool:
        """Whether the branch is at the commit the job is pinned to."""
        pin = record.terms.pinned_head
        return pin is None or self._scheduler.workspace.head_matches(pin.branch, pin.commit)

    def watched(self, record: JobRecord) -> list[str]:
        """What must be looked at again and again for this job, because it cannot notify."""
        pin = record.terms.pinned_head
        files = [
            name
            for name in record.terms.needs
            if not self.is_present(name) and _is_outside(self._scheduler, name)
        ]
        if pin is None or self.head_matches(record):
            return files
        return [*files, f"{HEAD}{pin.branch}:{pin.commit}"]

    def _succeeded(self, name: str) -> bool:
        named = {one.chain for one in self._named_jobs(name)}
        links = chains.deciding_links(self._tx, named).values()
        return any(link.status is SUCCEEDED for link in links)

    def _load_dependencies(self, waiting: Sequence[JobRecord], everything: bool) -> None:
        if not waiting:
            return
        for one in dependencies.of(self._tx, [record.number for record in waiting]):
            if everything or not one.met:
                self._dependencies.setdefault(one.number, []).append(one)
        self._load_ends(one.chain for some in self._dependencies.values() for one in some)

    def _load_waits(self, suspended: Collection[int]) -> None:
        (found,) = self._tx.ask(steps.pending(suspended))
        self._pending.update(found)
        children = {
            one.chain
            for number, pending in found.items()
            if pending.kind is StepKind.CHILDREN
            for one in self._dependencies.get(number, ())
        }
        (links,) = self._tx.ask(chains.of_jobs(children, ()))
        self._children.update((one.number, one.job_id) for one in links)

    def _load_artifacts(self, wanted: Collection[str]) -> None:
        names = set(wanted) - self._producers.keys()
        if not names:
            return
        self._markers |= markers.present(self._tx, names)
        found = needs.makers(self._tx, names)
        for name in names:
            self._producers[name] = {}
            found += self._named_jobs(name)
        for maker in found:
            if not maker.history:
                self._producers[maker.artifact].setdefault(maker.chain, maker)
        makers = {chain for name in names for chain in self._producers[name]}
        self._makers.update(chains.producing_links(self._tx, makers - self._makers.keys()))

    def _named_jobs(self, name: str) -> list[Maker]:
        """The jobs that an artifact names: their success is the artifact."""
        found = []
        for one in _probe(self._scheduler, name):
            if isinstance(one, artifacts.JobSucceeded):
                with contextlib.suppress(errors.NotFound):
                    found.append(jobs.read_one(self._tx, one.job))
        return [
            Maker(artifact=name, number=job.number, job_id=job.job_id, chain=job.chain, history=0)
            for job in found
        ]

    def _load_ends(self, wanted: Iterable[int]) -> None:
        new = set(wanted) - self._ends.keys() - self._groups.keys()
        after_groups = {chain for chain in new if chain < 0}
        self._ends.update(chains.deciding_links(self._tx, new - after_groups))
        self._groups.update(groups.by_chains(self._tx, after_groups))


def gather(
    scheduler: Scheduler,
    tx: Transaction,
    waiting: Sequence[JobRecord],
    *,
    whole_lines: bool = False,
) -> Facts:
    """The facts about some jobs; to name all jobs ahead takes the whole queues for locks."""
    facts = Facts(scheduler, tx, whole_lines=whole_lines)
    facts.load(waiting)
    return facts


def _is_outside(scheduler: Scheduler, name: str) -> bool:
    """Whether an artifact lies outside the database."""
    inside = (artifacts.JobSucceeded, artifacts.Marker)
    return any(not isinstance(one, inside) for one in _probe(scheduler, name))


def _probe(scheduler: Scheduler, name: str) -> artifacts.Probe:
    """How to look for an artifact; without its plug-in it is missing, for this job alone."""
    try:
        return artifacts.parse(name, scheduler.kinds).probe
    except errors.InvalidArtifact:
        return ()
