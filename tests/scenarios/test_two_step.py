"""A worker written by somebody else, with nothing but HTTP."""

from typing import Any

from tests.servers import Server, wait_for


def claim(server: Server, job_type: str, **fields: Any) -> Any:
    """Claim a job of this type."""
    (claimed,) = server.post("/api/claims", worker_id="w1", job_types=[job_type], **fields)["jobs"]
    return claimed


def test_a_worker_claims_prepares_leases_beats_and_releases(server: Server) -> None:
    job = server.submit("render", params={"scene": 7}, requires=["gpu"])
    nothing = server.http.post("/api/claims", json={"worker_id": "w0", "job_types": ["render"]})
    assert nothing.status_code == 204

    claimed = claim(server, "render", capabilities=["gpu"])
    assert claimed["job"]["params"] == {"scene": 7}
    assert (claimed["lease"], claimed["run_id"]) == (None, None)
    assert server.job(job)["status"] == "CLAIMED"
    server.post(f"/api/jobs/{job['job_id']}/preparing", worker_id="w1")
    assert server.job(job)["status"] == "PREPARING"

    granted = server.post("/api/leases", job_id=job["job_id"], worker_id="w1", ttl_s=30)
    assert granted["approved"]
    lease = f"/api/leases/{granted['lease']['lease_id']}"
    assert server.get(lease)["state"] == "ACTIVE"
    beat = server.post(f"{lease}/heartbeat", worker_id="w1", progress=0.5, message="half")
    assert not beat["cancel_requested"]
    assert server.job(job)["progress"]["fraction"] == 0.5

    body = {"worker_id": "w1", "status": "SUCCEEDED", "result": {"frames": 24}}
    for _ in range(2):
        assert server.post(f"{lease}/release", **body)["job_status"] == "SUCCEEDED"
    assert server.get(lease)["state"] == "RELEASED"
    assert server.get(f"/api/jobs/{job['job_id']}/result")["result_data"] == {"frames": 24}
    assert len(server.runs(job)) == 1


def test_a_denied_lease_says_when_to_come_back_and_keeps_the_place(server: Server) -> None:
    server.http.put("/api/limits/type:heavy", json={"size": 1})
    jobs = [server.submit("heavy"), server.submit("heavy")]
    for _ in jobs:
        claim(server, "heavy")
    first = server.post("/api/leases", job_id=jobs[0]["job_id"], worker_id="w1")
    denied = server.post("/api/leases", job_id=jobs[1]["job_id"], worker_id="w1")
    assert (first["approved"], denied["approved"]) == (True, False)
    assert denied["retry_after_ms"] > 0
    assert "type:heavy" in denied["reason"]
    assert server.job(jobs[1])["status"] == "LEASE_PENDING"

    release = f"/api/leases/{first['lease']['lease_id']}/release"
    server.post(release, worker_id="w1", status="COMPLETED")
    granted = server.post("/api/leases", job_id=jobs[1]["job_id"], worker_id="w1")
    assert granted["approved"]
    release = f"/api/leases/{granted['lease']['lease_id']}/release"
    server.post(release, worker_id="w1", status="SKIPPED", error="nothing to do")
    assert server.job(jobs[1])["status"] == "SKIPPED"


def test_a_worker_is_told_of_a_cancel_at_its_next_heartbeat(server: Server) -> None:
    job = server.submit("slow")
    lease = claim(server, "slow", lease=True)["lease"]["lease_id"]
    server.post(f"/api/jobs/{job['job_id']}/cancel", force=True)
    beat = server.post(f"/api/leases/{lease}/heartbeat", worker_id="w1")
    assert beat["cancel_requested"]
    assert beat["force"]
    done = server.post(f"/api/leases/{lease}/release", worker_id="w1", status="CANCELLED")
    assert done["job_status"] == "CANCELLED"


def test_batches_of_heartbeats_and_releases_are_answered_one_by_one(server: Server) -> None:
    jobs = [server.submit("many") for _ in range(3)]
    got = server.post("/api/claims", worker_id="w1", job_types=["many"], max_jobs=3, lease=True)
    leases = [one["lease"]["lease_id"] for one in got["jobs"]]
    items = [{"lease_id": lease} for lease in [*leases, "unknown"]]
    beats = server.post("/api/leases/heartbeats", worker_id="w1", items=items)["items"]
    assert [one["ok"] for one in beats] == [True, True, True, False]
    assert beats[3]["code"] == "not_found"
    items = [{"lease_id": lease, "status": "COMPLETED"} for lease in leases]
    ended = server.post("/api/leases/releases", worker_id="w1", items=items)["items"]
    assert [one["job_status"] for one in ended] == ["SUCCEEDED"] * 3
    assert {server.job(job)["status"] for job in jobs} == {"SUCCEEDED"}


def test_a_claimed_job_can_be_cancelled_and_is_then_out_of_reach(server: Server) -> None:
    job = server.submit("forgotten")
    claim(server, "forgotten")
    assert server.job(job)["claim_expires_at"] is not None
    foreign = server.http.post("/api/leases", json={"job_id": job["job_id"], "worker_id": "w2"})
    assert (foreign.status_code, foreign.json()["code"]) == (404, "not_claimed")
    cancelled = server.post(f"/api/jobs/{job['job_id']}/cancel")
    assert cancelled["status"] == "CANCELLED"
    late = server.http.post("/api/leases", json={"job_id": job["job_id"], "worker_id": "w1"})
    assert late.status_code == 409
    workers = "/api/workers"
    wait_for(lambda: len(server.get(workers)["items"]) >= 2, "the workers to be listed")
