"""Late, doubled and foreign reports, and claims that wait."""

import socket
import threading
from datetime import datetime
from typing import Any

import pytest
from tests.servers import Server, Stage, wait_for

from headway.http.server import listen


def start(server: Server, job_type: str, **fields: Any) -> Any:
    """Submit a job and start it for worker w1; answers the claim."""
    server.submit(job_type)
    body = {"worker_id": "w1", "job_types": [job_type], "lease": True, **fields}
    return server.post("/api/claims", **body)["jobs"][0]


def code_of(server: Server, path: str, **body: Any) -> tuple[int, str]:
    """The status and code with which a call is refused."""
    answer = server.http.post(path, json=body)
    return answer.status_code, answer.json()["code"]


def test_only_the_holder_may_touch_a_lease(server: Server) -> None:
    lease = f"/api/leases/{start(server, 'foreign')['lease']['lease_id']}"
    foreign = (403, "foreign_lease")
    assert code_of(server, f"{lease}/heartbeat", worker_id="w2") == foreign
    assert code_of(server, f"{lease}/release", worker_id="w2", status="COMPLETED") == foreign
    assert server.get(lease)["state"] == "ACTIVE"
    server.post(f"{lease}/release", worker_id="w1", status="COMPLETED")
    assert code_of(server, f"{lease}/heartbeat", worker_id="w2") == foreign


def test_an_unknown_lease_is_not_found(server: Server) -> None:
    for verb, body in (("heartbeat", {}), ("release", {"status": "COMPLETED"})):
        path = f"/api/leases/01890000-0000-7000-8000-000000000000/{verb}"
        assert code_of(server, path, worker_id="w1", **body) == (404, "not_found")


def test_the_same_release_twice_is_one_and_another_is_refused(server: Server) -> None:
    claimed = start(server, "twice")
    release = f"/api/leases/{claimed['lease']['lease_id']}/release"
    body = {"worker_id": "w1", "status": "FAILED", "error": "no", "exit_code": 3}
    assert server.post(release, **body) == server.post(release, **body)
    ended = (409, "lease_ended")
    assert code_of(server, release, worker_id="w1", status="COMPLETED") == ended
    heartbeat = release.replace("release", "heartbeat")
    assert code_of(server, heartbeat, worker_id="w1") == ended
    (run,) = server.runs(claimed["job"])
    assert (run["status"], run["error"], run["exit_code"]) == ("FAILED", "no", 3)


@pytest.mark.parametrize(
    ("word", "run_status", "job_status", "retry_state"),
    [
        ("COMPLETED", "COMPLETED", "SUCCEEDED", "none"),
        ("succeeded", "COMPLETED", "SUCCEEDED", "none"),
        ("FAILED", "FAILED", "FAILED", "exhausted"),
        ("TIMEOUT", "FAILED", "TIMEOUT", "exhausted"),
        ("SKIPPED", "SKIPPED", "SKIPPED", "none"),
        ("CANCELLED", "FAILED", "CANCELLED", "none"),
        ("CANCELED", "FAILED", "CANCELLED", "none"),
    ],
)
def test_a_workers_word_decides_how_the_run_and_its_job_end(
    server: Server, word: str, run_status: str, job_status: str, retry_state: str
) -> None:
    claimed = start(server, "words")
    release = f"/api/leases/{claimed['lease']['lease_id']}/release"
    body = {"worker_id": "w1", "status": word, "error": "so it is"}
    assert server.post(release, **body) == server.post(release, **body)
    (run,) = server.runs(claimed["job"])
    job = server.job(claimed["job"])
    assert (run["status"], job["status"]) == (run_status, job_status)
    assert job["retry_state"] == retry_state
    assert server.get(f"/api/jobs/{job['job_id']}/result")["status"] == job_status


def test_a_worker_says_that_its_job_crashed_or_wants_to_be_called_later(server: Server) -> None:
    policy = {"max_crashes": 1, "max_attempts": 9}
    server.submit("dies", retry_policy=policy)
    body = {"worker_id": "w1", "job_types": ["dies"], "lease": True}
    (dies,) = server.post("/api/claims", **body)["jobs"]
    release = f"/api/leases/{dies['lease']['lease_id']}/release"
    server.post(release, worker_id="w1", status="CRASHED", error="gone")
    job = server.job(dies["job"])
    assert (job["crashes"], job["retry_state"]) == (1, "exhausted")

    server.submit("slow", retry_policy={"max_attempts": 1})
    body["job_types"] = ["slow"]
    (slow,) = server.post("/api/claims", **body)["jobs"]
    release = f"/api/leases/{slow['lease']['lease_id']}/release"
    server.post(release, worker_id="w1", status="FAILED", retry_after_s=7200)
    job = server.job(slow["job"])
    again = server.get(f"/api/jobs/{job['retried_by']}")
    assert seconds_between(job["finished_at"], again["scheduled_for"]) == 7200


def seconds_between(start: str, end: str) -> float:
    """The time between two moments as the API shows them."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def test_a_claim_takes_reports_along(server: Server) -> None:
    first, second = (start(server, "along") for _ in range(2))
    follower = server.submit("along", after=[first["job"]["job_id"]])
    releases = [
        {"lease_id": first["lease"]["lease_id"], "status": "COMPLETED", "result": 7},
        {"lease_id": "unknown", "status": "COMPLETED"},
    ]
    body = {"worker_id": "w1", "job_types": ["along"], "lease": True, "releases": releases}
    answer = server.post("/api/claims", **body)
    assert [one["ok"] for one in answer["released"]] == [True, False]
    assert [one["job"]["job_id"] for one in answer["jobs"]] == [follower["job_id"]]
    body["releases"] = [{"lease_id": second["lease"]["lease_id"], "status": "FAILED"}]
    alone = server.post("/api/claims", **body, wait_s=60)
    assert (alone["jobs"], alone["released"][0]["job_status"]) == ([], "FAILED")


def test_a_bad_report_refuses_the_claim_it_came_with(server: Server) -> None:
    claimed = start(server, "spoilt")
    server.submit("spoilt")
    releases = [{"lease_id": claimed["lease"]["lease_id"], "status": "GREAT"}]
    body = {"worker_id": "w1", "job_types": ["spoilt"], "lease": True, "releases": releases}
    assert server.http.post("/api/claims", json=body).status_code == 422
    assert server.get(f"/api/leases/{claimed['lease']['lease_id']}")["state"] == "ACTIVE"
    assert len(server.post("/api/claims", **{**body, "releases": []})["jobs"]) == 1


def test_bad_reports_are_refused_and_the_lease_stays(server: Server) -> None:
    claimed = start(server, "bad")
    lease = f"/api/leases/{claimed['lease']['lease_id']}"
    for body in ({"status": "GREAT"}, {"status": "FAILED", "exit_code": 10**30}, {}):
        answer = server.http.post(f"{lease}/release", json={"worker_id": "w1", **body})
        assert answer.status_code == 422, answer.text
    large = {"worker_id": "w1", "status": "COMPLETED", "result": "x" * (1024 * 1024 + 1)}
    assert server.http.post(f"{lease}/release", json=large).status_code == 413
    beat = {"worker_id": "w1", "progress": 2}
    assert server.http.post(f"{lease}/heartbeat", json=beat).status_code == 422
    assert server.get(lease)["state"] == "ACTIVE"


@pytest.mark.parametrize("ttl_s", [0, -1, 3600.001, 10 * 366 * 86400])
def test_a_lease_lasts_at_most_an_hour_without_a_heartbeat(server: Server, ttl_s: float) -> None:
    job = server.submit("lasting")
    claim = {"worker_id": "w1", "job_types": ["lasting"]}
    for path, body in (
        ("/api/claims", {**claim, "lease": True}),
        ("/api/leases", {"worker_id": "w1", "job_id": job["job_id"]}),
    ):
        answer = server.http.post(path, json={**body, "ttl_s": ttl_s})
        assert (answer.status_code, list(answer.json()["errors"])) == (422, ["ttl_s"])
    (claimed,) = server.post("/api/claims", **claim, lease=True, ttl_s=3600)["jobs"]
    assert claimed["lease"]["ttl_s"] == 3600
    lease = f"/api/leases/{claimed['lease']['lease_id']}"
    server.post(f"{lease}/release", worker_id="w1", status="COMPLETED")


def test_the_message_of_a_heartbeat_has_at_most_1024_bytes(server: Server) -> None:
    good, bad = (start(server, "wordy")["lease"] for _ in range(2))
    longest, longer = "é" * 512, "é" * 512 + "!"
    single = f"/api/leases/{bad['lease_id']}/heartbeat"
    answer = server.http.post(single, json={"worker_id": "w1", "message": longer})
    assert (answer.status_code, list(answer.json()["errors"])) == (422, ["message"])
    items = [
        {"lease_id": bad["lease_id"], "message": longer},
        {"lease_id": good["lease_id"], "message": longest},
        {"lease_id": bad["lease_id"], "progress": 2},
    ]
    answers = server.post("/api/leases/heartbeats", worker_id="w1", items=items)["items"]
    assert [(one["ok"], one.get("code")) for one in answers] == [
        (False, "invalid_request"),
        (True, None),
        (False, "invalid_request"),
    ]
    assert "1025 bytes" in answers[0]["detail"]
    assert server.get(f"/api/leases/{bad['lease_id']}")["expires_at"] == bad["expires_at"]
    assert server.job({"job_id": good["job_id"]})["progress"]["message"] == longest
    assert server.job({"job_id": bad["job_id"]})["progress"] is None


def test_reported_artifacts_are_named_as_everywhere(server: Server) -> None:
    good, bad = (start(server, "making") for _ in range(2))
    path = f"/api/leases/{bad['lease']['lease_id']}/release"
    for name in ("nonsense", "file:../secret", "unknown:x", "file:" + "f" * 2000):
        body = {"worker_id": "w1", "status": "COMPLETED", "artifacts": ["file:a", name]}
        answer = server.http.post(path, json=body)
        assert (answer.status_code, list(answer.json()["errors"])) == (422, ["artifacts"])
    names = ["file:out/../out/a.txt", "file:out/a.txt", "custom:model:v1"]
    items = [
        {"lease_id": bad["lease"]["lease_id"], "status": "COMPLETED", "artifacts": ["nonsense"]},
        {"lease_id": good["lease"]["lease_id"], "status": "COMPLETED", "artifacts": names},
    ]
    answers = server.post("/api/leases/releases", worker_id="w1", items=items)["items"]
    assert [(one["ok"], one.get("code")) for one in answers] == [
        (False, "invalid_artifact"),
        (True, None),
    ]
    assert server.runs(good["job"])[0]["artifacts"] == ["file:out/a.txt", "custom:model:v1"]
    (unended,) = server.runs(bad["job"])
    assert (unended["status"], unended["artifacts"]) == (None, [])
    assert server.get(f"/api/leases/{bad['lease']['lease_id']}")["state"] == "ACTIVE"


def test_of_several_reports_only_the_bad_ones_are_refused(server: Server) -> None:
    lease_ids = [start(server, "several")["lease"]["lease_id"] for _ in range(3)]
    items: list[Any] = [{"lease_id": one, "status": "COMPLETED"} for one in lease_ids]
    items[0]["status"] = "GREAT"
    items[1]["result"] = "x" * (1024 * 1024 + 1)
    answers = server.post("/api/leases/releases", worker_id="w1", items=items)["items"]
    assert [one.get("code") for one in answers] == ["invalid_request", "too_large", None]
    assert answers[2]["job_status"] == "SUCCEEDED"


def test_a_release_after_the_expiry_changes_nothing(server: Server) -> None:
    claimed = start(server, "late", ttl_s=0.2)
    release = f"/api/leases/{claimed['lease']['lease_id']}/release"
    server.wait(claimed["job"], "TIMEOUT")
    assert code_of(server, release, worker_id="w1", status="COMPLETED") == (409, "lease_ended")
    assert server.job(claimed["job"])["status"] == "TIMEOUT"
    (run,) = server.runs(claimed["job"])
    assert (run["status"], run["error"]) == ("FAILED", "lease expired")


def test_a_heartbeat_never_goes_past_the_time_out_of_the_job(server: Server) -> None:
    server.submit("bounded", timeout_s=5)
    (claimed,) = server.post("/api/claims", worker_id="w1", job_types=["bounded"], lease=True)[
        "jobs"
    ]
    lease = claimed["lease"]
    beat = server.post(f"/api/leases/{lease['lease_id']}/heartbeat", worker_id="w1")
    assert beat["expires_at"] == lease["expires_at"]


def test_a_brief_claim_has_what_is_needed_to_do_the_job(server: Server) -> None:
    job = server.submit("brief", params={"a": [1, "ü"]}, timeout_s=5)
    body = {"worker_id": "w1", "job_types": ["brief"], "lease": True, "brief": True}
    (claimed,) = server.post("/api/claims", **body)["jobs"]
    assert claimed["job"] == {
        "job_id": job["job_id"],
        "number": job["number"],
        "job_type": "brief",
        "attempt": 0,
        "params": {"a": [1, "ü"]},
        "timeout_s": 5.0,
    }
    assert claimed["run_id"] == claimed["lease"]["lease_id"]


def test_connections_are_known_to_be_tcp() -> None:
    # Otherwise asyncio leaves out TCP_NODELAY, and each answer waits for an acknowledgement.
    with listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP


def test_a_waiting_claim_wakes_up_when_a_job_is_submitted(server: Server) -> None:
    answers: list[Any] = []
    body = {"worker_id": "w1", "job_types": ["wake"], "wait_s": 25, "lease": True}
    waiting = threading.Thread(
        target=lambda: answers.append(server.http.post("/api/claims", json=body))
    )
    waiting.start()
    job = server.submit("wake")
    waiting.join()
    assert answers[0].status_code == 200
    assert answers[0].json()["jobs"][0]["job"]["job_id"] == job["job_id"]


def test_a_worker_that_says_goodbye_waits_no_longer(server: Server) -> None:
    answers: list[Any] = []
    body = {"worker_id": "leaving", "job_types": ["never"], "wait_s": 60}
    waiting = threading.Thread(
        target=lambda: answers.append(server.http.post("/api/claims", json=body).status_code)
    )
    waiting.start()
    wait_for(lambda: "leaving" in str(server.get("/api/workers")), "the worker to come")

    def leave() -> bool:
        server.http.delete("/api/workers/leaving")
        return bool(answers)

    wait_for(leave, "the answer to its claim")
    waiting.join()
    assert answers == [204]
    assert "leaving" not in str(server.get("/api/workers"))


def test_workers_that_come_again_and_again_are_served_when_there_is_work(server: Server) -> None:
    body = {"worker_id": "patient", "job_types": ["patient"], "wait_s": 0.05, "lease": True}
    for _ in range(3):
        assert server.http.post("/api/claims", json=body).status_code == 204
    job = server.submit("patient")
    (claimed,) = server.post("/api/claims", **body)["jobs"]
    assert claimed["job"]["job_id"] == job["job_id"]


def test_a_claim_that_finds_nothing_is_answered_in_the_end(server: Server) -> None:
    body = {"worker_id": "w1", "job_types": ["nothing"], "wait_s": 0.2}
    assert server.http.post("/api/claims", json=body).status_code == 204
    for wait_s in (-1, 1e300):
        answer = server.http.post("/api/claims", json={**body, "wait_s": wait_s})
        assert answer.status_code == 422


def test_waiting_claims_are_sent_home_when_the_server_stops(stage: Stage) -> None:
    server = stage.serve()
    answers: list[Any] = []
    body = {"worker_id": "w1", "job_types": ["none"], "wait_s": 60}
    waiting = threading.Thread(
        target=lambda: answers.append(server.http.post("/api/claims", json=body).status_code)
    )
    waiting.start()
    server.wait(server.submit("note", "it serves"), "SUCCEEDED")
    assert server.stop() == 0
    waiting.join()
    assert answers[0] in (204, 503)
