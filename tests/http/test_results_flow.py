"""Results that flow from job to job, over HTTP."""

from typing import Any

from tests.servers import Server


def claim(server: Server, job_type: str, **fields: Any) -> Any:
    """Claim a job of this type, without the built-in worker."""
    body = {"worker_id": "w1", "job_types": [job_type], "lease": True, **fields}
    (claimed,) = server.post("/api/claims", **body)["jobs"]
    return claimed


def end(server: Server, claimed: Any, **outcome: Any) -> None:
    body = {"worker_id": "w1", "status": "COMPLETED", **outcome}
    server.post(f"/api/leases/{claimed['lease']['lease_id']}/release", **body)


def test_a_batch_hands_results_on_to_workers_and_commands(server: Server) -> None:
    argv = [
        "echo",
        {"$result": "ref:make", "path": "n"},
        {"$result": "ref:make", "path": "words.1"},
    ]
    jobs = [
        {"ref": "make", "job_type": "make_it"},
        {"job_type": "use_it", "params": {"all": {"$result": "ref:make"}}},
        {"job_type": "use_it", "params": {"all": [{"$result": "ref:make", "path": "n"}]}},
        {"job_type": "command", "params": {"argv": argv}},
    ]
    made = server.post("/api/jobs/batch", jobs=jobs)["jobs"]
    result = {"n": 7, "words": ["a", "b"]}
    end(server, claim(server, "make_it"), result=result)
    whole, brief = claim(server, "use_it"), claim(server, "use_it", brief=True)
    assert whole["job"]["params"] == {"all": result}
    assert brief["job"]["params"] == {"all": [7]}
    stored = {"all": {"$result": made[0]["job_id"]}}
    assert server.job(made[1])["params"] == stored
    (run,) = server.runs(made[1])
    assert run["params_snapshot"] == {"all": result}
    end(server, whole)
    assert server.wait(made[3], "SUCCEEDED", "FAILED")["status"] == "SUCCEEDED"
    (run,) = server.runs(made[3])
    assert server.http.get(f"/api/job-runs/{run['run_id']}/logs/stdout").text == "7 b\n"


def test_what_makes_no_sense_is_refused(server: Server) -> None:
    for params, code, field in (
        ({"x": {"$result": 10**9}}, "unknown_reference", "params.x"),
        ({"x": [{"$result": "ref:a"}]}, "unknown_reference", "params.x[0]"),
        ({"x": {"$result": ["a"]}}, "invalid_request", "params.x.$result"),
        ({"x": {"$result": 1, "else": 2}}, "invalid_request", "params.x"),
        ({"$result": 1}, "invalid_request", "params.$result"),
    ):
        answer = server.http.post("/api/jobs", json={"job_type": "x", "params": params})
        assert (answer.status_code, answer.json()["code"]) == (422, code), answer.text
        assert field in answer.text
    jobs = [
        {"ref": "a", "job_type": "x", "params": {"x": {"$result": "ref:b"}}},
        {"ref": "b", "job_type": "x", "params": {"x": {"$result": "ref:a"}}},
    ]
    answer = server.http.post("/api/jobs/batch", json={"jobs": jobs})
    assert (answer.status_code, answer.json()["code"]) == (422, "dependency_cycle")
    assert "a -> b -> a" in answer.json()["detail"]
