"""Rewind: a job and everything downstream of it start afresh, as a new generation."""

import contextlib
import posixpath
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from headway.domain import artifacts, errors, events, graph, states
from headway.domain.answers import RewindReport
from headway.domain.tokens import Role
from headway.scheduler import command_rule, lock_lines, settle
from headway.scheduler.scheduler import Scheduler
from headway.storage import jobs, records
from headway.storage.events import Chronicle
from headway.storage.records import JobRecord
from headway.storage.transaction import Transaction

SENTINEL = "merge_sentinel:"
PATCH = "ask_save_patch"
REWOUND = "rewound"


class _RetrySet(msgspec.Struct, frozen=True, kw_only=True):
    """The first jobs of the chains that start afresh, and the retries that become history."""

    members: list[JobRecord]
    retries: list[JobRecord]

    @property
    def everyone(self) -> list[JobRecord]:
        return [*self.members, *self.retries]

    @property
    def numbers(self) -> str:
        return records.listed(record.number for record in self.members)


def rewind(
    scheduler: Scheduler,
    tx: Transaction,
    reference: str | int,
    *,
    force: bool = False,
    role: Role = Role.ADMIN,
) -> RewindReport:
    """Start the job's chain and all that lies downstream afresh; what lies upstream stays."""
    requested = jobs.read_one(tx, reference)
    root = _root(tx, requested)
    found = _retry_set(tx, root)
    command_rule.check_restart(scheduler, tx, role, "rewind", found.everyone)
    _refuse(scheduler, tx, root, found, force=force)
    chronicle = Chronicle(tx)
    _make_history(tx, chronicle, found.retries)
    _forget_artifacts(scheduler, tx, found)
    _reset(tx, chronicle, root, found)
    _admit(scheduler, tx, chronicle, found)
    chronicle.write()
    return _report(tx, requested, root, found)


def _root(tx: Transaction, record: JobRecord) -> JobRecord:
    """The first job of the chain, also for a retry that an earlier rewind made history."""
    return jobs.read(tx, [abs(record.chain)])[0]


def _retry_set(tx: Transaction, root: JobRecord) -> _RetrySet:
    chains = graph.downstream([root.number], lambda wave: _followers(tx, wave))
    links = _links(tx, chains)
    first = {record.number: record for record in links if record.chain == record.number}
    return _RetrySet(
        members=[first[chain] for chain in chains],
        retries=[record for record in links if record.chain != record.number],
    )


def _links(tx: Transaction, chains: Collection[int]) -> list[JobRecord]:
    return tx.values(JobRecord, "chain_members", chains=records.listed(chains))


def _followers(tx: Transaction, chains: Collection[int]) -> Iterable[int]:
    """The chains that come after these, or need what they make."""
    rows = tx.rows("all_dependents", chains=records.listed(chains))
    numbers = {row["job_number"] for row in rows}
    links = tx.values(JobRecord, "chain_members", chains=records.with_history(chains))
    names = [name for record in links for name in _made_by(record)]
    rows = tx.rows("consumers", artifacts=records.listed(names))
    numbers |= {row["job_number"] for row in rows}
    return sorted(record.chain for record in jobs.read(tx, numbers) if record.chain > 0)


def _made_by(record: JobRecord) -> tuple[str, ...]:
    return (*record.terms.produces, *artifacts.names_of_job(record.job_id, record.number))


def _refuse(
    scheduler: Scheduler, tx: Transaction, root: JobRecord, found: _RetrySet, *, force: bool
) -> None:
    running = [record.job_id for record in found.everyone if record.status is states.RUNNING]
    if running:
        named = ", ".join(f"{job_id} (running)" for job_id in running)
        raise errors.RewindRefused(f"cannot retry while jobs are running in the retry set: {named}")
    end = jobs.chain_ends(tx, [root.number])[root.number]
    if end.status is states.SUCCEEDED and not force:
        raise errors.RewindRefused(f"job {root.job_id} succeeded; give force to run it again")
    _refuse_taken_keys(tx, found)
    touched = (name for one in found.members for name in (*one.terms.needs, *one.terms.produces))
    if any(map(_is_sentinel, touched)) and scheduler.workspace.merge_in_progress():
        raise errors.RewindRefused(
            "the workspace is in the middle of a merge or cherry-pick; finish it, or abort it with "
            "`git merge --abort` or `git cherry-pick --abort`, and retry then"
        )


def _refuse_taken_keys(tx: Transaction, found: _RetrySet) -> None:
    """At most one active job has a unique key, after the rewind too."""
    own = {record.number for record in found.everyone}
    seen: dict[str, int] = {}
    for record in found.members:
        if record.unique_key is None:
            continue
        row = tx.row("active_job_by_unique_key", key=record.unique_key)
        holder = row["number"] if row and row["number"] not in own else seen.get(record.unique_key)
        if holder is not None:
            raise errors.RewindRefused(
                f"unique key {record.unique_key!r} of job {record.number} is in use by job {holder}"
            )
        seen[record.unique_key] = record.number


def _is_sentinel(name: str) -> bool:
    return name.startswith(SENTINEL)


def _make_history(tx: Transaction, chronicle: Chronicle, retries: Sequence[JobRecord]) -> None:
    """Retries leave their chains, so that those begin afresh; what waited to be tried ends."""
    pending = [record for record in retries if record.status in states.ACTIVE]
    states.check_all(((one.number, one.status) for one in pending), states.CANCELLED)
    jobs.end(tx, [_cancelled(record) for record in pending])
    for record in pending:
        facts = {"status": states.CANCELLED, "reason": REWOUND}
        chronicle.add(events.FINISHED, record.number, facts)
    _stop_waiting(tx, pending)
    tx.many("leave_chain", [{"number": record.number} for record in retries])


def _cancelled(record: JobRecord) -> tuple[int, jobs.End]:
    end = jobs.End(
        states.CANCELLED, None, record.retry_state, wait_kind=REWOUND, wait_detail=REWOUND
    )
    return record.number, end


def _stop_waiting(tx: Transaction, waiting: Sequence[JobRecord]) -> None:
    if waiting:
        listed = records.listed(record.number for record in waiting)
        tx.do("leave_lines", numbers=listed)
        tx.do("remove_watches", numbers=listed)


def _forget_artifacts(scheduler: Scheduler, tx: Transaction, found: _RetrySet) -> None:
    """What the jobs made is not there any more: markers, sentinels of merges, and patches."""
    names = {name for record in found.members for name in record.terms.produces}
    markers = [name for name in names if name.startswith(settle.MARKER)]
    makers = records.listed(record.number for record in found.everyone)
    tx.do("unmake_markers", artifacts=records.listed(markers), makers=makers)
    for name in (*filter(_is_sentinel, names), *_patches(found)):
        for probe in artifacts.parse(name, scheduler.kinds).probe:
            if isinstance(probe, artifacts.FileExists):
                _remove_file(scheduler, probe.path)


def _patches(found: _RetrySet) -> Iterator[str]:
    for record in found.everyone:
        yield from artifacts.names_of_job(record.job_id, record.number, [PATCH])


def _remove_file(scheduler: Scheduler, path: str) -> None:
    """Remove a file; a link goes itself, not what it leads to, and a linked folder stays."""
    try:
        with contextlib.suppress(errors.OutsideWorkspace):
            folder = scheduler.workspace.resolve(posixpath.dirname(path))
            if folder == scheduler.workspace.root / posixpath.dirname(path):
                (folder / posixpath.basename(path)).unlink(missing_ok=True)
    except OSError as error:
        raise errors.RewindRefused(f"cannot remove {path}: {error.strerror}") from None


def _reset(tx: Transaction, chronicle: Chronicle, root: JobRecord, found: _RetrySet) -> None:
    states.check_all(((one.number, one.status) for one in found.members), states.QUEUED)
    _stop_waiting(tx, found.members)
    tx.do("reopen_dependencies", chains=found.numbers, numbers=found.numbers)
    unmet = dict.fromkeys((record.number for record in found.members), 0)
    for row in tx.rows("dependencies_of", numbers=found.numbers):
        unmet[row["job_number"]] += not row["met"]
    tx.many(
        "rewind_job", [{"number": number, "open_deps": count} for number, count in unmet.items()]
    )
    for record in found.members:
        facts = {"generation": record.generation + 1, "root": root.job_id}
        chronicle.add(events.REWOUND, record.number, facts)
    for group_id in sorted({one.group_id for one in found.members if one.group_id}):
        tx.do("reopen_group", group_id=group_id)


def _admit(scheduler: Scheduler, tx: Transaction, chronicle: Chronicle, found: _RetrySet) -> None:
    """Look at the gates at once, also of those who stood behind the set for a lock."""
    numbers = [record.number for record in found.members]
    freed = lock_lines.keys_of(found.everyone)
    settle.settle(scheduler, tx, chronicle, admit=numbers, freed=freed)


def _report(
    tx: Transaction, requested: JobRecord, root: JobRecord, found: _RetrySet
) -> RewindReport:
    now = jobs.read(tx, [record.number for record in found.members])
    ids = tuple(record.job_id for record in found.members)
    return RewindReport(
        requested_job=requested.job_id,
        retry_root=root.job_id,
        last_successful_point=_last_successful_point(tx, root),
        retry_set=ids,
        reset=ids,
        restarted=tuple(
            one.job_id for one in now if one.status is states.QUEUED and one.wait_kind is None
        ),
    )


def _last_successful_point(tx: Transaction, root: JobRecord) -> tuple[str, ...]:
    """The direct predecessors that succeeded: the work goes on from there."""
    before = [one.number for one in root.terms.after]
    makers = tx.rows("producers", artifacts=records.listed(root.terms.needs))
    # A negative chain is history: an earlier rewind took the job from it.
    chains = dict.fromkeys([*before, *(row["chain"] for row in makers if row["chain"] > 0)])
    ends = jobs.deciding_links(tx, chains)
    return tuple(
        ends[chain].job_id
        for chain in chains
        if chain in ends and ends[chain].status is states.SUCCEEDED
    )
