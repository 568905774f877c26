"""The one place where a job begins, submitted or retried."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from headway.domain import deadlines, events, states
from headway.domain.gates import Closed, after, time
from headway.domain.gates.after import Before, PrecedingGroup, Predecessor
from headway.domain.jobs import After, AfterGroup
from headway.domain.manage.groups import GroupStatus
from headway.domain.states import JobStatus
from headway.domain.values import moments
from headway.storage import chains, needs, new_jobs
from headway.storage.engine.transaction import READY, Transaction
from headway.storage.manage import groups
from headway.storage.new_jobs import Begun, NewJob, Written


class Inserted(msgspec.Struct, frozen=True):
    """The jobs whose gates must still be looked at, and all as they were written."""

    to_admit: list[int]
    written: Written


def insert(tx: Transaction, new: Sequence[NewJob]) -> Inserted:
    """Write the jobs."""
    statuses = _statuses(tx, new)
    begun = [_begin(tx, job, statuses) for job in new]
    for one in begun:
        for moment in (one.due_at, one.start_by):
            if moment is not None:
                tx.due_at(moment)
    tx.note_all(events.SUBMITTED, {one.job.number: {"status": one.status} for one in begun})
    written = new_jobs.insert(tx, begun)
    tx.wake(READY)
    undecided = [one.job.number for one in begun if one.is_undecided]
    return Inserted([*undecided, *_waiting_consumers(tx, new)], written)


def _waiting_consumers(tx: Transaction, new: Sequence[NewJob]) -> set[int]:
    """Jobs from before that need what these will make: from now on they wait for these."""
    names = {name for job in new for name in job.terms.produces}
    return needs.waiting_consumers(tx, names) - {job.number for job in new}


Statuses: TypeAlias = Mapping[int, JobStatus | GroupStatus]
"""The statuses of chains, and of groups under their numbers."""


def _statuses(tx: Transaction, new: Sequence[NewJob]) -> Statuses:
    """The status of what these jobs depend on; those of this batch are new."""
    before = {one.number for job in new for one in job.terms.after}
    own = {job.number for job in new} & before
    links = chains.deciding_links(tx, before - own)
    after_groups = {one.number for job in new for one in job.terms.after_groups}
    return {
        **{chain: link.status for chain, link in links.items()},
        **dict.fromkeys(own, states.QUEUED),
        **{chain: group.status for chain, group in groups.by_chains(tx, after_groups).items()},
    }


def _begin(tx: Transaction, job: NewJob, statuses: Statuses) -> Begun:
    """The first status of a job by the gates of time and of other jobs."""
    late_at = deadlines.start_by(job.terms.start_within_s, job.scheduled_for, tx.now_ms)
    if job.scheduled_for is None and not job.terms.comes_after:
        return Begun(job=job, queued_at=None if job.gated else tx.now_ms, start_by=late_at)
    unmet = [one for one in job.terms.comes_after if not _is_met(job, one, statuses)]
    closed = _first_closed(tx, job, unmet, statuses)
    late = closed is not None and closed.status is states.QUEUED
    return Begun(
        job=job,
        waits=None if closed is None or closed.forever else closed,
        due_at=job.scheduled_for if late else None,
        queued_at=None if closed or job.gated else tx.now_ms,
        start_by=late_at,
        unmet=frozenset((one.number, one.policy) for one in unmet),
    )


def _first_closed(
    tx: Transaction, job: NewJob, unmet: Sequence[After | AfterGroup], statuses: Statuses
) -> Closed | None:
    late = time.check(moments.maybe_from_millis(job.scheduled_for), tx.now)
    if late or not unmet:
        return late
    return after.check([_before(one, statuses) for one in unmet])


def _before(one: After | AfterGroup, statuses: Statuses) -> Before:
    status = statuses.get(one.number)
    if isinstance(one, AfterGroup):
        group_status = status if isinstance(status, GroupStatus) else None
        return PrecedingGroup(group=one.group, policy=one.policy, status=group_status)
    job_status = status if isinstance(status, JobStatus) else None
    return Predecessor(job=one.job, policy=one.policy, status=job_status)


def _is_met(job: NewJob, one: After | AfterGroup, statuses: Statuses) -> bool:
    if (one.number, one.policy) in job.met:
        return True
    before = _before(one, statuses)
    return before.status is not None and not after.goes_on(before) and not after.problem(before)
