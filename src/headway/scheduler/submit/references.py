"""What the jobs of a submit come after: refs, ids and numbers become jobs; cycles are refused."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from headway.domain import errors, graph, taken
from headway.domain.jobs import After, Policy
from headway.domain.manage.templates import Template
from headway.domain.requests import job_requests
from headway.domain.requests.after_requests import REF, Target, targets
from headway.domain.requests.job_requests import BatchJobRequest, JobRequest
from headway.domain.values.plain_json import Checked
from headway.scheduler.submit.batch_errors import Turns
from headway.scheduler.submit.named_jobs import EarlierJobs
from headway.storage.new_jobs import NewJob


class Submitted(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A job's number, and whether this submit made it."""

    number: int
    job_id: str
    chain: int = 0
    created: bool = True
    deduplicated: bool = False


class Plan(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A job to be: what was asked, with what was not said filled in, and the identity it got."""

    asked: JobRequest
    request: JobRequest
    params: Checked
    """Those of its template and of its request together."""
    template: Template | None
    number: int
    job_id: str


Targets = Mapping[int, Sequence[Target]]


class Named(msgspec.Struct, frozen=True):
    """What the jobs of a submit come after, as they name it, and the jobs of its refs."""

    targets: Targets
    refs: Mapping[str, tuple[str, int]]

    def earlier(self) -> Iterator[str]:
        """The names of jobs from before."""
        for some in self.targets.values():
            yield from (one.name for one in some if not one.name.startswith(REF))


def read(
    plans: Mapping[int, Plan],
    found: Mapping[int, Submitted],
    wanted: Sequence[JobRequest],
    turns: Turns,
) -> Named:
    """What these jobs come after, by the names in their requests."""
    named = {
        plan.number: targets(plan.request, plan.params.taken) for plan in turns.each(plans.items())
    }
    return Named(named, _refs(wanted, plans, found, turns))


def resolve(
    named_jobs: Named,
    plans: Mapping[int, Plan],
    earlier_jobs: EarlierJobs,
    turns: Turns,
    *,
    sequential: bool,
) -> dict[int, tuple[After, ...]]:
    """The dependencies of each job, with refs and numbers turned into jobs."""
    targets, refs = named_jobs.targets, named_jobs.refs
    earlier = _earlier(earlier_jobs, refs, turns.each(zip(plans, targets.values(), strict=True)))
    after: dict[int, tuple[After, ...]] = {}
    previous: Plan | None = None
    for plan in plans.values():
        named: dict[tuple[int, Policy], After] = {}
        if sequential and previous is not None:
            named[previous.number, Policy.FINISHED] = After(
                job=previous.job_id, number=previous.number, policy=Policy.FINISHED
            )
        for name, policy, _ in targets[plan.number]:
            job_id, number = refs[name] if name in refs else earlier[name]
            named.setdefault((number, policy), After(job=job_id, number=number, policy=policy))
        after[plan.number] = tuple(named.values())
        previous = plan
    return after


def _refs(
    wanted: Sequence[JobRequest],
    plans: Mapping[int, Plan],
    found: Mapping[int, Submitted],
    turns: Turns,
) -> dict[str, tuple[str, int]]:
    refs: dict[str, tuple[str, int]] = {}
    for place, request in turns.each(enumerate(enumerate(wanted))):
        if isinstance(request, BatchJobRequest) and request.ref is not None:
            job_requests.check_name("ref", request.ref)
            if REF + request.ref in refs:
                raise errors.InvalidRequest("ref", "another job of the batch has the same ref")
            job = found.get(place) or plans[place]
            chain = job.chain if isinstance(job, Submitted) and job.chain else job.number
            refs[REF + request.ref] = (job.job_id, chain)
    return refs


def _earlier(
    earlier_jobs: EarlierJobs,
    refs: Mapping[str, tuple[str, int]],
    targets: Iterable[Sequence[Target]],
) -> dict[str, tuple[str, int]]:
    """Jobs from before this submit that it names, by the name used, each with its chain."""
    found: dict[str, tuple[str, int]] = {}
    for name, _, field in (target for some in targets for target in some):
        if name in refs or name in found:
            continue
        if name.startswith(REF):
            raise errors.UnknownReference(
                field, "job of this batch with ref", repr(name[len(REF) :])
            )
        job = earlier_jobs.find(name)
        if job is None:
            raise errors.UnknownReference(field, "job", name)
        found[name] = (job.job_id, job.chain)
    return found


def with_ids(
    plans: Mapping[int, Plan],
    named_jobs: Named,
    earlier: EarlierJobs,
    after: Mapping[int, Sequence[After]],
) -> dict[int, Plan]:
    """The plans, in whose params the jobs whose results they take have their ids."""
    changed = {
        place: msgspec.structs.replace(
            plan, params=_with_ids(plan.params, named_jobs.refs, earlier, after[plan.number])
        )
        for place, plan in plans.items()
        if plan.params.taken
    }
    return {**plans, **changed}


def _with_ids(
    params: Checked,
    refs: Mapping[str, tuple[str, int]],
    earlier: EarlierJobs,
    after: Sequence[After],
) -> Checked:
    ids = {one.number: one.job for one in after if one.policy is Policy.SUCCESS}
    named = []
    for one in params.taken:
        job = refs[one.job][1] if one.job in refs else earlier.chain(one.job)
        named.append((one, taken.written(ids[job], one.path)))
    return Checked(taken.put(params, named), taken=params.taken)


def among(params: Checked, earlier: EarlierJobs, after: Sequence[After]) -> Checked:
    """New params of a job, with ids: they take results only of jobs that it comes after already."""
    awaited = {one.number for one in after if one.policy is Policy.SUCCESS}
    for one in params.taken:
        job = earlier.find(one.job)
        if job is None or job.chain not in awaited:
            problem = f"the job does not come after the success of job {one.job}"
            raise errors.InvalidRequest(one.field, problem)
    return _with_ids(params, {}, earlier, after) if params.taken else params


def refuse_cycles(new_jobs: Sequence[NewJob], plans: Mapping[int, Plan]) -> None:
    """Jobs of one batch must not wait for each other, by `after` or by artifacts."""
    makers: dict[str, list[int]] = {}
    for job in new_jobs:
        for artifact in job.terms.produces:
            makers.setdefault(artifact, []).append(job.number)
    edges = {
        job.number: [
            *(one.number for one in job.terms.after),
            *(maker for need in job.terms.needs for maker in makers.get(need, ())),
        ]
        for job in new_jobs
        if job.terms.after or job.terms.needs
    }
    if cycle := graph.find_cycle(edges):
        names = {plan.number: _name(place, plan) for place, plan in plans.items()}
        raise errors.DependencyCycle([names.get(number, str(number)) for number in cycle])


def _name(place: int, plan: Plan) -> str:
    ref = plan.request.ref if isinstance(plan.request, BatchJobRequest) else None
    return ref or f"jobs[{place}]"
