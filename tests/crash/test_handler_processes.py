"""Handlers run in children of the server: what one does to its process stays there."""

import os
import signal
import time
from typing import Any

import pytest
from tests.servers import Server, Stage, wait_for

from headway.worker import process_groups

APP = """
import ctypes
import os
import signal
import time
from pathlib import Path

import headway
from shop import app, write


@app.job
def pid() -> int:
    return os.getpid()


@app.job
def numb(name: str, seconds: int) -> None:
    write(f"{name} {os.getpid()}")
    ctypes.PyDLL(None).sleep(seconds)  # keeps the interpreter: no other thread of the process runs


@app.job
def ruin(name: str, way: str) -> str:
    if Path(f"{name}.ruined").exists():
        return "second try"
    Path(f"{name}.ruined").touch()
    if way == "segfault":
        ctypes.string_at(0)
    if way == "exit":
        os._exit(3)
    if way == "out of memory":  # what the kernel does to the process that has too much
        os.kill(os.getpid(), signal.SIGKILL)
    if way == "fork":  # a program of the handler keeps the socket open
        if forked := os.fork():
            write(f"{name} {forked}")
            os._exit(4)
        time.sleep(60)
    return "first try"


@app.job
def hold_pid(name: str) -> None:
    write(f"{name} {os.getpid()}")
    while not Path(f"{name}.go").exists():
        time.sleep(0.01)


@app.job
def until_cancelled(ctx: headway.JobContext, name: str) -> str:
    write(name)
    while not ctx.cancelled:
        time.sleep(0.01)
    return "stopped by itself"
"""

AT_ONCE = {"max_attempts": 1, "base_delay_s": 0}


def serve(stage: Stage, **settings: Any) -> Server:
    (stage.folder / "wild.py").write_text(APP)
    return stage.serve(app="wild:app", **settings)


def noted_pid(stage: Stage, name: str) -> int:
    """The process in which a job has begun."""

    def look() -> int | None:
        found = [note.split()[-1] for note in stage.notes() if note.startswith(f"{name} ")]
        return int(found[-1]) if found else None

    return wait_for(look, f"the note of {name}")


def is_gone(pid: int) -> bool:
    began = process_groups.start_time(pid)
    return began is None or not process_groups.is_running(pid, began)


def test_handlers_do_not_run_in_the_server(stage: Stage) -> None:
    server = serve(stage)
    server.wait(job := server.submit("pid"), "SUCCEEDED")
    child = server.get(f"/api/jobs/{job['job_id']}/result")["result_data"]
    assert child != server.pid
    direct = server.post("/api/direct/pid", params={})
    assert direct["result"] == child


def test_a_handler_that_keeps_the_interpreter_keeps_nothing_else(stage: Stage) -> None:
    server = serve(stage, lease_ttl_s=3)
    stage.work(server, queues=["far"])
    far = server.submit("hold", "far", queue="far")
    stage.wait_for_note("far")
    numb = server.submit("numb", params={"name": "numb", "seconds": 7})
    noted_pid(stage, "numb")
    began = time.monotonic()
    slowest = 0.0
    while time.monotonic() - began < 6:  # twice as long as either lease lasts without a heartbeat
        asked = time.monotonic()
        assert server.get("/healthz")["status"] == "ok"
        assert server.job(far)["status"] == "RUNNING"
        slowest = max(slowest, time.monotonic() - asked)
    assert slowest < 2
    stage.let_go("far")
    server.wait(far, "SUCCEEDED")
    server.wait(numb, "SUCCEEDED")


@pytest.mark.parametrize(
    ("way", "ending"),
    [
        ("segfault", "killed by SIGSEGV"),
        ("exit", "exited with code 3"),
        ("out of memory", "killed by SIGKILL"),
        ("fork", "exited with code 4"),
    ],
)
def test_a_process_that_dies_is_replaced_and_its_jobs_are_tried_again(
    stage: Stage, way: str, ending: str
) -> None:
    server = serve(stage)
    params = {"name": "a", "way": way}
    job = server.submit("ruin", params=params, retry_policy=AT_ONCE)
    server.wait(job, "FAILED")
    (run,) = server.runs(job)
    assert run["error"] == f"Scheduler crash recovery: the process of its handler {ending}"
    retry = server.retry_of(job)
    assert server.wait(retry, "SUCCEEDED")
    assert server.get(f"/api/jobs/{retry['job_id']}/result")["result_data"] == "second try"
    assert server.log.count(f"the process of the handlers {ending}") == 1
    if way == "fork":
        wait_for(lambda: is_gone(noted_pid(stage, "a")), "the end of what the handler forked")


def test_jobs_of_a_killed_process_are_recovered_at_once(stage: Stage) -> None:
    server = serve(stage)
    job = server.submit("hold_pid", "a", retry_policy=AT_ONCE)
    killed = noted_pid(stage, "a")
    os.kill(killed, signal.SIGKILL)
    began = time.monotonic()
    server.wait(job, "FAILED")
    assert time.monotonic() - began < 3  # the lease would last for 30
    stage.let_go("a")
    server.wait(server.retry_of(job), "SUCCEEDED")
    assert noted_pid(stage, "a") != killed


def test_a_process_that_dies_leaves_the_runs_of_others_alone(stage: Stage) -> None:
    server = serve(stage, slots=2, processes=2)
    held = server.submit("hold_pid", "a")
    noted_pid(stage, "a")
    ruined = server.submit("ruin", params={"name": "b", "way": "segfault"})
    server.wait(ruined, "FAILED")
    command = server.submit("command", params={"argv": ["true"]})
    server.wait(command, "SUCCEEDED")
    stage.let_go("a")
    server.wait(held, "SUCCEEDED")


@pytest.mark.parametrize("job_type", ["hold_pid", "numb"])
def test_no_handler_outlives_a_killed_server(stage: Stage, job_type: str) -> None:
    server = serve(stage)
    params: dict[str, Any] = {"name": "a"}
    if job_type == "numb":
        params["seconds"] = 60
    job = server.submit(job_type, params=params, retry_policy=AT_ONCE)
    child = noted_pid(stage, "a")
    server.kill()
    wait_for(lambda: is_gone(child), "the end of the handler's process")
    again = serve(stage)
    failed = again.wait(job, "FAILED")
    assert failed["number"] == job["number"]
    assert [run["error"] for run in again.runs(job)] == ["Scheduler crash recovery"]


def test_a_frozen_server_keeps_no_handler_beyond_its_lease(stage: Stage) -> None:
    server = serve(stage, lease_ttl_s=2)
    other = stage.serve(app=None)
    job = server.submit("hold_pid", "a", retry_policy=AT_ONCE)
    child = noted_pid(stage, "a")
    server.send(signal.SIGSTOP)
    other.wait(job, "TIMEOUT")
    assert is_gone(child)
    server.send(signal.SIGCONT)
    stage.let_go("a")
    server.wait(other.retry_of(job), "SUCCEEDED")


def test_a_stop_lets_handlers_end_and_their_process_with_them(stage: Stage) -> None:
    server = serve(stage)
    job = server.submit("hold_pid", "a")
    child = noted_pid(stage, "a")
    os.kill(child, signal.SIGTERM)  # a service manager signals every process
    server.send(signal.SIGTERM)
    wait_for(lambda: "stopping" in server.log, "the signal to be seen")
    assert not is_gone(child)
    stage.let_go("a")
    assert server.process.wait(30) == 0
    assert is_gone(child)
    assert stage.serve(app=None).job(job)["status"] == "SUCCEEDED"


def test_a_second_signal_ends_handlers_too(stage: Stage) -> None:
    server = serve(stage)
    server.submit("numb", params={"name": "a", "seconds": 60})
    child = noted_pid(stage, "a")
    server.send(signal.SIGTERM)
    wait_for(lambda: "stopping" in server.log, "the first signal to be seen")
    server.send(signal.SIGTERM)
    assert server.process.wait(30) == 1
    wait_for(lambda: is_gone(child), "the end of the handler's process")


def test_a_cancelled_job_hears_of_it_in_its_process(stage: Stage) -> None:
    server = serve(stage)
    job = server.submit("until_cancelled", "a")
    stage.wait_for_note("a")
    server.post(f"/api/jobs/{job['job_id']}/cancel")
    server.wait(job, "CANCELLED")
    (run,) = server.runs(job)
    assert run["result"] == "stopped by itself"
