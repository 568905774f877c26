"""The hash of a request stays what it was when requests gain fields."""

from typing import Any

import msgspec
import pytest

from headway.domain.jobs import PinnedHead, RetryPolicy
from headway.domain.requests.job_requests import (
    AfterRequest,
    BatchJobRequest,
    JobRequest,
    LockRequest,
)
from headway.domain.requests.request_hash import request_hash

PLAIN = JobRequest(job_type="build", params={"b": 1, "a": [True, None]}, idempotency_key="k")
FULL = JobRequest(
    job_type="build",
    params={"x": 1},
    after=(7, "a-job", AfterRequest(job="another", policy="finished")),  # type: ignore[arg-type]
    locks=("db", LockRequest(key="disk")),
    retry_policy=RetryPolicy(max_attempts=5),
    pinned_head=PinnedHead(branch="main", commit="abcdef0"),
    tags=("t",),
    delay_s=1.5,
)

GrownRequest = msgspec.defstruct(
    "GrownRequest",
    [("color", str | None, None), ("sizes", list[int], msgspec.field(default_factory=list))],
    bases=(JobRequest,),
    frozen=True,
)
GrownPolicy = msgspec.defstruct(
    "GrownPolicy", [("limit", int, 0)], bases=(RetryPolicy,), frozen=True, kw_only=True
)


@pytest.mark.parametrize(
    ("request_", "digits"),
    [
        (JobRequest(), "72f8007396d5a46f2e304b85e70d1b99fd18817864312833dee66babd5184d06"),
        (PLAIN, "57b7a07e6e642b848d23761005a3e3f80927ff367c95e62c29dabbaeac3e0e53"),
        (FULL, "aec543d41d3722db179a8258901a98437697093c82770fdd0c84a1d200d14f40"),
    ],
)
def test_a_hash_is_the_one_that_existing_stores_have(request_: JobRequest, digits: str) -> None:
    assert request_hash(request_) == digits


@pytest.mark.parametrize("request_", [PLAIN, FULL])
def test_a_new_field_that_is_not_set_leaves_the_hash_as_it_was(request_: JobRequest) -> None:
    assert request_hash(_grown(request_)) == request_hash(request_)


def test_a_new_field_that_is_set_counts() -> None:
    red, blue = (request_hash(_grown(PLAIN, color=color)) for color in ("red", "blue"))
    sized = request_hash(_grown(PLAIN, sizes=[1]))
    assert len({red, blue, sized, request_hash(PLAIN)}) == 4


def test_a_new_field_of_a_part_counts_only_if_it_is_set() -> None:
    def with_policy(**given: Any) -> str:
        policy = GrownPolicy(max_attempts=5, **given)
        return request_hash(msgspec.structs.replace(FULL, retry_policy=policy))

    assert with_policy() == request_hash(FULL)
    assert with_policy(limit=3) != request_hash(FULL)


def test_every_field_but_the_key_and_the_parent_counts() -> None:
    asked = request_hash(PLAIN)
    assert request_hash(msgspec.structs.replace(PLAIN, idempotency_key="other")) == asked
    assert request_hash(msgspec.structs.replace(PLAIN, parent_id=7)) == asked
    for changed in (
        {"queue": "default"},
        {"timeout_s": 1.0},
        {"after": (1,)},
        {"locks": ()},
        {"unique_key": "u"},
    ):
        assert request_hash(msgspec.structs.replace(PLAIN, **changed)) != asked, changed


def test_a_job_of_a_batch_asks_for_the_same_as_one_alone() -> None:
    in_batch = BatchJobRequest(
        job_type=PLAIN.job_type, params=PLAIN.params, idempotency_key="k", ref="first"
    )
    assert request_hash(in_batch) == request_hash(PLAIN)


def _grown(request: JobRequest, **given: Any) -> JobRequest:
    """The same request, made of the struct that has gained fields."""
    fields = {name: getattr(request, name) for name in JobRequest.__struct_fields__}
    grown = GrownRequest(**fields, **given)
    assert isinstance(grown, JobRequest)
    return grown
