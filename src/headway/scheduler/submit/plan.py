"""The plan of a submit: pure, from requests and the facts about them to new jobs or an error."""

import operator
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from headway.domain import errors
from headway.domain.jobs import POSITION_GAP, After, AfterGroup, JobTerms, Lane, Terms
from headway.domain.manage import limits
from headway.domain.manage.templates import Template
from headway.domain.requests import job_requests
from headway.domain.requests.job_requests import JobRequest
from headway.domain.requests.request_hash import request_hash
from headway.domain.values import moments
from headway.scheduler import command_permission
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import artifact_names, params, references
from headway.scheduler.submit.batch_errors import Turns
from headway.scheduler.submit.named_jobs import EarlierJobs
from headway.scheduler.submit.references import Plan
from headway.storage.chains import Link
from headway.storage.engine import codec
from headway.storage.jobs import Allocation
from headway.storage.new_jobs import NewJob


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where jobs come from, beyond their requests."""

    schedule_id: str | None = None
    fire_time: datetime | None = None
    params: Mapping[str, Any] = msgspec.field(default_factory=dict)
    group_id: str | None = None
    sequential: bool = False


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What the store says about the requests of a submit."""

    now: datetime
    allocation: Allocation
    earlier: EarlierJobs
    limits: frozenset[str]
    """The names of all limits, if a job names any."""
    after_groups: Mapping[int, tuple[AfterGroup, ...]] = msgspec.field(default_factory=dict)


class Planned(NamedTuple):
    """New jobs; the `lane_id` of each is the place of its lane in `lanes`, until that is found."""

    jobs: list[NewJob]
    lanes: list[Lane]


def plan_jobs(
    scheduler: Scheduler,
    plans: Mapping[int, Plan],
    after: Mapping[int, tuple[After, ...]],
    facts: Facts,
    origin: Origin,
    turns: Turns,
) -> Planned:
    """The jobs of one submit, by their places in the batch; an error names the job it is about."""
    planner = _Planner(scheduler, facts, origin)
    jobs = [planner.new_job(plan, after[plan.number]) for plan in turns.each(plans.items())]
    references.refuse_cycles(jobs, plans)
    return Planned(jobs, planner.lanes)


def jobs_named(scheduler: Scheduler, plans: Iterable[Plan]) -> Iterator[str]:
    """The jobs from before that these plans name as parents and by artifacts."""
    for plan in plans:
        request = plan.request
        if request.parent_id is not None:
            yield str(request.parent_id)
        if request.needs or request.produces:
            yield from artifact_names.jobs_named(scheduler, (*request.needs, *request.produces))


def name_limits(plans: Iterable[Plan]) -> bool:
    """Whether one of these jobs may be under a limit."""
    return any(
        plan.request.limits or (plan.template is not None and plan.template.limits)
        for plan in plans
    )


class _Planner:
    """Makes the jobs of one submit; what they have in common is made once."""

    def __init__(self, scheduler: Scheduler, facts: Facts, origin: Origin) -> None:
        self.lanes: list[Lane] = []
        self._scheduler = scheduler
        self._facts = facts
        self._allocation = facts.allocation
        self._origin = origin
        self._earlier = facts.earlier
        self._places: dict[tuple[object, ...], tuple[int, str]] = {}

    def new_job(self, plan: Plan, after: tuple[After, ...]) -> NewJob:
        """The job of a plan, or the reason why there can be none."""
        request, template, origin = plan.request, plan.template, self._origin
        lane_id, job_type = self._lane(plan)
        body = params.encode(self._scheduler, job_type, plan.params)
        step = plan.number - self._allocation.number
        start = job_requests.start_time(request, self._facts.now)
        return NewJob(
            number=plan.number,
            job_id=plan.job_id,
            lane_id=lane_id,
            payload_id=0 if body == "{}" else self._allocation.payload_id + step,
            params=None if body == "{}" else body,
            refers=bool(plan.params.taken),
            priority=job_requests.priority_of(request, template),
            position=self._allocation.position + step * POSITION_GAP,
            terms=self._terms(plan, after),
            scheduled_for=moments.maybe_to_millis(start),
            delayed=request.delay_s is not None,
            chain=plan.number,
            template_id=template.template_id if template else None,
            schedule_id=origin.schedule_id,
            fire_time=moments.maybe_to_millis(origin.fire_time),
            parent=self._parent(request).chain if request.parent_id is not None else None,
            group_id=origin.group_id,
            group_place=step if origin.group_id else None,
            unique_key=request.unique_key,
            idempotency_key=request.idempotency_key,
            request_hash=request_hash(plan.asked) if request.idempotency_key else None,
            dedup_key=request.dedup_key,
        )

    def _lane(self, plan: Plan) -> tuple[int, str]:
        """The lane of a job and its job type; most jobs of a batch say the same of it."""
        request, template = plan.request, plan.template
        if request.requires or request.limits or request.constraints or _has_limits(template):
            return self._find_lane(plan)
        said = (template and template.template_id, request.limits is None, *_of_lane(request))
        if said not in self._places:
            self._places[said] = self._find_lane(plan)
        return self._places[said]

    def _find_lane(self, plan: Plan) -> tuple[int, str]:
        lane = job_requests.lane_of(plan.request, plan.template)
        command_permission.check_allowed(self._scheduler, lane)
        if any(map(limits.is_by_key, lane.limits)):
            lane = self._with_keys(plan, lane)
        self._check_limits(lane.limits)
        self.lanes.append(lane)
        return len(self.lanes) - 1, lane.job_type

    def _with_keys(self, plan: Plan, lane: Lane) -> Lane:
        """The lane with the limits that these params name; a default of the handler counts."""
        handler = self._scheduler.handlers.get(lane.job_type)
        given = {**(handler.defaults if handler else {}), **plan.params}
        named = {limits.filled_in(name, given): amount for name, amount in lane.limits.items()}
        for name in named:
            job_requests.check_name("limits", name)
        return msgspec.structs.replace(lane, limits=dict(sorted(named.items())))

    def _terms(self, plan: Plan, after: tuple[After, ...]) -> Terms:
        request, template = plan.request, plan.template
        if template is None and not request.after and not after and _of_terms(request) == _NO_TERMS:
            return codec.NO_TERMS
        retry_policy = template.retry_policy if template else codec.NO_TERMS.retry_policy
        terms = {name: getattr(request, name) for name in JobTerms.__struct_fields__}
        terms |= job_requests.shared_terms(request, template)
        for side in ("needs", "produces"):
            terms[side] = artifact_names.read(self._scheduler, self._earlier, side, terms[side])
        return Terms(
            **terms,
            after=after,
            after_groups=self._facts.after_groups.get(plan.number, ()),
            locks=job_requests.locks_of(request.locks, template),
            retry_policy=request.retry_policy or retry_policy,
            parent_id=None if request.parent_id is None else self._parent(request).job_id,
        )

    def _parent(self, request: JobRequest) -> Link:
        parent = self._earlier.find(str(request.parent_id))
        if parent is None:
            raise errors.UnknownReference("parent_id", "job", str(request.parent_id))
        return parent

    def _check_limits(self, named: Mapping[str, int]) -> None:
        for name in named:
            if name.endswith(limits.FAMILY):
                raise errors.InvalidRequest("limits", f"{name!r} is a family: name one of its keys")
            if not limits.is_known(name, self._facts.limits):
                raise errors.UnknownLimit(name)


def _has_limits(template: Template | None) -> bool:
    """Whether a template names limits, which may take a key from the params of each job."""
    return template is not None and bool(template.limits)


_of_lane = operator.attrgetter("job_type", "queue", "cost_units", "requires")
_of_terms = operator.attrgetter(
    *(name for name in Terms.__struct_fields__ if name not in ("after", "after_groups"))
)
_NO_TERMS = _of_terms(JobRequest())
"""What a request says of the terms that says nothing of them."""
