"""A server or a worker is asked to stop, or loses its connection."""

import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.servers import Stage, wait_for

SSE = {"accept": "text/event-stream"}


def test_sigterm_lets_the_running_job_end_and_starts_no_other(stage: Stage) -> None:
    server = stage.serve()
    running = server.submit("hold", "a")
    stage.wait_for_note("a")
    waiting = server.submit("note", "b")
    server.send(signal.SIGTERM)
    wait_for(lambda: server.http.get("/readyz").status_code == 503, "a server that is stopping")
    stage.let_go("a")
    assert server.process.wait(30) == 0
    assert stage.notes() == ["a"]

    server = stage.serve()
    assert server.job(running)["status"] == "SUCCEEDED"
    server.wait(waiting, "SUCCEEDED")
    assert server.get("/api/scheduler/status")["recovery"]["running_jobs_recovered"] == 0


def test_sigterm_does_not_wait_for_ever_and_the_next_start_recovers(stage: Stage) -> None:
    server = stage.serve(grace_s=0.2)
    job = server.submit("hold", "a")
    stage.wait_for_note("a")
    assert server.stop() == 0

    server = stage.serve()
    assert server.wait(job, "FAILED")["permanently_failed"]
    assert server.runs(job)[0]["error"] == "Scheduler crash recovery"


def test_a_direct_request_that_never_ends_does_not_keep_the_server(stage: Stage) -> None:
    server = stage.serve(grace_s=0.5)

    def ask() -> Any:
        body = {"params": {"name": "hung"}, "wait_timeout_s": 60}
        return server.client(server.token).post("/api/direct/hold", json=body)

    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask)
        stage.wait_for_note("hung")
        assert server.stop() == 0
        answer = asking.result()
    assert (answer.status_code, answer.json()["code"]) == (503, "stopping")
    assert "Exception in ASGI application" not in server.log


def test_a_second_sigterm_stops_at_once(stage: Stage) -> None:
    server = stage.serve()
    server.submit("hold", "a")
    stage.wait_for_note("a")
    server.send(signal.SIGTERM)
    wait_for(lambda: server.http.get("/readyz").status_code == 503, "a server that is stopping")
    assert server.stop() == 1


def test_streams_end_with_the_server_and_show_what_came_last(stage: Stage) -> None:
    server = stage.serve()
    job = server.submit("talk", "a")
    server.wait(job, "RUNNING")
    events = server.client(server.token).stream("GET", "/api/events", headers=SSE)
    path = f"/api/jobs/{job['number']}/logs/stdout"
    with events as told, server.http.stream("GET", path, params={"follow": "true"}) as output:
        server.send(signal.SIGTERM)
        stage.let_go("a")
        assert list(output.iter_lines()) == ["hello a", "bye a"]
        assert "event: job.finished" in list(told.iter_lines())
    assert server.process.wait(30) == 0
    assert "Traceback" not in server.log
    assert "Cancel" not in server.log


def test_a_stream_without_a_reader_ends_with_the_server(stage: Stage) -> None:
    server = stage.serve()
    much = {"argv": ["head", "-c", "30000000", "/dev/zero"]}
    job = server.submit("command", params=much)
    server.wait(job, "SUCCEEDED")
    with server.http.stream("GET", f"/api/jobs/{job['number']}/logs/stdout"):
        assert server.stop() == 0
    assert "Traceback" not in server.log


def test_an_idle_worker_stops_when_it_is_asked_to(stage: Stage) -> None:
    server = stage.serve(app=None)
    worker = stage.work(server)
    wait_for(lambda: len(server.get("/api/workers")["items"]) == 2, "the worker to come")
    assert worker.stop() == 0
