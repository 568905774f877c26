"""The job that is made when a group ends, in the transaction of its end."""

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

import msgspec

from headway.domain import states
from headway.domain.manage.groups import FailedMember, GroupStatus, Summary
from headway.domain.values import moments
from headway.scheduler.admit.insert import insert
from headway.scheduler.scheduler import Scheduler
from headway.storage import jobs
from headway.storage.chains import ChainEnd
from headway.storage.engine import codec
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import groups
from headway.storage.manage.groups import Completion, GroupRecord

MOST_FAILED = 100


def make(
    scheduler: Scheduler,
    tx: Transaction,
    group: GroupRecord,
    status: GroupStatus,
    ends: Collection[ChainEnd],
) -> list[int]:
    """Make the job, once; return the jobs whose gates must be looked at because of it."""
    planned = group.completion
    if planned is None:
        return []
    allocation = jobs.allocate(tx, jobs=1, positions=1, payloads=1)
    start = planned.job.scheduled_for
    if planned.delay_s is not None:
        start = moments.to_millis(tx.now + timedelta(seconds=planned.delay_s))
    job = msgspec.structs.replace(
        planned.job,
        number=allocation.number,
        job_id=scheduler.new_id(tx.now),
        chain=allocation.number,
        position=allocation.position,
        payload_id=allocation.payload_id,
        params=codec.dump(_params(planned, summary(group, status, ends))),
        scheduled_for=start,
    )
    groups.completed(tx, group.group_id, job.job_id)
    return insert(tx, [job]).to_admit


def summary(group: GroupRecord, status: GroupStatus, ends: Collection[ChainEnd]) -> Summary:
    """How a group ended, by the last job of each member's chain."""
    counts = Counter(end.status.lower() for end in ends)
    failed = sorted(
        (end for end in ends if end.status in states.FAILURE), key=lambda end: end.chain
    )
    return Summary(
        group_id=group.group_id,
        name=group.name,
        status=status,
        counts=dict(counts),
        failed=tuple(
            FailedMember(job_id=end.job_id, number=end.number, status=end.status)
            for end in failed[:MOST_FAILED]
        ),
    )


def _params(planned: Completion, found: Summary) -> Mapping[str, Any]:
    if not planned.is_command:
        return {**planned.params, **msgspec.to_builtins(found)}
    return {"stdin": codec.dump(found), **planned.params}
