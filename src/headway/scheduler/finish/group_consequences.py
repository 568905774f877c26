"""What a member's end means for its group."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from headway.domain import events, groups, states
from headway.domain.gates import Blocker
from headway.domain.groups import (
    PREDECESSOR_FAILED,
    GroupMode,
    GroupStatus,
    Member,
    OnFailure,
    Verdict,
)
from headway.domain.jobs import After, Policy, Terms, WaitReason
from headway.domain.runs import RunStatus
from headway.scheduler.finish.ends import Ended
from headway.scheduler.scheduler import Scheduler
from headway.storage import jobs, records, runs
from headway.storage.engine import codec
from headway.storage.engine.transaction import Row, Transaction
from headway.storage.manage import groups as stored_groups
from headway.storage.records import JobRecord


def decide(scheduler: Scheduler, tx: Transaction, final: Sequence[Ended]) -> list[Ended]:
    """Members that end because another failed for good; groups that are complete are marked so."""
    stopped: list[Ended] = []
    for group_id in dict.fromkeys(one.record.group_id for one in final if one.record.group_id):
        group = tx.row("group_by_id", group_id=group_id)
        if group is None:
            continue
        failed = [one for one in final if one.record.group_id == group_id and _failed(one)]
        others = _stop_others(scheduler, tx, group, failed[0]) if failed else []
        stopped += others
        if not others:
            _mark_ended(tx, group)
    return stopped


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
    group = tx.row("group_by_id", group_id=group_id)
    if group is None or group["mode"] != GroupMode.SEQUENTIAL:
        return set()
    rows = tx.rows("group_members", group_id=group_id)
    ids = {row["number"]: row["job_id"] for row in rows}
    inherited = _waited_for(tx, left, ids)
    wanted: dict[int, dict[int, str]] = {}
    for row in tx.rows("all_dependents", chains=records.listed(inherited)):
        if row["policy"] == Policy.FINISHED and row["job_number"] in ids:
            chains = {chain: ids[chain] for chain in inherited[row["chain"]]}
            wanted.setdefault(row["job_number"], {}).update(chains)
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
    for row in tx.rows("dependencies_of", numbers=records.listed(one.number for one in left)):
        if not row["met"] and row["policy"] == Policy.FINISHED and row["chain"] in members:
            before.setdefault(row["job_number"], []).append(row["chain"])
    found: dict[int, list[int]] = {}
    for record in sorted(left, key=lambda one: one.group_place or 0):
        chains = [found.get(chain, [chain]) for chain in before.get(record.number, ())]
        found[record.chain] = list(dict.fromkeys(chain for some in chains for chain in some))
    return found


def _wait_for(tx: Transaction, follower: JobRecord, members: Mapping[int, str]) -> None:
    """Let a member come after others, too."""
    known = {one.number for one in follower.terms.after if one.policy is Policy.FINISHED}
    new = [
        After(job=job_id, number=number, policy=Policy.FINISHED)
        for number, job_id in members.items()
        if number not in known
    ]
    edges = [
        {"job_number": follower.number, "chain": one.number, "policy": one.policy.value, "met": 0}
        for one in new
    ]
    tx.many("insert_dependency", edges)
    terms = msgspec.structs.replace(follower.terms, after=(*new, *follower.terms.after))
    open_deps = follower.open_deps + len(new)
    stored_groups.move_members(tx, [_place(follower, terms, open_deps)])


def _place(record: JobRecord, terms: Terms, open_deps: int) -> dict[str, object]:
    return {
        "number": record.number,
        "group_place": record.group_place,
        "position": record.position,
        "terms": codec.dump_terms(terms),
        "open_deps": open_deps,
    }


def _failed(one: Ended) -> bool:
    """A cancelled member was asked for and is no failure."""
    return one.status in states.FAILURE and one.status is not states.CANCELLED


def _stop_others(scheduler: Scheduler, tx: Transaction, group: Row, failed: Ended) -> list[Ended]:
    member = Member(job_id=failed.record.job_id, number=failed.record.number, status=failed.status)
    verdict = scheduler.group_failure.on_member_failed(OnFailure(group["on_failure"]), member)
    if verdict is Verdict.CONTINUE:
        return []
    numbers = [row["number"] for row in tx.rows("group_members", group_id=group["group_id"])]
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


def _mark_ended(tx: Transaction, group: Row) -> None:
    if tx.rows("active_member", group_id=group["group_id"]):
        return
    rows = tx.rows("group_members", group_id=group["group_id"])
    chains = jobs.chain_ends(tx, {row["chain"] for row in rows})
    status = groups.status_of([end.status for end in chains.values()])
    if status in (GroupStatus.COMPLETED, GroupStatus.PARTIAL, GroupStatus.CANCELLED):
        tx.do("end_group", group_id=group["group_id"], ended_at=tx.now_ms)
        tx.note(events.GROUP_ENDED, None, {"group_id": group["group_id"], "status": status})
