"""A `work` token submits children of the jobs that its workers run, and learns of no others."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.servers import Server, wait_for

WORKER = "nursery"
REFUSED = (403, "forbidden")


@pytest.fixture(scope="module")
def worker(server: Server) -> Iterator[httpx.Client]:
    """The token of the worker that runs the parent."""
    with work_client(server) as client:
        yield client


@pytest.fixture(scope="module")
def stranger(server: Server) -> Iterator[httpx.Client]:
    """Another `work` token."""
    with work_client(server) as client:
        yield client


def work_client(server: Server) -> httpx.Client:
    return server.client(server.post("/api/tokens", name="worker", role="work")["token"])


@pytest.fixture
def parent(server: Server, worker: httpx.Client) -> Any:
    """A job that the worker runs."""
    server.submit("parent")
    return claim(worker)


def claim(worker: httpx.Client) -> Any:
    body = {"worker_id": WORKER, "job_types": ["parent"], "lease": True}
    answer = worker.post("/api/claims", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["jobs"][0]


def end(worker: httpx.Client, claimed: Any, status: str = "COMPLETED") -> None:
    path = f"/api/leases/{claimed['lease']['lease_id']}/release"
    worker.post(path, json={"worker_id": WORKER, "status": status}).raise_for_status()


def child(parent: Any, **fields: Any) -> dict[str, Any]:
    return {"job_type": "child", "parent_id": parent["job"]["job_id"], **fields}


def refusal(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code")


def test_a_child_is_submitted_seen_and_cancelled_with_the_token_of_the_lease(
    server: Server, worker: httpx.Client, parent: Any
) -> None:
    made = worker.post("/api/jobs", json=child(parent))
    assert made.status_code == 201, made.text
    assert made.json()["parent_id"] == parent["job"]["job_id"]
    path = f"/api/jobs/{made.json()['job_id']}"
    assert worker.get(path).json()["status"] == "QUEUED"
    assert refusal(worker.get(f"{path}/result")) == (404, "not_finished")
    assert worker.post(f"{path}/cancel", json={}).json()["status"] == "CANCELLED"
    assert worker.get(f"{path}/result").json()["status"] == "CANCELLED"
    batch = {"jobs": [child(parent, ref="a"), child(parent, after=["ref:a"])]}
    assert worker.post("/api/jobs/batch", json=batch).status_code == 201
    assert worker.get(f"/api/jobs/{parent['job']['job_id']}").status_code == 200
    end(worker, parent)
    assert refusal(worker.get(path)) == REFUSED
    assert refusal(worker.post("/api/jobs", json=child(parent))) == REFUSED


def test_without_a_parent_of_its_own_it_submits_nothing(
    server: Server, worker: httpx.Client, stranger: httpx.Client, parent: Any
) -> None:
    waiting = server.submit("parent", delay_s=3600)
    assert refusal(worker.post("/api/jobs", json={"job_type": "child"})) == REFUSED
    for client, name in (
        (stranger, parent["job"]["job_id"]),
        (worker, waiting["job_id"]),
        (worker, 10**9),
    ):
        body = {"job_type": "child", "parent_id": name}
        assert refusal(client.post("/api/jobs", json=body)) == REFUSED
        assert refusal(client.post("/api/jobs/batch", json={"jobs": [body]})) == REFUSED
    mixed = {"jobs": [child(parent), {"job_type": "child"}]}
    assert refusal(worker.post("/api/jobs/batch", json=mixed)) == REFUSED
    command = child(parent, job_type="command", params={"argv": ["true"]})
    assert refusal(worker.post("/api/jobs", json=command)) == REFUSED


def test_it_learns_of_no_other_job(server: Server, worker: httpx.Client, parent: Any) -> None:
    other = server.submit("other", unique_key="theirs", idempotency_key="theirs", delay_s=3600)
    for number in (other["number"], 10**9):
        said = set()
        for fields in (
            {"after": [number]},
            {"after": [{"job": number, "policy": "finished"}]},
            {"params": {"x": [{"$result": number}]}},
            {"needs": [f"job:{number}"]},
            {"needs": [f"ask_save_patch:{number}"]},
        ):
            answer = worker.post("/api/jobs", json=child(parent, **fields))
            said.add((*refusal(answer), answer.json()["detail"].replace(str(number), "X")))
        assert said == {(*REFUSED, "job X is no child of a job that this token runs")}
        for method, path in (("GET", ""), ("GET", "/result"), ("POST", "/cancel")):
            answer = worker.request(method, f"/api/jobs/{number}{path}")
            assert refusal(answer) == REFUSED
    for key in ("unique_key", "idempotency_key"):
        assert refusal(worker.post("/api/jobs", json=child(parent, **{key: "theirs"}))) == REFUSED


def test_a_retry_of_the_parent_finds_the_child_by_its_key(
    server: Server, worker: httpx.Client
) -> None:
    server.submit("parent", retry_policy={"max_attempts": 1, "base_delay_s": 0})
    first = claim(worker)
    made = worker.post("/api/jobs", json=child(first, idempotency_key="once")).json()
    end(worker, first, "FAILED")
    wait_for(lambda: server.get(f"/api/jobs/{first['job']['job_id']}")["retried_by"], "a retry")
    again = claim(worker)
    assert again["job"]["retry_of"] == first["job"]["job_id"]
    found = worker.post("/api/jobs", json=child(again, idempotency_key="once"))
    assert (found.status_code, found.json()["job_id"]) == (200, made["job_id"])


def test_an_unknown_parent_is_refused(server: Server) -> None:
    answer = server.http.post("/api/jobs", json={"job_type": "child", "parent_id": 10**9})
    assert refusal(answer) == (422, "unknown_reference")


def test_a_job_without_a_parent_is_refused_before_anything_else_is_said_of_it(
    worker: httpx.Client,
) -> None:
    for body in ({}, {"job_type": " bad "}, {"template": "unknown"}):
        assert refusal(worker.post("/api/jobs", json=body)) == REFUSED
        assert refusal(worker.post("/api/jobs/batch", json={"jobs": [body]})) == REFUSED
