"""The network is cut around each call of a worker: nothing is lost, nothing runs twice.

Leases last longer than a test may wait: none of these jobs could end by an expiry and a retry.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.cutting_proxy import PLACES, CuttingProxy, Place
from tests.servers import WAIT_S, WORK, Process, Server, Stage, wait_for

TTL_S = 10 * WAIT_S

APP = """
import shop
from shop import app, write


def make(place):
    @app.job(name=f"prepared {place}", prepare=lambda: write(f"prepare {place}"))
    def prepared(name: str) -> None:
        write(name)


for place in ("before the request", "before the answer", "in the answer"):
    make(place)
"""

HOUR = """
import datetime, time
from headway.clock import SystemClock
real_now, real_time = SystemClock.now, time.time
SystemClock.now = lambda self: real_now(self) + datetime.timedelta(seconds={shift})
time.time = lambda: real_time() + {shift}
"""


@pytest.fixture(scope="module")
def server(shared: Stage) -> Server:
    """A server whose leases last for longer than anybody here waits."""
    return shared.serve(app=None, lease_ttl_s=TTL_S)


@pytest.fixture(scope="module")
def proxy(server: Server) -> Iterator[CuttingProxy]:
    """The way from the workers to it."""
    made = CuttingProxy(server.url)
    yield made
    made.close()


@pytest.fixture(scope="module")
def worker(shared: Stage, server: Server, proxy: CuttingProxy) -> Process:
    """A worker behind the proxy."""
    made = shared.work(server, url=proxy.url, app="shop:app", capabilities=["far"])
    wait_for(lambda: len(server.get("/api/workers")["items"]) == 2, "the worker to come")
    return made


def check_done_once(stage: Stage, server: Server, job: Any, name: str) -> None:
    """The job ended well, in one run, and did its work once."""
    assert server.wait(job, "SUCCEEDED", "FAILED", "TIMEOUT")["status"] == "SUCCEEDED"
    (run,) = server.runs(job)
    assert run["status"] == "COMPLETED"
    assert stage.notes().count(name) == 1


@pytest.mark.parametrize("place", PLACES)
def test_a_claim_is_cut(
    shared: Stage, server: Server, proxy: CuttingProxy, worker: Process, place: Place
) -> None:
    cut = proxy.cut("/api/claims", place)
    if place == "before the request":
        # The claim that waits is not cut, the one after it is.
        check_done_once(shared, server, server.submit("note", "the one before"), "the one before")
        assert cut.done.wait(WAIT_S)
    job = server.submit("note", f"claim cut {place}")
    assert cut.done.wait(WAIT_S)
    check_done_once(shared, server, job, f"claim cut {place}")


@pytest.mark.parametrize("place", PLACES)
def test_a_heartbeat_is_cut(
    shared: Stage, server: Server, proxy: CuttingProxy, worker: Process, place: Place
) -> None:
    cut = proxy.cut("/api/leases/heartbeats", place)
    name = f"beat {place}".replace(" ", "-")
    job = server.submit("step", name)
    assert cut.done.wait(WAIT_S)
    wait_for(lambda: server.job(job)["progress"], "the progress to arrive after all")
    shared.let_go(name)
    check_done_once(shared, server, job, name)


@pytest.mark.parametrize("place", PLACES)
def test_a_release_is_cut(
    shared: Stage, server: Server, proxy: CuttingProxy, worker: Process, place: Place
) -> None:
    cut = proxy.cut("/api/leases/releases", place)
    name = f"release {place}".replace(" ", "-")
    job = server.submit("talk", name)  # runs with output are not reported with a claim
    shared.let_go(name)
    assert cut.done.wait(WAIT_S)
    server.wait(job, "SUCCEEDED")
    assert len(server.runs(job)) == 1


@pytest.mark.parametrize("place", PLACES)
def test_a_claim_that_takes_a_report_along_is_cut(
    shared: Stage, server: Server, proxy: CuttingProxy, worker: Process, place: Place
) -> None:
    name = f"along {place}".replace(" ", "-")
    job = server.submit("hold", name)
    shared.wait_for_note(name)
    follower = server.submit("note", f"after {name}")
    # The only slot is in use: the next claim comes with the report of this job.
    cut = proxy.cut("/api/claims", place)
    shared.let_go(name)
    assert cut.done.wait(WAIT_S)
    check_done_once(shared, server, job, name)
    result = server.get(f"/api/jobs/{job['job_id']}/result")["result_data"]
    assert result == f"{name} went"
    check_done_once(shared, server, follower, f"after {name}")


@pytest.mark.parametrize("place", PLACES)
def test_output_is_cut(
    shared: Stage, server: Server, proxy: CuttingProxy, worker: Process, place: Place
) -> None:
    cut = proxy.cut("/api/leases/logs", place)
    job = server.submit("say", params={"lines": 1000})
    assert cut.done.wait(WAIT_S)
    server.wait(job, "SUCCEEDED")
    (run,) = server.runs(job)
    said = server.http.get(f"/api/job-runs/{run['run_id']}/logs/stdout").text
    assert said == "".join(f"line {line}\n" for line in range(1000))


def test_a_request_for_a_lease_is_cut(stage: Stage) -> None:
    (stage.folder / "setup_shop.py").write_text(APP)
    server = stage.serve(app=None, lease_ttl_s=TTL_S, claim_ttl_s=TTL_S)
    proxy = CuttingProxy(server.url)
    stage.work(server, url=proxy.url, app="setup_shop:app")
    for place in PLACES:
        cut = proxy.cut("/api/leases", place)
        job = server.submit(f"prepared {place}", f"lease cut {place}")
        assert cut.done.wait(WAIT_S)
        check_done_once(stage, server, job, f"lease cut {place}")
        assert stage.notes().count(f"prepare {place}") == 1
    proxy.close()


def test_workers_whose_clocks_are_an_hour_wrong_keep_their_leases(stage: Stage) -> None:
    server = stage.serve(app=None, lease_ttl_s=1.5)
    settings = {"url": server.url, "token": server.token, "app": "shop:app"}
    workers = [
        Process(stage, HOUR.format(shift=shift) + WORK, {**settings, "data": f"worker {shift}"})
        for shift in (3600, -3600)
    ]
    jobs = {name: server.submit("hold", name) for name in ("a", "b")}
    for name, job in jobs.items():
        stage.wait_for_note(name)
        lease = f"/api/leases/{server.job(job)['run_id']}"
        wait_until_renewed_twice(server, lease)
    for name, job in jobs.items():
        stage.let_go(name)
        check_done_once(stage, server, job, name)
    assert {server.runs(job)[0]["worker_id"] for job in jobs.values()} == {
        one["worker_id"] for one in server.get("/api/workers")["items"] if not one["built_in"]
    }
    assert not any("is lost" in worker.log for worker in workers)


def wait_until_renewed_twice(server: Server, lease: str) -> None:
    """Two times to live from now it can only be there because it was renewed."""
    until = moment(server.get(lease)["expires_at"]) + timedelta(seconds=3)
    wait_for(lambda: moment(server.get(lease)["expires_at"]) > until, "the lease to be renewed")


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
