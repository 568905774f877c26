"""Workers that die, freeze, or are cut off from their server."""

import signal
from typing import Any

from tests.servers import Server, Stage, wait_for

AT_ONCE = {"max_attempts": 1, "base_delay_s": 0}


def hold_at_a_worker(stage: Stage, server: Server) -> Any:
    """A job that only a worker elsewhere can do, once it runs."""
    job = server.submit("hold", "a", retry_policy=AT_ONCE)
    stage.wait_for_note("a")
    return job


def test_a_killed_worker_times_out_and_its_job_is_tried_once_more(stage: Stage) -> None:
    server = stage.serve(app=None, lease_ttl_s=2)
    worker = stage.work(server)
    job = hold_at_a_worker(stage, server)
    worker.kill()
    stage.let_go("a")
    assert server.wait(job, "TIMEOUT")["retry_state"] == "scheduled"
    assert server.runs(job)[0]["error"] == "lease expired"
    stage.work(server)
    server.wait(server.retry_of(job), "SUCCEEDED")
    assert stage.notes() == ["a", "a"]


def test_a_worker_that_wakes_up_too_late_changes_nothing(stage: Stage) -> None:
    server = stage.serve(app=None, lease_ttl_s=2)
    frozen = stage.work(server)
    job = hold_at_a_worker(stage, server)
    frozen.send(signal.SIGSTOP)
    server.wait(job, "TIMEOUT")
    stage.let_go("a")
    stage.work(server)
    retry = server.wait(server.retry_of(job), "SUCCEEDED")
    frozen.send(signal.SIGCONT)
    wait_for(lambda: "is lost" in frozen.log or "was refused" in frozen.log, "the refusal")
    assert frozen.stop() == 0
    assert server.job(job)["status"] == "TIMEOUT"
    assert server.job(retry) == retry
    assert [run["status"] for run in server.runs(job)] == ["FAILED"]


def test_a_worker_goes_on_while_its_server_is_killed_and_started_again(stage: Stage) -> None:
    server = stage.serve(app=None, lease_ttl_s=20)
    port = int(server.url.rpartition(":")[2])
    stage.work(server)
    job = hold_at_a_worker(stage, server)
    server.kill()
    server = stage.serve(app=None, lease_ttl_s=20, port=port)
    assert server.job(job)["status"] == "RUNNING"
    stage.let_go("a")
    server.wait(job, "SUCCEEDED")
    assert len(server.runs(job)) == 1
    assert stage.notes() == ["a"]


def test_an_outcome_is_kept_until_the_server_is_back(stage: Stage) -> None:
    server = stage.serve(app=None, lease_ttl_s=20)
    port = int(server.url.rpartition(":")[2])
    worker = stage.work(server)
    job = hold_at_a_worker(stage, server)
    server.kill()
    stage.let_go("a")
    wait_for(lambda: "outcomes wait" in worker.log, "the worker to report in vain")
    server = stage.serve(app=None, lease_ttl_s=20, port=port)
    assert server.wait(job, "SUCCEEDED")["attempt"] == 0


def test_an_outcome_that_the_server_refuses_fails_the_job(stage: Stage) -> None:
    server = stage.serve(app=None, largest_body=2000)
    stage.work(server)
    job = server.submit("swell", params={"size": 5000})
    server.wait(job, "FAILED")
    assert "refused" in server.runs(job)[0]["error"]
    again = server.submit("swell", params={"size": 5})
    server.wait(again, "SUCCEEDED")


def test_a_lease_is_as_long_as_it_says_however_long_the_claim_has_waited(stage: Stage) -> None:
    server = stage.serve(app=None, lease_ttl_s=3)
    worker = stage.work(server, capabilities=["far"])
    wait_for(lambda: len(server.get("/api/workers")["items"]) == 2, "the worker to come")
    script = "echo program >> notes.txt; while [ ! -e end ]; do sleep 0.05; done"
    params = {"argv": ["sh", "-c", script]}
    # With this delay the claim has waited for longer than the lease will last.
    job = server.submit("command", params=params, delay_s=3.5, requires=["far"])
    stage.wait_for_note("program")
    (stage.folder / "end").touch()
    assert server.wait(job, "SUCCEEDED", "FAILED", "TIMEOUT")["status"] == "SUCCEEDED"
    assert "is lost" not in worker.log
