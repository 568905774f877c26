"""Plans become jobs: everything that a new job begins with."""

import operator
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from headway.domain import errors
from headway.domain.jobs import POSITION_GAP, After, JobTerms, Terms
from headway.domain.requests import job_requests
from headway.domain.requests.job_requests import JobRequest
from headway.domain.templates import Template
from headway.domain.values import moments
from headway.scheduler import command_permission
from headway.scheduler.admit.insert import NewJob
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import artifact_names, keys, params
from headway.scheduler.submit.named_jobs import EarlierJobs
from headway.scheduler.submit.references import Plan
from headway.storage import codec
from headway.storage.jobs import Allocation, LaneIds
from headway.storage.transaction import Transaction


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where jobs come from, beyond their requests."""

    schedule_id: str | None = None
    fire_time: datetime | None = None
    params: Mapping[str, Any] = msgspec.field(default_factory=dict)
    group_id: str | None = None
    sequential: bool = False


class Builder:
    """Makes the jobs of one submit; what they have in common is looked up once."""

    def __init__(
        self,
        scheduler: Scheduler,
        tx: Transaction,
        allocation: Allocation,
        origin: Origin,
        lane_ids: LaneIds,
        earlier: EarlierJobs,
    ) -> None:
        self._scheduler = scheduler
        self._tx = tx
        self._allocation = allocation
        self._origin = origin
        self._lane_ids = lane_ids
        self._earlier = earlier
        self._limits: set[str] | None = None
        self._lanes: dict[tuple[object, ...], tuple[int, str]] = {}

    def look_up(self, plans: Iterable[Plan]) -> None:
        """Read the jobs that these plans name as parents and by artifacts, all at once."""
        self._earlier.look_up(name for plan in plans for name in _jobs_named(plan.request))

    def new_job(self, plan: Plan, after: tuple[After, ...]) -> NewJob:
        """The job of a plan, or the reason why there can be none."""
        request, template, origin = plan.request, plan.template, self._origin
        lane_id, job_type = self._lane(request, template)
        body = self._params(job_type, plan)
        step = plan.number - self._allocation.number
        start = job_requests.start_time(request, self._tx.now)
        return NewJob(
            number=plan.number,
            job_id=plan.job_id,
            lane_id=lane_id,
            payload_id=0 if body == "{}" else self._allocation.payload_id + step,
            params=None if body == "{}" else body,
            priority=job_requests.priority_of(request, template),
            position=self._allocation.position + step * POSITION_GAP,
            terms=self._terms(request, template, after),
            scheduled_for=moments.maybe_to_millis(start),
            delayed=request.delay_s is not None,
            chain=plan.number,
            template_id=template.template_id if template else None,
            schedule_id=origin.schedule_id,
            fire_time=moments.maybe_to_millis(origin.fire_time),
            group_id=origin.group_id,
            group_place=step if origin.group_id else None,
            unique_key=request.unique_key,
            idempotency_key=request.idempotency_key,
            request_hash=keys.request_hash(plan.asked) if request.idempotency_key else None,
            dedup_key=request.dedup_key,
        )

    def _lane(self, request: JobRequest, template: Template | None) -> tuple[int, str]:
        """The lane of a job and its job type; most jobs of a batch say the same of it."""
        if request.requires or request.limits or request.constraints:
            return self._find_lane(request, template)
        said = (template and template.template_id, request.limits is None, *_of_lane(request))
        if said not in self._lanes:
            self._lanes[said] = self._find_lane(request, template)
        return self._lanes[said]

    def _find_lane(self, request: JobRequest, template: Template | None) -> tuple[int, str]:
        lane = job_requests.lane_of(request, template)
        command_permission.check_allowed(self._scheduler, lane)
        self._check_limits(lane.limits)
        return self._lane_ids.find(lane), lane.job_type

    def _params(self, job_type: str, plan: Plan) -> str:
        stored = {**(plan.template.params if plan.template else {}), **self._origin.params}
        given = plan.request.params
        return params.encode(
            self._scheduler, job_type, params.merged(stored, given) if stored else given
        )

    def _terms(
        self, request: JobRequest, template: Template | None, after: tuple[After, ...]
    ) -> Terms:
        if template is None and not after and _of_terms(request) == _NO_TERMS:
            return codec.NO_TERMS
        retry_policy = template.retry_policy if template else codec.NO_TERMS.retry_policy
        terms = {name: getattr(request, name) for name in JobTerms.__struct_fields__}
        terms |= job_requests.shared_terms(request, template)
        for side in ("needs", "produces"):
            terms[side] = artifact_names.read(self._scheduler, self._earlier, side, terms[side])
        return Terms(
            **terms,
            after=after,
            locks=job_requests.locks_of(request.locks, template),
            retry_policy=request.retry_policy or retry_policy,
            parent_id=self._parent(request),
        )

    def _parent(self, request: JobRequest) -> str | None:
        if request.parent_id is None:
            return None
        parent = self._earlier.find(str(request.parent_id))
        if parent is None:
            raise errors.UnknownReference("parent_id", "job", str(request.parent_id))
        return parent.job_id

    def _check_limits(self, named: Mapping[str, int]) -> None:
        if not named:
            return
        if self._limits is None:
            self._limits = {row["name"] for row in self._tx.rows("limits")}
        for name in named:
            if name not in self._limits:
                raise errors.UnknownLimit(name)


def _jobs_named(request: JobRequest) -> Iterator[str]:
    if request.parent_id is not None:
        yield str(request.parent_id)
    if request.needs or request.produces:
        yield from artifact_names.jobs_named((*request.needs, *request.produces))


_of_lane = operator.attrgetter("job_type", "queue", "cost_units", "requires")
_of_terms = operator.attrgetter(*(name for name in Terms.__struct_fields__ if name != "after"))
_NO_TERMS = _of_terms(JobRequest())
"""What a request says of the terms that says nothing of them."""
