"""Whatever comes in gets a clear answer, and nothing of it is kept."""

import json
from typing import Any

import pytest
from tests.servers import Server

HUGE = 10**30
DIGITS = "9" * 5000

BAD_JOBS: dict[str, tuple[Any, int, str]] = {
    "an unknown field": ({"job_type": "x", "surprise": 1}, 422, "surprise"),
    "no type": ({}, 422, "job_type"),
    "a wrong type": ({"job_type": 5}, 422, "job_type"),
    "a blank type": ({"job_type": " "}, 422, "job_type"),
    "a NUL in a name": ({"job_type": "x\0"}, 422, "job_type"),
    "a NUL in params": ({"job_type": "x", "params": {"a": [{"b": "\0"}]}}, 422, "params.a[0].b"),
    "a NUL in the name of a param": ({"job_type": "x", "params": {"\0": 1}}, 422, "params"),
    "a NUL in a tag": ({"job_type": "x", "tags": ["\0"]}, 422, "tags"),
    "a NUL in a URL": ({"job_type": "x", "webhook_url": "http://a/\0"}, 422, "webhook_url"),
    "a URL without a port": (
        {"job_type": "x", "webhook_url": "http://a:99999"},
        422,
        "webhook_url",
    ),
    "params that are a list": ({"job_type": "x", "params": []}, 422, "params"),
    "params that do not fit": ({"job_type": "note", "params": {"name": 5}}, 422, "params.name"),
    "params that are missing": ({"job_type": "note"}, 422, "params.name"),
    "a huge priority": ({"job_type": "x", "priority": HUGE}, 422, "priority"),
    "an unknown priority": ({"job_type": "x", "priority": "SOON"}, 422, "priority"),
    "a huge number of a job": ({"job_type": "x", "after": [HUGE]}, 422, "after"),
    "a number of too many digits": ({"job_type": "x", "after": [DIGITS]}, 422, "after"),
    "an empty id": ({"job_type": "x", "after": [""]}, 422, "after"),
    "a negative time-out": ({"job_type": "x", "timeout_s": -1}, 422, "timeout_s"),
    "a huge delay": ({"job_type": "x", "delay_s": 1e300}, 422, "delay_s"),
    "a time without a zone": (
        {"job_type": "x", "scheduled_for": "2026-01-01T00:00:00"},
        422,
        "scheduled_for",
    ),
    "the end of time": (
        {"job_type": "x", "scheduled_for": "9999-12-31T23:59:59-23:59"},
        422,
        "scheduled_for",
    ),
    "the beginning of time": (
        {"job_type": "x", "scheduled_for": "0001-01-01T00:00:00+14:00"},
        422,
        "scheduled_for",
    ),
    "a huge cost": ({"job_type": "x", "cost_units": HUGE}, 422, "cost_units"),
    "an unknown limit": ({"job_type": "x", "limits": {"nope": 1}}, 422, "limits"),
    "an unknown template": ({"template": "nope"}, 422, "template"),
    "a bad URL": ({"job_type": "x", "webhook_url": "file:///etc/passwd"}, 422, "webhook_url"),
    "a folder outside": (
        {"job_type": "command", "params": {"argv": ["ls"], "cwd": "../.."}},
        422,
        "params.cwd",
    ),
    "an unknown artifact": ({"job_type": "x", "needs": ["nonsense"]}, 422, "needs"),
    "an artifact outside": ({"job_type": "x", "produces": ["file:../x"]}, 422, "produces"),
    "a NUL in a command": (
        {"job_type": "command", "params": {"argv": ["ls", "\0"]}},
        422,
        "params.argv[1]",
    ),
    "a NUL in an environment": (
        {"job_type": "command", "params": {"argv": ["ls"], "env": {"A": "\0"}}},
        422,
        "params.env.A",
    ),
    "a long key": ({"job_type": "x", "unique_key": "k" * 201}, 422, "unique_key"),
    "a long tag": ({"job_type": "x", "tags": ["t" * 201]}, 422, "tags"),
    "too many words": (
        {"job_type": "x", "requires": [f"{n:0200}" for n in range(10)]},
        422,
        "requires",
    ),
    "a long artifact": ({"job_type": "x", "needs": ["file:" + "f" * 2000]}, 422, "needs"),
    "a long branch": (
        {"job_type": "x", "pinned_head": {"branch": "b" * 201, "commit": "c"}},
        422,
        "pinned_head",
    ),
    "large params": ({"job_type": "x", "params": {"text": "x" * 1024 * 1024}}, 413, ""),
}

BAD_BODIES: dict[str, tuple[bytes, int]] = {
    "not JSON": (b"job_type=x", 400),
    "not text": (b"\xff\xfe", 400),
    "NaN": (b'{"job_type": "x", "params": {"a": NaN}}', 400),
    "half a character": (b'{"job_type": "x", "params": {"a": "\\ud800"}}', 400),
    "a list": (b"[]", 422),
    "infinity": (b'{"job_type": "x", "params": {"a": 1e999}}', 422),
    "deep JSON": (b'{"job_type": "x", "params": {"a": ' + b"[" * 10**5 + b"]" * 10**5 + b"}}", 400),
    "rather deep JSON": (
        b'{"job_type": "x", "params": {"a": ' + b"[" * 900 + b"]" * 900 + b"}}",
        422,
    ),
    "a body beyond all limits": (b" " * 3 * 1024 * 1024, 413),
}

BAD_QUERIES: tuple[tuple[str, dict[str, Any], int], ...] = (
    ("/api/jobs", {"limit": 201}, 422),
    ("/api/jobs", {"limit": 0}, 422),
    ("/api/jobs", {"limit": "many"}, 422),
    ("/api/jobs", {"limit": DIGITS}, 422),
    ("/api/jobs", {"cursor": "!!"}, 422),
    ("/api/jobs", {"cursor": "YWJj"}, 422),
    ("/api/jobs", {"status": "ASLEEP"}, 422),
    ("/api/jobs", {"since": "yesterday"}, 422),
    ("/api/jobs", {"surprise": 1}, 422),
    ("/api/jobs/nope", {}, 404),
    ("/api/jobs/%00", {}, 404),
    (f"/api/jobs/{HUGE}", {}, 404),
    (f"/api/jobs/{DIGITS}", {}, 404),
    ("/api/jobs/nope/why", {}, 404),
    ("/api/jobs/nope/result", {}, 404),
    ("/api/job-runs/nope", {}, 404),
    ("/api/job-runs/nope/logs/stdout", {}, 404),
    ("/api/job-runs/nope/logs/stdin", {}, 404),
    ("/api/jobs/nope/logs/stdout", {}, 404),
    ("/api/leases/nope", {}, 404),
    ("/api/job-groups/nope", {}, 404),
    ("/api/graph", {"max_depth": -1}, 422),
    ("/api/graph", {"job": DIGITS}, 404),
    ("/api/events", {"after": DIGITS}, 422),
    ("/api/nothing", {}, 404),
    ("/nothing", {}, 404),
)


def check_problem(answer: Any, status: int) -> Any:
    """The answer is a problem as RFC 9457 describes it."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert {"type", "title", "status", "code", "detail"} <= set(problem)
    assert problem["status"] == status
    assert "Traceback" not in answer.text
    return problem


def count_jobs(server: Server) -> int:
    """How many jobs are kept."""
    return len(server.get("/api/jobs", limit=200)["items"])


@pytest.mark.parametrize("what", BAD_JOBS)
def test_a_job_that_makes_no_sense_is_refused(server: Server, what: str) -> None:
    body, status, field = BAD_JOBS[what]
    before = count_jobs(server)
    problem = check_problem(server.http.post("/api/jobs", json=body), status)
    assert not field or field in problem["errors"], problem
    assert count_jobs(server) == before


@pytest.mark.parametrize("what", BAD_BODIES)
def test_a_body_that_cannot_be_read_is_refused(server: Server, what: str) -> None:
    raw, status = BAD_BODIES[what]
    before = count_jobs(server)
    check_problem(server.http.post("/api/jobs", content=raw), status)
    assert count_jobs(server) == before


@pytest.mark.parametrize(("path", "query", "status"), BAD_QUERIES)
def test_a_question_that_makes_no_sense_is_refused(
    server: Server, path: str, query: dict[str, Any], status: int
) -> None:
    check_problem(server.http.get(path, params=query), status)


def test_the_tail_of_a_log_is_a_sensible_number_of_lines(server: Server) -> None:
    job = server.submit("say", params={"lines": 5})
    server.wait(job, "SUCCEEDED")
    path = f"/api/job-runs/{server.runs(job)[0]['run_id']}/logs/stdout"
    for tail in ("-1", "some", DIGITS, "100001"):
        check_problem(server.http.get(path, params={"tail": tail}), 422)
    assert server.http.get(path, params={"tail": 2}).text == "line 3\nline 4\n"


def test_a_flag_is_true_or_false_and_anything_else_is_refused_by_its_name(server: Server) -> None:
    job = server.submit("note", "flag")
    server.wait(job, "SUCCEEDED")

    def shown(query: str) -> bool:
        nodes = server.http.get(f"/api/graph{query}").raise_for_status().json()["nodes"]
        return job["number"] in [node["number"] for node in nodes]

    assert [shown(query) for query in ("?all", "?all=true", "?all=1", "?all=TRUE")] == [True] * 4
    assert [shown(query) for query in ("", "?all=false", "?all=0", "?all=no")] == [False] * 4
    log = f"/api/jobs/{job['number']}/logs/stdout"
    assert server.http.get(f"{log}?follow").status_code == 200
    for path, flag in (("/api/graph", "all"), (log, "follow")):
        answer = server.http.get(path, params={flag: "maybe"})
        check_problem(answer, 422)
        assert list(answer.json()["errors"]) == [flag]


def test_a_wrong_method_says_which_ones_there_are(server: Server) -> None:
    answer = server.http.delete("/api/jobs")
    check_problem(answer, 405)
    assert answer.headers["allow"] == "GET, POST"


def test_a_code_that_cannot_be_read_is_refused(server: Server) -> None:
    check_problem(server.http.post("/dashboard/session", content=b'{"code": "\xff"}'), 400)
    check_problem(server.http.post("/dashboard/session", json={"code": "guess"}), 401)


def test_a_cycle_is_shown_and_nothing_is_stored(server: Server) -> None:
    before = count_jobs(server)
    jobs = [
        {"ref": "a", "job_type": "x", "after": ["ref:b"]},
        {"ref": "b", "job_type": "x", "after": ["ref:a"]},
        {"ref": "c", "job_type": "x"},
    ]
    problem = check_problem(server.http.post("/api/jobs/batch", json={"jobs": jobs}), 422)
    assert problem["code"] == "dependency_cycle"
    assert "a -> b -> a" in problem["detail"] or "b -> a -> b" in problem["detail"]
    myself = {"jobs": [{"ref": "a", "job_type": "x", "after": ["ref:a"]}]}
    check_problem(server.http.post("/api/jobs/batch", json=myself), 422)
    unknown = {"jobs": [{"job_type": "x"}, {"job_type": "x", "after": ["ref:nobody"]}]}
    check_problem(server.http.post("/api/jobs/batch", json=unknown), 422)
    assert count_jobs(server) == before


def test_a_change_after_the_claim_is_refused_and_nothing_moves(server: Server) -> None:
    job = server.submit("claimed")
    path = f"/api/jobs/{job['job_id']}"
    changed = server.http.patch(path, json={"params": {"a": 1}, "priority": "HIGH"})
    assert (changed.status_code, changed.json()["priority"]) == (200, 10)
    far = {"scheduled_for": "9999-12-31T23:59:59-23:59"}
    check_problem(server.http.patch(path, json=far), 422)
    server.post("/api/claims", worker_id="w", job_types=["claimed"])
    problem = check_problem(server.http.patch(path, json={"priority": "LOW"}), 409)
    assert problem["code"] == "already_claimed"
    assert server.job(job)["priority"] == 10


def test_the_same_key_makes_one_job_and_another_request_is_refused(server: Server) -> None:
    def submit(body: Any) -> Any:
        return server.http.post("/api/jobs", json=body, headers={"Idempotency-Key": "k1"})

    first = submit({"job_type": "x", "params": {"a": 1}})
    again = submit({"params": {"a": 1}, "job_type": "x"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["job_id"] == again.json()["job_id"]
    problem = check_problem(submit({"job_type": "x", "params": {"a": 2}}), 409)
    assert problem["code"] == "idempotency_mismatch"


def test_a_key_that_is_said_twice_is_the_same_twice(server: Server) -> None:
    def submit(path: str, body: Any) -> Any:
        return server.http.post(path, json=body, headers={"Idempotency-Key": "k2"})

    before = count_jobs(server)
    problem = check_problem(submit("/api/jobs", {"job_type": "x", "idempotency_key": "k3"}), 422)
    assert "'k3'" in problem["errors"]["idempotency_key"]
    assert "'k2'" in problem["errors"]["idempotency_key"]
    for path in ("/api/jobs/batch", "/api/job-groups"):
        problem = check_problem(submit(path, {"jobs": [{"job_type": "x"}]}), 422)
        assert "Idempotency-Key" in problem["errors"]
    assert count_jobs(server) == before
    same = submit("/api/jobs", {"job_type": "x", "idempotency_key": "k2"})
    assert (same.status_code, same.json()["idempotency_key"]) == (201, "k2")


@pytest.mark.parametrize("path", ["/api/jobs/batch", "/api/job-groups"])
def test_the_job_of_a_batch_that_makes_no_sense_is_named(server: Server, path: str) -> None:
    before = count_jobs(server)
    jobs = [{"job_type": "x"}, {"ref": "b", "job_type": "note", "params": {"name": 5}}]
    problem = check_problem(server.http.post(path, json={"jobs": jobs}), 422)
    assert list(problem["errors"]) == ["jobs[1].params.name"]
    assert problem["detail"].startswith("jobs[1] (ref 'b'): ")
    jobs = [{"job_type": "x"}, {"job_type": "x", "priority": []}]
    problem = check_problem(server.http.post(path, json={"jobs": jobs}), 422)
    assert list(problem["errors"]) == ["jobs[1].priority"]
    assert count_jobs(server) == before


def test_a_unique_key_returns_the_job_that_has_it(server: Server) -> None:
    body = {"job_type": "unique", "unique_key": "only"}
    first, second = (server.http.post("/api/jobs", json=body) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 200)
    assert second.json()["deduplicated"]
    assert second.json()["job_id"] == first.json()["job_id"]


@pytest.mark.parametrize("field", ["max_cost_units", "pid", "slots"])
def test_a_claim_with_a_huge_number_is_refused_and_others_are_still_served(
    server: Server, field: str
) -> None:
    body = {"worker_id": "w", "job_types": ["huge"], "wait_s": 5, field: HUGE}
    check_problem(server.http.post("/api/claims", json=body), 422)
    server.submit("huge")
    assert server.post("/api/claims", worker_id="w", job_types=["huge"], wait_s=20)["jobs"]


def test_an_answer_is_never_cut_short_by_its_own_size(server: Server) -> None:
    params = {"text": "é" * 300_000}
    job = server.submit("x", params=params)
    assert server.job(job)["params"] == params
    assert json.loads(server.http.get(f"/api/jobs/{job['number']}").content)["params"] == params
