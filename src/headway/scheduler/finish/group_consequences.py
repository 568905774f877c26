"""What a member's end means for its group."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from headway.domain import events, states
from headway.domain.gates import Blocker, after
from headway.domain.jobs import After, Policy, WaitReason
from headway.domain.manage import groups
from headway.domain.manage.groups import PREDECESSOR_FAILED, GroupMode, GroupStatus, Member, Verdict
from headway.domain.runs import RunStatus
from headway.scheduler.finish import completions
from headway.scheduler.finish.ends import Ended
from headway.scheduler.scheduler import Scheduler
from headway.storage import chains, dependencies, holds, jobs, runs
from headway.storage.dependencies import Dependency
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import groups as stored_groups
from headway.storage.manage.groups import GroupRecord, MemberPlace
from headway.storage.records import JobRecord


def decide(
    scheduler: Scheduler, tx: Transaction, final: Sequence[Ended]
) -> tuple[list[Ended], set[int]]:
    """Members that end because another failed for good; groups that are complete are marked so.

    Return these members, and the jobs that waited for the end of a group.
    """
    stopped: list[Ended] = []
    waiting: set[int] = set()
    for group_id in dict.fromkeys(one.record.group_id for one in final if one.record.group_id):
        group = stored_groups.read(tx, group_id)
        if group is None:
            continue
        failed = [one for one in final if one.record.group_id == group_id and _failed(one)]
        others = _stop_others(scheduler, tx, group, failed[0]) if failed else []
        stopped += others
        if not others:
            waiting |= end_if_over(scheduler, tx, group)
    return stopped, waiting


def hand_on_predecessors(tx: Transaction, final: Sequence[Ended]) -> set[int]:
    """A member that ended while it waited leaves its place: its follower waits in its stead.

    Return the followers, whose gates must be checked again.
    """
    groups_left: dict[str, list[JobRecord]] = {}
    for one in final:
        if one.record.group_id and one.record.open_deps:
            groups_left.setdefault(one.record.group_id, []).append(one.record)
    return {
        follower
        for group_id, left in groups_left.items()
        for follower in _hand_on(tx, group_id, left)
    }


def _hand_on(tx: Transaction, group_id: str, left: Sequence[JobRecord]) -> set[int]:
    group = stored_groups.read(tx, group_id)
    if group is None or group.mode is not GroupMode.SEQUENTIAL:
        return set()
    ids = {one.number: one.job_id for one in stored_groups.members(tx, group_id)}
    inherited = _waited_for(tx, left, ids)
    wanted: dict[int, dict[int, str]] = {}
    for one in dependencies.all_dependents(tx, inherited):
        if one.policy is Policy.FINISHED and one.number in ids:
            before = {chain: ids[chain] for chain in inherited[one.chain]}
            wanted.setdefault(one.number, {}).update(before)
    gone = {record.number for record in left}
    followers = [one for one in jobs.read(tx, wanted.keys() - gone) if one.status in states.WAITING]
    for follower in followers:
        _wait_for(tx, follower, wanted[follower.number])
    return {one.number for one in followers}


def _waited_for(
    tx: Transaction, left: Sequence[JobRecord], members: Mapping[int, str]
) -> dict[int, list[int]]:
    """For each of those who left, the members that it waited for and that are still there."""
    before: dict[int, list[int]] = {}
    for one in dependencies.of(tx, [record.number for record in left]):
        if not one.met and one.policy is Policy.FINISHED and one.chain in members:
            before.setdefault(one.number, []).append(one.chain)
    found: dict[int, list[int]] = {}
    for record in sorted(left, key=lambda one: one.group_place or 0):
        waited_for = [found.get(chain, [chain]) for chain in before.get(record.number, ())]
        found[record.chain] = list(dict.fromkeys(chain for some in waited_for for chain in some))
    return found


def _wait_for(tx: Transaction, follower: JobRecord, members: Mapping[int, str]) -> None:
    """Let a member come after others, too."""
    known = {one.number for one in follower.terms.after if one.policy is Policy.FINISHED}
    new = [
        After(job=job_id, number=number, policy=Policy.FINISHED)
        for number, job_id in members.items()
        if number not in known
    ]
    dependencies.insert(
        tx, [Dependency(follower.number, one.number, one.policy, met=False) for one in new]
    )
    place = MemberPlace(
        number=follower.number,
        group_place=follower.group_place,
        position=follower.position,
        terms=msgspec.structs.replace(follower.terms, after=(*new, *follower.terms.after)),
        open_deps=follower.open_deps + len(new),
    )
    stored_groups.move_members(tx, [place])


def _failed(one: Ended) -> bool:
    """A cancelled member was asked for and is no failure."""
    return one.status in states.FAILURE and one.status is not states.CANCELLED


def _stop_others(
    scheduler: Scheduler, tx: Transaction, group: GroupRecord, failed: Ended
) -> list[Ended]:
    member = Member(job_id=failed.record.job_id, number=failed.record.number, status=failed.status)
    verdict = scheduler.group_failure.on_member_failed(group.on_failure, member)
    if verdict is Verdict.CONTINUE:
        return []
    numbers = [one.number for one in stored_groups.members(tx, group.group_id)]
    stopped = others_that_end(
        verdict, failed, jobs.read(tx, numbers), tx.now_ms, lambda: scheduler.new_id(tx.now)
    )
    skipped = [(one.record, one.run_id) for one in stopped if one.run_id is not None]
    runs.insert_skipped(tx, skipped, PREDECESSOR_FAILED)
    return stopped


def others_that_end(
    verdict: Verdict,
    failed: Ended,
    members: Sequence[JobRecord],
    now_ms: int,
    new_id: Callable[[], str],
) -> list[Ended]:
    """The members that end because another failed: those that have not started."""
    cause = Blocker(kind="job", id=failed.record.job_id, status=failed.status)
    stopped = Ended(
        record=failed.record,
        status=states.CANCELLED,
        reason=WaitReason(kind="group", detail=PREDECESSOR_FAILED),
        blockers=(cause,),
        retry=False,
    )
    waiting = [
        one
        for one in members
        if one.number != failed.record.number and one.status in states.WAITING | states.CLAIMS
    ]
    if verdict is Verdict.STOP:
        return [msgspec.structs.replace(stopped, record=one) for one in waiting]
    return [
        msgspec.structs.replace(
            stopped,
            record=one,
            status=states.SKIPPED,
            run_id=new_id(),
            run_status=RunStatus.SKIPPED,
            error=PREDECESSOR_FAILED,
            started_at=now_ms,
        )
        for one in waiting
    ]


def end_if_over(scheduler: Scheduler, tx: Transaction, group: GroupRecord) -> set[int]:
    """The group has ended if every member has; return the jobs to look at because of that."""
    if stored_groups.has_active_member(tx, group.group_id):
        return set()
    members = stored_groups.members(tx, group.group_id)
    ends = chains.ends(tx, {one.chain for one in members})
    status = groups.status_of([end.status for end in ends.values()])
    if status not in groups.ENDED:
        return set()
    stored_groups.end(tx, group.group_id)
    tx.note(events.GROUP_ENDED, None, {"group_id": group.group_id, "status": status})
    waiting = set(completions.make(scheduler, tx, group, status, ends.values()))
    return waiting if group.chain is None else waiting | _meet(tx, group.chain, status)


def _meet(tx: Transaction, chain: int, status: GroupStatus) -> set[int]:
    """Jobs for which this was the last dependency that was open, or that it breaks."""
    holds.dependents(tx, [chain])
    met = [policy for policy in Policy if after.group_satisfies(status, policy)]
    return dependencies.meet(tx, [chain], met)
