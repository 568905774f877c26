"""Signals and journals over HTTP: who may send and read them, and what they show of secrets."""

from typing import Any

import pytest
from tests.servers import Server

TOLD = {"payload": {"by": "ann", "password": "hush-1", "inner": [{"api_key": "hush-2"}]}}


def claimed(server: Server) -> Any:
    """A program that a worker elsewhere has begun, and a signal that has come for it."""
    job = server.submit("elsewhere", queue="programs")
    answer = server.http.post(f"/api/jobs/{job['job_id']}/signals/go", json=TOLD)
    assert answer.status_code == 202
    assert answer.json() == {"job_id": job["job_id"], "name": "go"}
    body = {"worker_id": "w", "job_types": ["elsewhere"], "lease": True, "wait_s": 20}
    (started,) = server.post("/api/claims", **body)["jobs"]
    return {**job, "lease": started["lease"]["lease_id"]}


def test_a_journal_shows_no_secret_below_admin_and_all_of_it_to_its_worker(server: Server) -> None:
    job = claimed(server)
    lease = f"/api/leases/{job['lease']}"
    answer = server.post(f"{lease}/suspend", worker_id="w", signal="go")
    assert answer["step"]["result"] == TOLD["payload"]
    step = {"name": "log in", "index": 0, "result": {"token": "hush-3", "user": "ann"}}
    server.post(f"{lease}/steps", worker_id="w", **step)
    path = f"/api/jobs/{job['job_id']}/steps"
    for role in ("read", "submit"):
        token = server.post("/api/tokens", name=role, role=role)["token"]
        with server.client(token) as client:
            shown = client.get(path)
        assert "hush" not in shown.text
        assert [one["result"] for one in shown.json()["items"]] == [
            {"by": "ann", "password": "***", "inner": [{"api_key": "***"}]},
            {"token": "***", "user": "ann"},
        ]
    own = server.get(f"{lease}/steps")["items"]
    assert [one["result"] for one in own] == [TOLD["payload"], step["result"]]
    assert "hush" not in str(server.get(f"/api/jobs/{job['job_id']}/events"))
    server.post(f"{lease}/release", worker_id="w", status="SUCCEEDED")


@pytest.mark.parametrize(("role", "status"), [("read", 403), ("work", 403), ("submit", 202)])
def test_who_may_submit_may_send_signals_and_is_audited(
    server: Server, role: str, status: int
) -> None:
    job = server.submit("elsewhere", queue=role)
    token = server.post("/api/tokens", name=f"signals-{role}", role=role)["token"]
    with server.client(token) as client:
        path = f"/api/jobs/{job['job_id']}/signals/go"
        assert client.post(path, json=TOLD).status_code == status
    if status == 202:
        entry = server.get("/api/audit", limit=1)["items"][0]
        assert (entry["actor"], entry["action"]) == ("signals-submit", "signal_job")
        assert "hush" not in str(entry)
    server.post(f"/api/jobs/{job['job_id']}/cancel")


@pytest.mark.parametrize(
    "body",
    [
        {"until": "0001-01-01T00:00:00+14:00"},
        {"until": "9999-12-31T23:59:59-14:00"},
        {"until": "2030-01-01T00:00:00"},
        {"delay_s": -1},
        {"delay_s": 1e300},
        {"signal": "go", "timeout_s": -1},
        {"signal": "two\nlines"},
        {"signal": "go", "index": -1},
        {"signal": "go", "index": 10**9},
        {"signal": "go", "index": 10**30},
        {"delay_s": 1, "name": "\u0000"},
        {"children": []},
        {"children": [{"job_type": "a"}], "name": ""},
        {"children": [{"job_type": "a", "queue": "\u0000"}]},
        {"children": [{"job_type": "a", "params": {"deep": "\u0000"}}]},
        {},
    ],
)
def test_a_wait_that_cannot_be_meant_is_refused_and_the_run_goes_on(
    server: Server, body: dict[str, Any]
) -> None:
    job = claimed(server)
    lease = f"/api/leases/{job['lease']}"
    answer = server.http.post(f"{lease}/suspend", json={"worker_id": "w", **body})
    assert answer.status_code in (400, 422), answer.text
    assert server.job(job)["status"] == "RUNNING"
    server.post(f"{lease}/release", worker_id="w", status="SUCCEEDED")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "two\nlines", "index": 0, "result": 1}, 422),
        ({"name": "", "index": 0, "result": 1}, 422),
        ({"name": "a", "index": -1, "result": 1}, 422),
        ({"name": "a", "index": 10**30, "result": 1}, 422),
        ({"name": "a", "index": 10_000, "result": 1}, 422),
        ({"name": "a", "index": 0, "result": "x" * 1024 * 1024}, 413),
        ({"name": "a", "index": 0, "result": 1, "started_at": "0001-01-01T00:00:00+14:00"}, 422),
    ],
)
def test_a_step_that_cannot_be_meant_is_refused(
    server: Server, body: dict[str, Any], status: int
) -> None:
    job = claimed(server)
    lease = f"/api/leases/{job['lease']}"
    answer = server.http.post(f"{lease}/steps", json={"worker_id": "w", **body})
    assert answer.status_code == status, answer.text
    assert server.get(f"{lease}/steps")["items"] == []
    server.post(f"{lease}/release", worker_id="w", status="SUCCEEDED")
