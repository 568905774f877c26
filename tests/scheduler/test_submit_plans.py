"""The plan of a submit, made without a store."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from headway.domain import errors
from headway.domain.jobs import After, Policy
from headway.domain.requests.job_requests import AfterRequest, BatchJobRequest
from headway.domain.values import plain_json
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import plan, references
from headway.scheduler.submit.batch_errors import Turns
from headway.scheduler.submit.named_jobs import EarlierJobs
from headway.scheduler.submit.plan import Facts, Origin, Planned
from headway.scheduler.submit.references import Plan, Submitted
from headway.storage.chains import Link
from headway.storage.jobs import Allocation

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NOTHING = cast(Any, None)
SCHEDULER = Scheduler(store=NOTHING, clock=NOTHING, workspace=NOTHING, data=Path("nowhere"))
EARLIER = EarlierJobs([Link(5, "five", 4)])
FACTS = Facts(
    now=NOW,
    allocation=Allocation(100, 1000, 10),
    earlier=EARLIER,
    limits=frozenset({"gpu"}),
)


def planned(
    wanted: Sequence[BatchJobRequest],
    found: Mapping[int, Submitted] | None = None,
    *,
    sequential: bool = False,
) -> Planned:
    """The plan of these requests, all of which are new but those that were found."""
    found = found or {}
    plans = {
        place: Plan(
            asked=request,
            request=request,
            params=plain_json.checked(request.params, "params", 1000),
            template=None,
            number=100 + place,
            job_id=f"new-{place}",
        )
        for place, request in enumerate(wanted)
        if place not in found
    }
    with Turns(wanted) as turns:
        named = references.read(plans, found, wanted, turns)
        after = references.resolve(named, plans, EARLIER, turns, sequential=sequential)
        plans = references.with_ids(plans, named, EARLIER, after)
        return plan.plan_jobs(SCHEDULER, plans, after, FACTS, Origin(), turns)


def request(ref: str | None = None, **fields: Any) -> BatchJobRequest:
    return BatchJobRequest(**{"job_type": "work", "ref": ref, **fields})


def test_jobs_take_the_allocated_numbers_and_places_in_order() -> None:
    jobs = planned([request(), request(params={"a": 1})]).jobs
    assert [(one.number, one.chain, one.job_id) for one in jobs] == [
        (100, 100, "new-0"),
        (101, 101, "new-1"),
    ]
    assert jobs[0].position == FACTS.allocation.position < jobs[1].position
    assert [one.params for one in jobs] == [None, '{"a":1}']
    assert jobs[0].payload_id == 0 != jobs[1].payload_id


def test_jobs_that_say_the_same_share_a_lane() -> None:
    found = planned([request(), request(), request(queue="other"), request(limits={"gpu": 1})])
    assert [found.lanes[one.lane_id].queue for one in found.jobs] == [
        "default",
        "default",
        "other",
        "default",
    ]
    assert len(found.lanes) == 3


@pytest.mark.parametrize(
    ("after", "wanted"),
    [
        (["ref:a"], After(job="new-0", number=100, policy=Policy.SUCCESS)),
        (["5"], After(job="five", number=4, policy=Policy.SUCCESS)),
        (["FIVE"], After(job="five", number=4, policy=Policy.SUCCESS)),
        (
            [AfterRequest(job="5", policy=Policy.FINISHED)],
            After(job="five", number=4, policy=Policy.FINISHED),
        ),
        (["5", "five"], After(job="five", number=4, policy=Policy.SUCCESS)),
    ],
)
def test_refs_numbers_and_ids_become_jobs(after: list[Any], wanted: After) -> None:
    jobs = planned([request("a"), request("b", after=after)]).jobs
    assert jobs[1].terms.after == (wanted,)


def test_a_ref_may_name_a_job_that_a_key_found() -> None:
    found = {0: Submitted(number=7, job_id="seven", chain=6, created=False)}
    (job,) = planned([request("a"), request("b", after=["ref:a"])], found).jobs
    assert job.terms.after == (After(job="seven", number=6, policy=Policy.SUCCESS),)


def test_members_of_a_sequential_group_follow_each_other() -> None:
    jobs = planned([request(), request()], sequential=True).jobs
    assert jobs[0].terms.after == ()
    assert jobs[1].terms.after == (After(job="new-0", number=100, policy=Policy.FINISHED),)


@pytest.mark.parametrize(
    ("second", "error"),
    [
        (request("b", after=["ref:c"]), errors.UnknownReference),
        (request("b", after=["6"]), errors.UnknownReference),
        (request("b", after=[" "]), errors.InvalidRequest),
        (request("b", needs=["job:6"]), errors.UnknownReference),
        (request("b", parent_id="6"), errors.UnknownReference),
        (request("b", limits={"cpu": 1}), errors.UnknownLimit),
        (request("b", needs=["?"]), errors.InvalidArtifact),
    ],
)
def test_an_error_names_the_job_of_the_batch(
    second: BatchJobRequest, error: type[errors.HeadwayError]
) -> None:
    with pytest.raises(error) as refused:
        planned([request("a"), second])
    (field,) = refused.value.fields
    assert field.startswith("jobs[1]")
    assert refused.value.detail.startswith("jobs[1] (ref 'b'): ")


@pytest.mark.parametrize(
    "wanted",
    [
        [request("a", after=["ref:b"]), request("b", after=["ref:a"])],
        [
            request("a", needs=["custom:x:1"]),
            request("b", after=["ref:a"], produces=["custom:x:1"]),
        ],
    ],
)
def test_jobs_that_wait_for_each_other_are_refused(wanted: list[BatchJobRequest]) -> None:
    with pytest.raises(errors.DependencyCycle):
        planned(wanted)


def test_a_job_named_by_an_artifact_goes_by_its_id() -> None:
    (job,) = planned([request(needs=["job:5"])]).jobs
    assert job.terms.needs == ("job:five",)


def test_everything_that_a_plan_looks_up_is_gathered_before() -> None:
    one = msgspec.structs.replace(request(needs=["job:5", "?"]), parent_id="8")
    params = plain_json.checked(one.params, "params", 1000)
    plans = [Plan(asked=one, request=one, params=params, template=None, number=1, job_id="x")]
    assert list(plan.jobs_named(SCHEDULER, plans)) == ["8", "5"]
