"""The disk is full, the database is locked: the server says so, and goes on when it can."""

import itertools
import os
import resource
import sqlite3
import threading
from typing import Any

from tests.servers import Server, Stage, wait_for


def limit_files(server: Server, size: int) -> None:
    """Files of the server cannot grow beyond this size."""
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def test_a_full_disk_is_told_and_nothing_acknowledged_is_lost(stage: Stage) -> None:
    server = stage.serve()
    kept = server.submit("note", "kept", delay_s=3600)
    limit_files(server, 4096)
    body = {"job_type": "x", "params": {"text": "x" * 100_000}}
    for _ in range(3):
        answer = server.http.post("/api/jobs", json=body)
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    ready = server.http.get("/readyz")
    assert (ready.status_code, ready.json()["ready"]) == (503, False)
    assert server.job(kept)["status"] == "QUEUED"

    limit_files(server, resource.RLIM_INFINITY)
    wait_for(lambda: server.http.get("/readyz").status_code == 200, "a server that is ready again")
    assert server.http.post("/api/jobs", json=body).status_code == 201
    server.wait(server.submit("note", "after"), "SUCCEEDED")
    assert server.http.get("/readyz").status_code == 200
    assert len(server.get("/api/jobs")["items"]) == 3


def test_a_full_disk_is_noticed_before_a_request_is_refused(stage: Stage) -> None:
    server = stage.serve()
    limit_files(server, 4096)
    ready = wait_for(lambda: _unready(server), "a server that is not ready")
    assert "nothing could be written" in ready["problems"][0]
    metrics = server.http.get("/metrics").text
    assert "headway_write_failing 1.0" in metrics
    limit_files(server, resource.RLIM_INFINITY)
    wait_for(lambda: server.http.get("/readyz").status_code == 200, "a server that is ready again")
    assert "headway_write_failing 0.0" in server.http.get("/metrics").text


def _unready(server: Server) -> Any:
    answer = server.http.get("/readyz")
    return answer.json() if answer.status_code == 503 else None


def test_a_locked_database_is_waited_for(stage: Stage) -> None:
    server = stage.serve()
    other = sqlite3.connect(server.data / "headway.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    answers: list[Any] = []
    submitting = threading.Thread(target=lambda: answers.append(server.submit("note", "patient")))
    submitting.start()
    assert server.get("/api/jobs")["items"] == []
    assert not answers
    other.execute("ROLLBACK")
    other.close()
    submitting.join()
    server.wait(answers[0], "SUCCEEDED")
    assert "locked" not in server.log


def test_without_file_descriptors_a_command_waits_and_is_no_failed_attempt(stage: Stage) -> None:
    server = stage.serve()
    server.wait(server.submit("command", params={"argv": ["true"]}), "SUCCEEDED")
    _, hard = before = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (_with_two_left(server.pid), hard))
    job = server.submit("command", params={"argv": ["true"]})
    wait_for(lambda: "Too many open files" in str(server.job(job)["progress"]), "what it waits for")
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, before)
    assert server.wait(job, "SUCCEEDED")["attempt"] == 0
    assert len(server.get(f"/api/jobs/{job['number']}/runs")["items"]) == 1


def _with_two_left(pid: int) -> int:
    """The limit of descriptors at which a process can open two more; there may be gaps."""
    used = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
    free = (number for number in itertools.count() if number not in used)
    return next(itertools.islice(free, 2, None))
