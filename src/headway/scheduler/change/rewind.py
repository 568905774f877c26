"""Rewind: a job and everything downstream of it start afresh, as a new generation."""

import os
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence

from headway.domain import artifacts, deadlines, errors, events, states
from headway.domain.answers import RewindReport
from headway.domain.gates import Closed, after
from headway.domain.manage.tokens import Role
from headway.scheduler import command_permission
from headway.scheduler.admit import lock_queues
from headway.scheduler.change import cancel, rewind_set
from headway.scheduler.change.rewind_set import RetrySet
from headway.scheduler.finish import consequences, decide
from headway.scheduler.programs import families
from headway.scheduler.scheduler import Scheduler
from headway.storage import chains, dependencies, job_changes, jobs, needs, steps
from headway.storage.engine.transaction import Transaction
from headway.storage.job_changes import Fresh
from headway.storage.manage import groups, markers
from headway.storage.records import JobRecord

SENTINEL = "merge_sentinel:"
PATCH = "ask_save_patch"
REWOUND = "rewound"
CLOCKS_DIFFER_MS = 1000
"""By so much a file may seem older than it is: file systems keep time less finely."""


def rewind(
    scheduler: Scheduler,
    tx: Transaction,
    reference: str | int,
    *,
    force: bool = False,
    role: Role = Role.ADMIN,
    from_step: tuple[str, int] | None = None,
) -> RewindReport:
    """Start the job's chain and all that lies downstream afresh; what lies upstream stays.

    With `from_step` the job keeps what its journal holds before that step.
    """
    requested, root, found = _find(scheduler, tx, reference, force=force, role=role)
    kept = None if from_step is None else _place_of(tx, root, *from_step)
    if from_step is not None:
        families.refuse_unfinished(tx, root)
    children = cancel.awaited_children(tx, found.everyone)
    families.wait_again(tx, [one.chain for one in found.members])
    _make_history(tx, found.retries)
    _forget_artifacts(scheduler, tx, found)
    ready = _reset(tx, root, found)
    if kept:
        steps.copy_to_next_generation(tx, root, before=kept)
        steps.begin_journals(tx, [root.number])
    own = {record.number for record in found.everyone}
    others = [one for one in children if one.number not in own]
    consequences.settle(scheduler, tx, cancel.cancel_children(tx, others))
    steps.forget_signals(tx, [record.number for record in found.members])
    _admit(scheduler, tx, found, ready)
    return _report(tx, requested, root, found, ready)


def preview(
    scheduler: Scheduler, tx: Transaction, reference: str | int, *, force: bool, role: Role
) -> RewindReport:
    """What a rewind would reset, or why it would be refused; which jobs start is seen then."""
    requested, root, found = _find(scheduler, tx, reference, force=force, role=role)
    return _report(tx, requested, root, found, ready=())


def _find(
    scheduler: Scheduler, tx: Transaction, reference: str | int, *, force: bool, role: Role
) -> tuple[JobRecord, JobRecord, RetrySet]:
    """The job that was named, the first of its chain, and what is reset with it, if it may be."""
    requested = jobs.read_one(tx, reference)
    root = _root(tx, requested)
    found = rewind_set.find(tx, root)
    command_permission.check_restart(scheduler, tx, role, "rewind", found.everyone)
    _refuse(scheduler, tx, root, found, force=force)
    return requested, root, found


def _root(tx: Transaction, record: JobRecord) -> JobRecord:
    """The first job of the chain, also for a retry that an earlier rewind made history."""
    return jobs.read(tx, [record.chain])[0]


def _place_of(tx: Transaction, root: JobRecord, name: str, index: int) -> int:
    place = steps.place_of(tx, root, name, index)
    if place is None:
        raise errors.InvalidRequest(
            "from_step", f"there is no {name} {index} in the journal of job {root.job_id}"
        )
    return place


def _refuse(
    scheduler: Scheduler, tx: Transaction, root: JobRecord, found: RetrySet, *, force: bool
) -> None:
    running = [record.job_id for record in found.everyone if record.status is states.RUNNING]
    if running:
        named = ", ".join(f"{job_id} (running)" for job_id in running)
        raise errors.RewindRefused(f"cannot retry while jobs are running in the retry set: {named}")
    end = chains.ends(tx, [root.number])[root.number]
    if end.status is states.SUCCEEDED and not force:
        raise errors.RewindRefused.without_force(root.job_id)
    _refuse_taken_keys(tx, found)
    families.refuse_taken(tx, found.members)
    touched = (name for one in found.members for name in (*one.terms.needs, *one.terms.produces))
    if any(map(_is_sentinel, touched)) and scheduler.workspace.merge_in_progress():
        raise errors.RewindRefused(
            "the workspace is in the middle of a merge or cherry-pick; finish it, or abort it with "
            "`git merge --abort` or `git cherry-pick --abort`, and retry then"
        )


def _refuse_taken_keys(tx: Transaction, found: RetrySet) -> None:
    """At most one active job has a unique key, after the rewind too."""
    own = {record.number for record in found.everyone}
    keyed = [(one.unique_key, one.number) for one in found.members if one.unique_key is not None]
    (active,) = tx.ask(jobs.active_by_unique_key([key for key, _ in keyed]))
    holders = {key: number for key, number in active.items() if number not in own}
    for key, number in keyed:
        holder = holders.setdefault(key, number)
        if holder != number:
            raise errors.RewindRefused(
                f"unique key {key!r} of job {number} is in use by job {holder}"
            )


def _is_sentinel(name: str) -> bool:
    return name.startswith(SENTINEL)


def _make_history(tx: Transaction, retries: Sequence[JobRecord]) -> None:
    """Retries leave their chains, so that those begin afresh; what waited to be tried ends."""
    pending = [record for record in retries if record.status in states.ACTIVE]
    states.check_all(((one.number, one.status) for one in pending), states.CANCELLED)
    jobs.end(tx, [_cancelled(record) for record in pending])
    for record in pending:
        facts = {"status": states.CANCELLED, "reason": REWOUND}
        tx.note(events.FINISHED, record.number, facts)
    _stop_waiting(tx, pending)
    job_changes.become_history(tx, [record.number for record in retries])


def _cancelled(record: JobRecord) -> tuple[int, jobs.End]:
    end = jobs.End(
        states.CANCELLED,
        None,
        record.retry_state,
        wait_kind=REWOUND,
        wait_detail=REWOUND,
        crashes=record.crashes,
    )
    return record.number, end


def _stop_waiting(tx: Transaction, waiting: Sequence[JobRecord]) -> None:
    if waiting:
        job_changes.stop_waiting(tx, [record.number for record in waiting])


def _forget_artifacts(scheduler: Scheduler, tx: Transaction, found: RetrySet) -> None:
    """What the jobs made is not there any more: markers, sentinels of merges, and patches."""
    names = {name for record in found.members for name in record.terms.produces}
    made = [name for name in names if name.startswith(decide.MARKER)]
    markers.unmake(tx, made, [record.number for record in found.everyone])
    files = dict.fromkeys(_patches(found), 0) | _owned_sentinels(tx, found, names)
    since = {
        probe.path: moment
        for name, moment in files.items()
        for probe in artifacts.parse(name, scheduler.kinds).probe
        if isinstance(probe, artifacts.FileExists)
    }
    _remove_files(scheduler, since)


def _owned_sentinels(tx: Transaction, found: RetrySet, names: Iterable[str]) -> dict[str, int]:
    """Sentinels of which only jobs of the set were makers, and when the first of them started."""
    sentinels = [name for name in names if _is_sentinel(name)]
    if not sentinels:
        return {}
    makers: dict[str, set[int]] = {}
    for maker in needs.makers(tx, sentinels):
        makers.setdefault(maker.artifact, set()).add(maker.number)
    known = {record.number: record for record in found.everyone}
    others = set().union(*makers.values()) - known.keys()
    starts = {
        record.number: record.started_at
        for record in (*known.values(), *jobs.read(tx, sorted(others)))
        if record.started_at is not None
    }
    return {
        name: min(starts[number] for number in began)
        for name, numbers in makers.items()
        if (began := numbers & starts.keys()) and began.isdisjoint(others)
    }


def _patches(found: RetrySet) -> Iterator[str]:
    for record in found.everyone:
        yield from artifacts.names_of_job(record.job_id, record.number, [PATCH])


def _remove_files(scheduler: Scheduler, since: Mapping[str, int]) -> None:
    """Remove those of these files that were written since a moment; each folder is read once."""
    by_folder: dict[str, list[str]] = {}
    for path in since:
        folder, name = posixpath.split(path)
        by_folder.setdefault(folder, []).append(name)
    for folder, names in by_folder.items():
        for name in _present(scheduler, folder).intersection(names):
            path = posixpath.join(folder, name)
            _remove_file(scheduler, path, since[path])


def _present(scheduler: Scheduler, folder: str) -> set[str]:
    """The names in a folder of the workspace; one that is linked counts as empty."""
    place = scheduler.workspace.root / folder
    try:
        if scheduler.workspace.resolve(folder) == place:
            return set(os.listdir(place))
    except (errors.OutsideWorkspace, FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise errors.RewindRefused(f"cannot read {folder}: {error.strerror}") from None
    return set()


def _remove_file(scheduler: Scheduler, path: str, since: int) -> None:
    """Remove a file that is not older; a link goes itself, not what it leads to."""
    file = scheduler.workspace.root / path
    try:
        if file.lstat().st_mtime * 1000 >= since - CLOCKS_DIFFER_MS:
            file.unlink()
    except FileNotFoundError:
        pass
    except OSError as error:
        raise errors.RewindRefused(f"cannot remove {path}: {error.strerror}") from None


def _reset(tx: Transaction, root: JobRecord, found: RetrySet) -> list[JobRecord]:
    """Reset the members; return those whose gates must be looked at.

    The others wait for a member: nothing else can be said of them yet.
    """
    states.check_all(((one.number, one.status) for one in found.members), states.QUEUED)
    _stop_waiting(tx, found.members)
    steps.forget_children(tx, [one.number for one in found.members if one.journal])
    open_groups = {one.group_id for one in found.members if one.group_id}
    after_groups = groups.chains_of(tx, open_groups)
    unmet = dependencies.reopen(tx, [record.number for record in found.members], after_groups)
    behind = {
        record.number: _waits(record, unmet[record.number][0])
        for record in found.members
        if unmet[record.number] and unmet.keys() >= set(unmet[record.number])
    }
    late_at = {
        one.number: deadlines.start_by(one.terms.start_within_s, None, tx.now_ms)
        for one in found.members
    }
    job_changes.rewind(
        tx,
        [Fresh(n, len(unmet[n]), behind.get(n), start_by=late_at.get(n)) for n in unmet],
    )
    for moment in filter(None, late_at.values()):
        tx.due_at(moment)
    for record in found.members:
        facts = {"generation": record.generation + 1, "root": root.job_id}
        tx.note(events.REWOUND, record.number, facts)
    tx.note_all(events.WAITING, {number: _said(waits) for number, waits in behind.items()})
    for group_id in sorted(open_groups):
        groups.reopen(tx, group_id)
    return [record for record in found.members if record.number not in behind]


def _waits(record: JobRecord, chain: int) -> Closed:
    """A member waits for a chain that has just started afresh."""
    before = next(one for one in record.terms.after if one.number == chain)
    closed = after.check(
        [after.Predecessor(job=before.job, policy=before.policy, status=states.QUEUED)]
    )
    assert closed is not None
    return closed


def _said(closed: Closed) -> dict[str, object]:
    return {"status": closed.status, "kind": closed.kind, "detail": closed.detail}


def _admit(
    scheduler: Scheduler,
    tx: Transaction,
    found: RetrySet,
    ready: Sequence[JobRecord],
) -> None:
    """Check the gates at once, also of jobs behind the set in a queue for a lock."""
    numbers = [record.number for record in ready]
    freed = lock_queues.keys_of(found.everyone)
    consequences.admit_or_end(scheduler, tx, numbers, freed=freed)


def _report(
    tx: Transaction,
    requested: JobRecord,
    root: JobRecord,
    found: RetrySet,
    ready: Sequence[JobRecord],
) -> RewindReport:
    now = jobs.read(tx, [record.number for record in ready])
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
    makers = needs.makers(tx, root.terms.needs)
    wanted = dict.fromkeys([*before, *(one.chain for one in makers if not one.history)])
    ends = chains.deciding_links(tx, wanted)
    return tuple(
        ends[chain].job_id
        for chain in wanted
        if chain in ends and ends[chain].status is states.SUCCEEDED
    )
