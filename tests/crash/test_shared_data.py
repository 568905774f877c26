"""Several processes on one data directory."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.servers import Server, Stage, wait_for

SUBMIT_FROM_THREADS = """
import sys
from concurrent.futures import ThreadPoolExecutor
import headway
client = headway.connect(data="data")
def submit(name):
    job_type, params = "note", {"name": name}
    request = headway.JobRequest(job_type=job_type, params=params)
    return client.send(headway.protocol.jobs.create_job, body=request).job_id
with ThreadPoolExecutor(25) as pool:
    names = [f"{sys.argv[1]}{number}" for number in range(200)]
    for job_id in pool.map(submit, names):
        print(job_id)
client.close()
"""


def all_jobs(server: Server) -> list[Any]:
    """Every job, page by page."""
    found: list[Any] = []
    query: dict[str, Any] = {"limit": 200}
    while True:
        page = server.get("/api/jobs", **query)
        found += page["items"]
        if page["next_cursor"] is None:
            return found
        query["cursor"] = page["next_cursor"]


def wait_until_idle(server: Server) -> None:
    """Wait until every job has ended."""
    status = "/api/jobs"
    wait_for(lambda: not server.get(status, status="active")["items"], "the end of all jobs")


def submit_notes(servers: list[Server], count: int, **fields: Any) -> list[str]:
    """Submit so many notes, to each server in turn."""
    names = [f"n{number}" for number in range(count)]
    for place, name in enumerate(names):
        servers[place % len(servers)].submit("note", name, **fields)
    return names


def test_two_servers_do_each_job_once(stage: Stage) -> None:
    servers = [stage.serve(slots=2), stage.serve(slots=2)]
    names = submit_notes(servers, 60)
    wait_until_idle(servers[1])
    assert sorted(stage.notes()) == sorted(names)
    workers = {run["worker_id"] for job in all_jobs(servers[0]) for run in servers[0].runs(job)}
    assert len(workers) <= 2


def test_one_of_two_servers_is_killed_and_nothing_acknowledged_is_lost(stage: Stage) -> None:
    first, second = stage.serve(slots=4, lease_ttl_s=2), stage.serve(slots=4, lease_ttl_s=2)
    policy = {"max_attempts": 2, "base_delay_s": 0}
    names = submit_notes([first, second], 40, retry_policy=policy)
    stuck = [first.submit("hold", f"h{number}", retry_policy=policy) for number in range(6)]
    wait_for(lambda: first.get("/api/scheduler/status")["current_jobs"], "jobs that run")
    first.kill()
    for number in range(6):
        stage.let_go(f"h{number}")
    wait_until_idle(second)
    assert set(stage.notes()) == {*names, *(f"h{number}" for number in range(6))}
    assert len(stuck) == 6
    for job in all_jobs(second):
        assert job["status"] == "SUCCEEDED" or job["retry_state"] == "scheduled", job
    retried = [job for job in all_jobs(second) if job["retry_of"]]
    assert len(stage.notes()) <= len(names) + 6 + len(retried)


def test_fifty_threads_in_two_processes_submit_at_once(stage: Stage) -> None:
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", SUBMIT_FROM_THREADS, name],
            cwd=stage.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b")
    ]
    answers = [program.communicate(timeout=60) for program in programs]
    assert [program.returncode for program in programs] == [0, 0], answers
    acknowledged = [line for out, _ in answers for line in out.split()]
    assert "locked" not in "".join(err for _, err in answers)
    server = stage.serve(slots=4)
    kept = all_jobs(server)
    assert len(acknowledged) == 400
    assert {job["job_id"] for job in kept} == set(acknowledged)
    assert len({job["number"] for job in kept}) == 400
    wait_until_idle(server)
    assert len(stage.notes()) == len(set(stage.notes())) == 400


def test_servers_that_start_at_once_on_a_new_folder_share_one_token(stage: Stage) -> None:
    with ThreadPoolExecutor(4) as pool:
        servers = list(pool.map(lambda _: stage.serve(), range(4)))
    assert len({server.token for server in servers}) == 1
    for server in servers:
        assert server.http.get("/api/scheduler/status").status_code == 200
    assert not list(servers[0].data.glob("admin.token.*"))
