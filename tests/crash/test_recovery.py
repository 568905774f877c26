"""A server is killed in the worst moment, and started again, and once more."""

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import httpx
from tests.servers import SERVE, WAIT_S, Process, Server, Stage, wait_for

CRASHED = "Scheduler crash recovery"
AT_ONCE = {"max_attempts": 1, "base_delay_s": 0}

DIE_WHILE_RECOVERING = (
    "import os, signal; from headway.scheduler.finish import finish; "
    "finish.close_runs = lambda *_: os.kill(os.getpid(), signal.SIGKILL); "
)

DIE_IN_THE_THIRD_SLICE = """
import os, signal
from headway.scheduler.admit import postponed
postponed.AT_ONCE = 20
slices = []
def take_up(tx, take=postponed.take_up):
    taken = take(tx)
    slices.append(taken)
    if len([one for one in slices if one]) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return taken
postponed.take_up = take_up
"""

DIE_IN_A_TRANSACTION = """
import os, signal, sqlite3, sys
raw = sqlite3.connect(sys.argv[1], isolation_level=None)
raw.execute("BEGIN IMMEDIATE")
raw.execute("UPDATE jobs SET status = 'RUNNING'")
os.kill(os.getpid(), signal.SIGKILL)
"""


def numbers(server: Server) -> set[int]:
    """Every job there is."""
    return {job["number"] for job in server.get("/api/jobs", limit=200)["items"]}


def start_again(stage: Stage, server: Server) -> Server:
    """Stop in good order and start: a second recovery finds nothing left to mend."""
    before = numbers(server)
    assert server.stop() == 0
    again = stage.serve()
    recovery = again.get("/api/scheduler/status")["recovery"]
    assert not any(recovery.values()), recovery
    assert numbers(again) == before
    return again


def test_a_crash_while_a_job_runs_fails_the_run_and_tries_again(stage: Stage) -> None:
    server = stage.serve()
    job = server.submit("hold", "a", retry_policy=AT_ONCE)
    stage.wait_for_note("a")
    server.kill()
    stage.let_go("a")

    server = stage.serve()
    assert server.get("/api/scheduler/status")["recovery"]["running_jobs_recovered"] == 1
    assert server.wait(job, "FAILED")["retry_state"] == "scheduled"
    (run,) = server.runs(job)
    assert (run["status"], run["error"]) == ("FAILED", CRASHED)
    retry = server.retry_of(job)
    server.wait(retry, "SUCCEEDED")
    assert stage.notes() == ["a", "a"]

    server = start_again(stage, server)
    assert server.runs(job) == [run]


def test_a_crash_while_a_direct_request_waits_lets_the_queue_go_on(stage: Stage) -> None:
    server = stage.serve()
    running = server.submit("hold", "a")
    stage.wait_for_note("a")
    waiting = server.submit("note", "b")
    asking = threading.Thread(target=_ask_in_vain, args=(server,))
    asking.start()
    status = "/api/scheduler/status"
    wait_for(lambda: server.get(status)["active_reservation"], "a reservation")
    server.kill()
    asking.join()

    server = stage.serve()
    assert server.get(status)["recovery"]["reservations_expired"] == 1
    server.wait(running, "FAILED")
    server.wait(waiting, "SUCCEEDED")
    (reservation,) = server.get("/api/reservations")["items"]
    assert reservation["state"] == "EXPIRED"
    assert stage.notes() == ["a", "b"]
    start_again(stage, server)


def _ask_in_vain(server: Server) -> None:
    try:
        server.http.post("/api/direct/note", json={"params": {"name": "direct"}})
    except httpx.TransportError:
        return
    raise AssertionError("the server was killed and answered")


def test_a_crash_before_a_retry_was_made_makes_it_once(stage: Stage) -> None:
    server = stage.serve()
    job = server.submit("elsewhere", retry_policy={"max_attempts": 1, "base_delay_s": 3600})
    claimed = server.post("/api/claims", worker_id="w", job_types=["elsewhere"], lease=True)
    lease_id = claimed["jobs"][0]["lease"]["lease_id"]
    server.post(f"/api/leases/{lease_id}/release", worker_id="w", status="FAILED", retry=False)
    server.kill()
    _run_sql(server.data, "UPDATE jobs SET retry_state = 'none'")

    server = stage.serve()
    assert server.get("/api/scheduler/status")["recovery"]["retries_created"] == 1
    assert server.job(job)["retry_state"] == "scheduled"
    assert server.retry_of(job)["attempt"] == 1
    server = start_again(stage, server)
    assert len(numbers(server)) == 2


def _run_sql(data: Path, statement: str) -> None:
    raw = sqlite3.connect(data / "headway.db")
    with raw:
        raw.execute(statement)
    raw.close()


def test_a_crash_before_the_commit_leaves_the_job_in_the_queue(stage: Stage) -> None:
    server = stage.serve()
    server.post("/api/queue/pause")
    job = server.submit("note", "a")
    server.kill()
    subprocess.run([sys.executable, "-c", DIE_IN_A_TRANSACTION, server.data / "headway.db"])

    server = stage.serve()
    assert server.job(job)["status"] == "QUEUED"
    server = start_again(stage, server)
    server.post("/api/queue/resume")
    server.wait(job, "SUCCEEDED")
    assert stage.notes() == ["a"]


def test_a_crash_with_several_running_jobs_keeps_the_order_of_the_queue(stage: Stage) -> None:
    server = stage.serve(slots=2)
    running = [server.submit("hold", name, retry_policy=AT_ONCE) for name in ("a", "b")]
    stage.wait_for_note("a")
    stage.wait_for_note("b")
    waiting = [server.submit("note", name) for name in ("c", "d", "e")]
    server.kill()
    stage.let_go("a")
    stage.let_go("b")

    server = stage.serve()
    retries = [server.retry_of(job) for job in running]
    for job in [*waiting, *retries]:
        server.wait(job, "SUCCEEDED")
    assert [server.runs(job)[0]["error"] for job in running] == [CRASHED, CRASHED]
    assert stage.notes()[2:] == ["c", "d", "e", "a", "b"]
    start_again(stage, server)


def test_a_crash_during_recovery_is_recovered_from(stage: Stage) -> None:
    server = stage.serve()
    job = server.submit("hold", "a", retry_policy=AT_ONCE)
    stage.wait_for_note("a")
    server.kill()
    for _ in range(2):
        _start_and_die(stage)
    stage.let_go("a")

    server = stage.serve()
    server.wait(server.retry_of(job), "SUCCEEDED")
    (run,) = server.runs(job)
    assert run["error"] == CRASHED
    assert stage.notes() == ["a", "a"]
    start_again(stage, server)


def _start_and_die(stage: Stage) -> None:
    settings = '{"data": "data", "app": "shop:app", "port": 0}'
    died = subprocess.run(
        [sys.executable, "-c", DIE_WHILE_RECOVERING + SERVE, settings],
        cwd=stage.folder,
        capture_output=True,
    )
    assert died.returncode == -9, died.stderr


def test_programs_of_a_dead_server_are_ended_before_the_retry_starts(stage: Stage) -> None:
    script = (  # a zombie is in the list of processes and yet not alive
        "trap '' TERM; for pid in $(cat pids); do "
        "grep -qs 'State:.[RSDT]' /proc/$pid/status && echo beside >> notes.txt; done; "
        "echo $$ >> pids; echo started >> notes.txt; while [ ! -e end ]; do sleep 0.05; done"
    )
    (stage.folder / "pids").touch()
    server = stage.serve()
    job = server.submit("command", params={"argv": ["sh", "-c", script]}, retry_policy=AT_ONCE)
    stage.wait_for_note("started")
    _kill_with_its_guard(server)

    server = stage.serve()
    retry = server.retry_of(job)
    wait_for(lambda: len(stage.notes()) >= 2, "the retry to start")
    (stage.folder / "end").touch()
    server.wait(retry, "SUCCEEDED")
    assert stage.notes() == ["started", "started"]


def _kill_with_its_guard(server: Process) -> None:
    """Without the guard only recovery is left to end the programs."""
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
    tasks = children.parents[1].glob("*/children")
    pids = [pid for task in tasks for pid in task.read_text().split()]
    guards = [pid for pid in pids if b"guard.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert len(guards) == 1
    server.kill_beside(int(guards[0]))


def test_a_crash_between_the_slices_of_a_cancel_leaves_no_job_waiting(stage: Stage) -> None:
    settings = {"data": "data", "app": "shop:app", "port": 0}
    server = Server(stage, settings, DIE_IN_THE_THIRD_SLICE)
    server.post("/api/queue/pause")
    wanted = [
        {"job_type": "note", "params": {"name": str(n)}, "ref": str(n)}
        | ({"after": [f"ref:{n - 1}"]} if n else {})
        for n in range(100)
    ]
    made = server.post("/api/jobs/batch", jobs=wanted)["jobs"]
    assert server.post(f"/api/jobs/{made[0]['job_id']}/cancel")["status"] == "CANCELLED"
    assert server.process.wait(WAIT_S) == -9

    rows = _read_sql(server.data, "SELECT status, count(*) FROM jobs GROUP BY 1 ORDER BY 1")
    blocked = 20 + 2 * (1 + 20)
    assert rows == [
        ("BLOCKED_BY_DEPENDENCY", blocked),
        ("CANCELLED", 1),
        ("WAITING_ON_DEPS", 99 - blocked),
    ]
    server = stage.serve()
    server.wait(made[-1], "BLOCKED_BY_DEPENDENCY")
    rows = _read_sql(server.data, "SELECT status, count(*) FROM jobs GROUP BY 1 ORDER BY 1")
    assert rows == [("BLOCKED_BY_DEPENDENCY", 99), ("CANCELLED", 1)]


def _read_sql(data: Path, question: str) -> list[tuple[object, ...]]:
    raw = sqlite3.connect(data / "headway.db")
    rows = raw.execute(question).fetchall()
    raw.close()
    return rows
