"""Groups: made with their members, cancelled and reordered as a whole."""

from collections.abc import Sequence

import msgspec

from headway.domain import errors, events, graph, states
from headway.domain.jobs import COMMAND, After, Policy, Terms
from headway.domain.manage.groups import Group, GroupMode, GroupStatus, Summary
from headway.domain.manage.tokens import Role
from headway.domain.requests import job_requests
from headway.domain.requests.group_requests import GroupRequest
from headway.domain.requests.job_requests import JobRequest
from headway.scheduler import command_permission
from headway.scheduler.admit import lock_queues
from headway.scheduler.change import cancel as cancelling
from headway.scheduler.finish import consequences
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import submit
from headway.scheduler.submit.plan import Origin
from headway.storage import chains, dependencies, jobs
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import groups, templates
from headway.storage.manage.groups import Completion, MemberPlace
from headway.storage.records import JobRecord

MOST_MEMBERS = 10_000
NOT_AT_THE_END = ("after", "parent_id", "idempotency_key", "unique_key")
"""What only a job that is made at once can have."""


def create(scheduler: Scheduler, tx: Transaction, request: GroupRequest) -> Group:
    """A new group with all its members, or nothing."""
    if not 1 <= len(request.jobs) <= MOST_MEMBERS:
        problem = f"a group has 1 to {MOST_MEMBERS} jobs, not {len(request.jobs)}"
        raise errors.InvalidRequest("jobs", problem)
    job_requests.check_name("name", request.name)
    group_id = scheduler.new_id(tx.now)
    groups.insert(
        tx,
        group_id=group_id,
        name=request.name,
        mode=request.mode,
        on_failure=request.on_failure,
        on_complete=_completion(scheduler, tx, request) if request.on_complete else None,
    )
    origin = Origin(group_id=group_id, sequential=request.mode is GroupMode.SEQUENTIAL)
    for made in submit.submit_all(scheduler, tx, request.jobs, origin):
        if not made.created:
            raise errors.Conflict(f"job {made.number} exists already; members of a group are new")
    return groups.find(tx, group_id)


def _completion(scheduler: Scheduler, tx: Transaction, request: GroupRequest) -> Completion:
    """The job for the end of the group: what could never be made then is refused now."""
    wanted = request.on_complete
    assert wanted is not None
    said = [name for name in NOT_AT_THE_END if getattr(wanted, name)]
    if said:
        raise errors.InvalidRequest("on_complete", f"takes no {', '.join(said)}")
    try:
        return _planned(scheduler, tx, wanted, request.name)
    except errors.HeadwayError as error:
        error.fields = {f"on_complete.{name}": problem for name, problem in error.fields.items()}
        raise


def _planned(
    scheduler: Scheduler, tx: Transaction, wanted: JobRequest, name: str | None
) -> Completion:
    template = templates.find(tx, wanted.template) if wanted.template is not None else None
    is_command = (template.job_type if template else wanted.job_type) == COMMAND
    params = {**(template.params if template else {}), **wanted.params}
    sample = Summary(
        group_id=scheduler.new_id(tx.now),
        name=name,
        status=GroupStatus.COMPLETED,
        counts={states.SUCCEEDED.lower(): 1},
        failed=(),
    )
    shown = wanted.params if is_command else {**wanted.params, **msgspec.to_builtins(sample)}
    job = submit.planned(scheduler, tx, msgspec.structs.replace(wanted, params=shown))
    return Completion(
        job=msgspec.structs.replace(job, params=None),
        params=params,
        delay_s=wanted.delay_s,
        is_command=is_command,
    )


def cancel(
    scheduler: Scheduler,
    tx: Transaction,
    group_id: str,
    *,
    reason: str | None = None,
    force: bool = False,
) -> Group:
    """Cancel every member that has not ended: at once while it waits, by request while it runs."""
    job_requests.check_reason(reason)
    group_id = groups.find(tx, group_id).group_id
    members = jobs.read(tx, [one.number for one in groups.members(tx, group_id)])
    active = [record for record in members if record.status in states.ACTIVE]
    if not active:
        raise errors.Conflict(f"group {group_id} is not active")
    # All at once: one by one, a member's end would start the next for a moment.
    cancelling.cancel_all(scheduler, tx, active, reason=reason, force=force)
    return groups.find(tx, group_id)


def reorder(
    scheduler: Scheduler,
    tx: Transaction,
    group_id: str,
    order: Sequence[str | int],
    role: Role = Role.ADMIN,
) -> Group:
    """Put the members that have not started into this order, on the places that they have now."""
    group = groups.find(tx, group_id)
    group_id, mode = group.group_id, group.mode
    every = jobs.read(tx, [one.number for one in groups.members(tx, group_id)])
    begun = {record.chain for record in every if record.status not in states.WAITING}
    members = [record for record in every if record.retry_of is None]
    members.sort(key=lambda record: (record.group_place or 0, record.number))
    waiting = [record for record in members if record.chain not in begun]
    wanted = _wanted(tx, order, waiting)
    command_permission.check_jobs(tx, role, "reorder", waiting)
    following = iter(wanted)
    new = [one if one.chain in begun else next(following) for one in members]
    if mode is GroupMode.SEQUENTIAL:
        moved = _rewire(tx, members, new, {one.number for one in waiting})
    else:
        moved = {one.number: (one.terms, one.open_deps) for one in waiting}
    _move(tx, waiting, wanted, moved)
    for record in waiting:
        tx.note(events.CHANGED, record.number, {"group_id": group_id, "reordered": True})
    numbers = [record.number for record in waiting]
    consequences.admit_or_end(scheduler, tx, numbers, freed=lock_queues.keys_of(waiting))
    return groups.find(tx, group_id)


def _wanted(
    tx: Transaction, order: Sequence[str | int], waiting: Sequence[JobRecord]
) -> list[JobRecord]:
    """The waiting members in the order asked for, which names each of them once."""
    found = {record.number: record for record in waiting}
    wanted = []
    for reference in order:
        try:
            number = jobs.find_number(tx, reference)
        except errors.NotFound:
            raise errors.UnknownReference("order", "job", reference) from None
        if number not in found:
            problem = f"job {reference} is not a member, has already started, or is named twice"
            raise errors.InvalidRequest("order", problem)
        wanted.append(found.pop(number))
    if found:
        missing = ", ".join(str(number) for number in found)
        raise errors.InvalidRequest("order", f"these members are missing: {missing}")
    return wanted


def _rewire(
    tx: Transaction, old: Sequence[JobRecord], new: Sequence[JobRecord], moving: set[int]
) -> dict[int, tuple[Terms, int]]:
    """Let each moving member come after its new neighbour; return terms and open dependencies."""
    ends = chains.ends(tx, {one.number for one in new})
    over = {one.number for one in new if ends[one.number].status in states.TERMINAL}
    before_old, before_new = _predecessors(old, over), _predecessors(new, over)
    changed = {
        one.number: _after(one.terms, before_old[one.number], before_new[one.number][-1:])
        for one in new
        if one.number in moving
    }
    _refuse_cycles([one for one in new if one.number not in over], changed)
    for number in changed:
        for previous in (*before_old[number], *before_new[number][-1:]):
            dependencies.unfollow(tx, number, previous.number)
        for previous in before_new[number][-1:]:
            dependencies.follow(tx, number, previous.number, met=previous.number in over)
    still_open = dependencies.open_counts(tx, changed)
    return {number: (terms, still_open[number]) for number, terms in changed.items()}


def _predecessors(members: Sequence[JobRecord], over: set[int]) -> dict[int, list[JobRecord]]:
    """Whom each member follows, nearest first: past those that ended while they waited.

    Such a one was cancelled or blocked and left its place; the last in the list still counts.
    """
    before: dict[int, list[JobRecord]] = {}
    previous: list[JobRecord] = []
    for one in members:
        before[one.number] = previous
        previous = [one, *previous] if one.number in over and one.open_deps else [one]
    return before


def _after(terms: Terms, old: Sequence[JobRecord], new: Sequence[JobRecord]) -> Terms:
    left = {(one.number, Policy.FINISHED) for one in (*old, *new)}
    rest = [one for one in terms.after if (one.number, one.policy) not in left]
    first = [After(job=one.job_id, number=one.number, policy=Policy.FINISHED) for one in new]
    return msgspec.structs.replace(terms, after=(*first, *rest))


def _refuse_cycles(members: Sequence[JobRecord], changed: dict[int, Terms]) -> None:
    """A member's own dependencies may not contradict the new order."""
    terms = {one.number: changed.get(one.number, one.terms) for one in members}
    makers: dict[str, list[int]] = {}
    for number, one in terms.items():
        for artifact in one.produces:
            makers.setdefault(artifact, []).append(number)
    edges = {
        number: [
            *(target.number for target in one.after if target.number in terms),
            *(maker for need in one.needs for maker in makers.get(need, ()) if maker != number),
        ]
        for number, one in terms.items()
    }
    if cycle := graph.find_cycle(edges):
        raise errors.DependencyCycle([str(number) for number in cycle])


def _move(
    tx: Transaction,
    waiting: Sequence[JobRecord],
    wanted: Sequence[JobRecord],
    moved: dict[int, tuple[Terms, int]],
) -> None:
    """Hand out the places anew: in the group to all, in the queue among members of one priority."""
    positions: dict[int, list[int]] = {}
    for record in sorted(waiting, key=lambda one: one.position):
        positions.setdefault(record.priority, []).append(record.position)
    places: list[MemberPlace] = []
    for place, record in zip([one.group_place for one in waiting], wanted, strict=True):
        terms, open_deps = moved[record.number]
        position = positions[record.priority].pop(0)
        places.append(MemberPlace(record.number, place, position, terms, open_deps))
    groups.move_members(tx, places)
