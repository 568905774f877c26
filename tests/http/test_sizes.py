"""A body is as large as what it carries may be, and no larger."""

import msgspec
import pytest
from tests.servers import Server, Stage

from headway import protocol
from headway.client.over_http import _with_keys
from headway.domain.leases import LONGEST_MESSAGE
from headway.domain.requests.job_requests import BatchJobRequest
from headway.http.body_sizes import BATCHES, ROOM_FOR_THE_REST, SIZES
from headway.operations.work.leases import MOST_ITEMS
from headway.protocol.jobs import Batch
from headway.protocol.work_shapes import HeartbeatItem, Heartbeats
from headway.settings import Settings

LARGEST_BODY = 1000
LARGEST_BATCH = 100_000
ONE = LARGEST_BODY + ROOM_FOR_THE_REST
LIMITS = {
    "/api/jobs": ONE,
    "/api/direct/note": ONE,
    "/api/leases/some/heartbeat": ONE,
    "/api/leases/some/release": ONE,
    "/api/leases/some/logs": SIZES["/api/leases/{id}/logs"],
    "/api/leases/logs": SIZES["/api/leases/logs"],
    "/api/leases/heartbeats": SIZES["/api/leases/heartbeats"],
    **dict.fromkeys(BATCHES, LARGEST_BATCH),
}


@pytest.fixture(scope="module")
def small(shared: Stage) -> Server:
    """A server that takes little."""
    return shared.serve(data="small", largest_body=LARGEST_BODY, largest_batch=LARGEST_BATCH)


@pytest.mark.parametrize("path", LIMITS)
def test_what_is_larger_than_the_setting_is_refused(small: Server, path: str) -> None:
    fits = small.http.post(path, content=b" " * LIMITS[path])
    assert fits.status_code == 400, fits.text
    refused = small.http.post(path, content=b" " * (LIMITS[path] + 1))
    assert (refused.status_code, refused.json()["code"]) == (413, "too_large")


def test_a_batch_of_a_hundred_thousand_jobs_with_ten_references_each_fits() -> None:
    jobs = [
        BatchJobRequest(
            ref=f"{number:036}",
            job_type="transform",
            after=tuple(f"ref:{number + other:036}" for other in range(10)),
        )
        for number in range(1000)
    ]
    sent, has_keys = _with_keys(protocol.jobs.Batch(jobs=jobs))
    assert has_keys
    assert isinstance(sent, Batch)
    assert 100 * len(msgspec.json.encode(sent)) < Settings().largest_batch


def test_as_many_heartbeats_as_one_call_may_have_fit_with_the_longest_messages() -> None:
    beat = HeartbeatItem(lease_id="l" * 36, progress=1 / 3, message="\1" * LONGEST_MESSAGE)
    beats = Heartbeats(worker_id="w" * 200, items=[beat] * MOST_ITEMS)
    assert len(msgspec.json.encode(beats)) < SIZES["/api/leases/heartbeats"]
