"""A submit whose connection is cut is repeated, and makes its jobs once."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cutting_proxy import PLACES, CuttingProxy, Place
from tests.servers import Server

from headway import protocol
from headway.client.client import Client
from headway.client.over_http import HttpTransport
from headway.domain.requests.job_requests import BatchJobRequest, JobRequest


@pytest.fixture
def proxy(server: Server) -> Iterator[CuttingProxy]:
    """A way to the server that can be cut."""
    made = CuttingProxy(server.url)
    yield made
    made.close()


@pytest.fixture
def client(server: Server, proxy: CuttingProxy) -> Iterator[Client]:
    """A client behind it."""
    made = Client(HttpTransport(proxy.url, server.token))
    yield made
    made.close()


def jobs_of(server: Server, job_type: str) -> list[Any]:
    """What was made, oldest first."""
    return [one["number"] for one in server.get("/api/jobs", job_type=job_type)["items"]][::-1]


@pytest.mark.parametrize("place", PLACES)
def test_a_job_is_made_once(
    server: Server, client: Client, proxy: CuttingProxy, place: Place
) -> None:
    cut = proxy.cut("/api/jobs", place)
    job = client.send(protocol.jobs.create_job, body=JobRequest(job_type=f"waits {place}"))
    assert cut.done.is_set()
    assert jobs_of(server, f"waits {place}") == [job.number]


@pytest.mark.parametrize("place", PLACES)
def test_a_job_is_made_once_without_blocking(
    server: Server, client: Client, proxy: CuttingProxy, place: Place
) -> None:
    cut = proxy.cut("/api/jobs", place)
    job = asyncio.run(
        client.send_async(protocol.jobs.create_job, body=JobRequest(job_type=f"async {place}"))
    )
    assert cut.done.is_set()
    assert jobs_of(server, f"async {place}") == [job.number]


@pytest.mark.parametrize("place", PLACES)
def test_a_batch_is_made_once(
    server: Server, client: Client, proxy: CuttingProxy, place: Place
) -> None:
    kind = f"batch {place}"
    first = BatchJobRequest(job_type=kind, ref="a")
    second = BatchJobRequest(job_type=kind, ref="b", after=("ref:a",))
    cut = proxy.cut("/api/jobs/batch", place)
    made = client.send(protocol.jobs.create_jobs, body=protocol.jobs.Batch(jobs=[first, second]))
    assert cut.done.is_set()
    assert jobs_of(server, kind) == [one.number for one in made.jobs]


def test_the_same_submit_twice_is_two_jobs(server: Server, client: Client) -> None:
    request = JobRequest(job_type="two")
    first, second = (client.send(protocol.jobs.create_job, body=request) for _ in range(2))
    assert first.number != second.number
