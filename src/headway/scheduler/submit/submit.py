"""Submit: requests become jobs in one transaction, all of them or none."""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import msgspec

from headway.domain import errors, taken
from headway.domain.jobs import Job
from headway.domain.manage.audit import ranges
from headway.domain.manage.tokens import Principal
from headway.domain.requests import job_requests
from headway.domain.requests.job_requests import JobRequest
from headway.domain.values.plain_json import Checked
from headway.scheduler import alone
from headway.scheduler.admit.insert import Inserted, insert
from headway.scheduler.explain import views
from headway.scheduler.finish import consequences
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import (
    keys,
    known_templates,
    named_groups,
    named_jobs,
    params,
    plan,
    references,
)
from headway.scheduler.submit.batch_errors import Turns
from headway.scheduler.submit.known_templates import Templates
from headway.scheduler.submit.named_groups import AfterGroups
from headway.scheduler.submit.named_jobs import EarlierJobs
from headway.scheduler.submit.plan import Facts, Origin
from headway.scheduler.submit.references import Named, Plan, Submitted
from headway.storage import job_views, jobs
from headway.storage.engine import codec, question
from headway.storage.engine.transaction import Transaction
from headway.storage.jobs import Allocation
from headway.storage.lanes import LaneIds
from headway.storage.manage import audit, limits, templates
from headway.storage.new_jobs import NewJob


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """The submitted job as it is shown, and whether this submit made it."""

    job: Job
    created: bool


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """A request on its way in; `check` is asked first whether its sender may."""

    scheduler: Scheduler
    request: JobRequest
    check: Callable[[Transaction, JobRequest], None] | None = None
    by: Principal | None = None
    """The name in the audit log, if it has one."""


def submit(scheduler: Scheduler, request: JobRequest) -> Job:
    """Submit one job; when this returns, it is on disk."""
    return submit_later(Submission(scheduler=scheduler, request=request)).result().job


def submit_later(submission: Submission) -> "Future[Receipt]":
    """Submit one job without waiting; callers at the same time share their statements."""
    ready = msgspec.structs.replace(
        submission, request=prepared(submission.scheduler, [submission.request])[0]
    )
    return submission.scheduler.store.write_together(submit_each, ready)


def prepared(scheduler: Scheduler, wanted: Sequence[JobRequest]) -> list[JobRequest]:
    """The requests, checked as far as they can be without a transaction, which holds up others."""
    with Turns(wanted) as turns:
        ready = [_prepared(scheduler, request) for request in turns.each(enumerate(wanted))]
    job_requests.check_count(ready)
    return ready


def _prepared(scheduler: Scheduler, request: JobRequest) -> JobRequest:
    job_requests.check(request)
    return msgspec.structs.replace(request, params=params.checked(scheduler, request.params))


def submit_in(scheduler: Scheduler, tx: Transaction, request: JobRequest) -> Job:
    """Submit one job in a running transaction."""
    return submit_each(tx, [Submission(scheduler=scheduler, request=request)])[0].job


def submit_each(tx: Transaction, submissions: Sequence[Submission]) -> list[Receipt]:
    """Jobs of different callers, in one go."""
    for submission in submissions:
        if submission.check is not None:
            submission.check(tx, submission.request)
    requested = [submission.request for submission in submissions]
    new_jobs = NewViews(tx)
    made = submit_all(submissions[0].scheduler, tx, requested, shown=new_jobs)
    shown = new_jobs.of([one.number for one in made])
    _note_submits(tx, submissions, made)
    standing = views.new(submissions[0].scheduler, tx, [shown[one.number] for one in made])
    return [
        _receipt(submissions[0].scheduler, tx, one, job, request)
        for one, job, request in zip(made, standing, requested, strict=True)
    ]


def _note_submits(
    tx: Transaction, submissions: Sequence[Submission], made: Sequence[Submitted]
) -> None:
    """One entry for each caller, however many jobs they submit at the same time."""
    numbers: dict[Principal, list[int]] = {}
    for submission, one in zip(submissions, made, strict=True):
        if submission.by is not None and one.created:
            numbers.setdefault(submission.by, []).append(one.number)
    submits = [(by, "create_job", f"job {ranges(its)}") for by, its in numbers.items()]
    if submits:
        audit.note_all(tx, submissions[0].scheduler.new_id, submits)


def _receipt(
    scheduler: Scheduler, tx: Transaction, one: Submitted, job: Job, request: JobRequest
) -> Receipt:
    if one.deduplicated:
        template = templates.find(tx, request.template) if request.template else None
        stored = template.params if template else {}
        wanted = params.merged(scheduler, stored, request.params)
        differ = _as_stored(tx, wanted) != job.params
        job = msgspec.structs.replace(job, deduplicated=True, params_differ=differ)
    return Receipt(job=job, created=one.created)


def _as_stored(tx: Transaction, wanted: Checked) -> Any:
    """Params as they would be stored for a job of their own."""
    (links,) = tx.ask(named_jobs.named(one.job for one in wanted.taken))
    earlier = EarlierJobs(links)
    ids = [
        (one, taken.written(found.job_id, one.path))
        for one in wanted.taken
        if (found := earlier.find(one.job))
    ]
    return msgspec.json.decode(codec.dump(taken.put(wanted, ids)))


class NewViews:
    """New jobs as they are shown. What was just written need not be read again."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._views: dict[int, Job] = {}

    def note(self, new_jobs: Sequence[NewJob], inserted: Inserted, lane_ids: LaneIds) -> None:
        """These jobs are written as they are, but for those whose gates are still looked at."""
        changing = set(inserted.to_admit)
        for job in new_jobs:
            if job.number not in changing and not job.terms.comes_after:
                lane = lane_ids.lane(job.lane_id)
                self._views[job.number] = inserted.written.view(job, lane)

    def of(self, numbers: Sequence[int]) -> dict[int, Job]:
        """Some jobs by number; those that are not new are read."""
        others = [number for number in numbers if number not in self._views]
        return self._views | {job.number: job for job in job_views.read(self._tx, others)}


def submit_all(
    scheduler: Scheduler,
    tx: Transaction,
    wanted: Sequence[JobRequest],
    origin: Origin | None = None,
    shown: "NewViews | None" = None,
) -> list[Submitted]:
    """Submit jobs, all or nothing. Those of a batch may name each other by `ref`."""
    with Turns(wanted) as turns:
        return _submit_all(scheduler, tx, wanted, origin or Origin(), shown, turns)


def _submit_all(
    scheduler: Scheduler,
    tx: Transaction,
    wanted: Sequence[JobRequest],
    origin: Origin,
    shown: "NewViews | None",
    turns: Turns,
) -> list[Submitted]:
    known = Templates(*tx.ask(known_templates.named(wanted)))
    lane_ids = LaneIds(tx)
    if scheduler.defaults:
        wanted = [_with_defaults(scheduler, known, request) for request in wanted]
    for place, request in turns.each(enumerate(enumerate(wanted))):
        if request is not turns.asked[place] or not isinstance(request.params, Checked):
            job_requests.check(request)
        _check_repository(scheduler, request)
    found = keys.find(tx, wanted, turns)
    fresh = [place for place in range(len(wanted)) if place not in found]
    given = _params(scheduler, wanted, found, known, origin, turns)
    asked = (
        (wanted[place], known.find(wanted[place].template), given[place].taken)
        for place in turns.each((place, place) for place in fresh)
    )
    alone.to_submit(tx, asked, lane_ids, finds_some=bool(found))
    allocation = jobs.allocate(tx, jobs=len(fresh), positions=len(fresh), payloads=len(fresh))
    plans = _plans(scheduler, tx, wanted, given, fresh, allocation, known, turns)
    all_plans = plans | _unneeded(wanted, given, found, known, turns)
    named = references.read(all_plans, found, wanted, turns)
    after_groups = named_groups.resolve(tx, all_plans, turns)
    facts = _gather(scheduler, tx, allocation, named, all_plans.values(), after_groups)
    after = references.resolve(named, all_plans, facts.earlier, turns, sequential=origin.sequential)
    all_plans = references.with_ids(all_plans, named, facts.earlier, after)
    planned = plan.plan_jobs(scheduler, all_plans, after, facts, origin, turns)
    ids = [lane_ids.find(lane) for lane in planned.lanes]
    new_jobs = [
        msgspec.structs.replace(job, lane_id=ids[job.lane_id]) for job in planned.jobs[: len(plans)]
    ]
    inserted = insert(tx, new_jobs)
    if shown is not None:
        shown.note(new_jobs, inserted, lane_ids)
    consequences.admit_or_end(scheduler, tx, inserted.to_admit)
    made = {place: Submitted(number=one.number, job_id=one.job_id) for place, one in plans.items()}
    return [made.get(place) or found[place] for place in range(len(wanted))]


def planned(scheduler: Scheduler, tx: Transaction, request: JobRequest) -> NewJob:
    """The job that a request would make now, to be made later; it comes after nothing."""
    with Turns([request]) as turns:
        (found,) = tx.ask(known_templates.named([request]))
        known = Templates(found)
        asked = _with_defaults(scheduler, known, request)
        job_requests.check(asked)
        _check_repository(scheduler, asked)
        given = _params(scheduler, [asked], {}, known, Origin(), turns)
        if given[0].taken:
            raise errors.InvalidRequest("params", "takes no results of other jobs")
        allocation = Allocation(0, 0, 0)
        plans = _plans(scheduler, tx, [asked], given, [0], allocation, known, turns)
        named = references.read(plans, {}, [asked], turns)
        facts = _gather(scheduler, tx, allocation, named, plans.values(), {})
        made = plan.plan_jobs(scheduler, plans, {0: ()}, facts, Origin(), turns)
        return msgspec.structs.replace(made.jobs[0], lane_id=LaneIds(tx).find(made.lanes[0]))


def _gather(
    scheduler: Scheduler,
    tx: Transaction,
    allocation: Allocation,
    named: Named,
    plans: Collection[Plan],
    after_groups: AfterGroups,
) -> Facts:
    """What the plan of a submit must know of the store, in one round trip."""
    names = (*named.earlier(), *plan.jobs_named(scheduler, plans))
    earlier, defined = tx.ask(
        named_jobs.named(names),
        limits.DEFINED if plan.name_limits(plans) else question.known([]),
    )
    return Facts(
        now=tx.now,
        allocation=allocation,
        earlier=EarlierJobs(earlier),
        limits=frozenset(one.name for one in defined),
        after_groups=after_groups,
    )


def _with_defaults(scheduler: Scheduler, known: Templates, request: JobRequest) -> JobRequest:
    """The options of a handler hold however its jobs are submitted."""
    template = known.look_up(request.template)
    defaults = scheduler.defaults.get((template or request).job_type or "")
    return job_requests.filled_in(request, defaults, template) if defaults else request


def _params(
    scheduler: Scheduler,
    wanted: Sequence[JobRequest],
    found: Mapping[int, Submitted],
    known: Templates,
    origin: Origin,
    turns: Turns,
) -> dict[int, Checked]:
    """The params of each job by its place, but for those that are not looked at again."""
    given = {}
    for place, request in turns.each(enumerate(enumerate(wanted))):
        if place in found and not found[place].deduplicated:
            continue
        template = known.find(request.template)
        stored = {**(template.params if template else {}), **origin.params}
        given[place] = params.merged(scheduler, stored, request.params)
    return given


def _plans(
    scheduler: Scheduler,
    tx: Transaction,
    wanted: Sequence[JobRequest],
    given: Mapping[int, Checked],
    fresh: Sequence[int],
    allocation: Allocation,
    known: Templates,
    turns: Turns,
) -> dict[int, Plan]:
    plans = {}
    for step, place in turns.each(zip(fresh, enumerate(fresh), strict=True)):
        request = wanted[place]
        template = known.find(request.template)
        plans[place] = Plan(
            asked=turns.asked[place],
            request=request,
            params=given[place],
            template=template,
            number=allocation.number + step,
            job_id=scheduler.new_id(tx.now),
        )
    return plans


def _unneeded(
    wanted: Sequence[JobRequest],
    given: Mapping[int, Checked],
    found: Mapping[int, Submitted],
    known: Templates,
    turns: Turns,
) -> dict[int, Plan]:
    """Jobs whose unique key is in use: they are not made, but what was asked must make sense."""
    return {
        place: Plan(
            asked=turns.asked[place],
            request=wanted[place],
            params=given[place],
            template=known.find(wanted[place].template),
            number=one.chain,
            job_id=one.job_id,
        )
        for place, one in turns.each((place, (place, one)) for place, one in found.items())
        if one.deduplicated
    }


def _check_repository(scheduler: Scheduler, request: JobRequest) -> None:
    """A job pinned to a commit needs a repository that can have it."""
    if request.pinned_head is not None and not scheduler.workspace.is_repository():
        raise errors.InvalidRequest("pinned_head", "the workspace is not a git repository")
