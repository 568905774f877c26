"""`headway run`, `jobs attach` and `jobs tail`: real programs that run real commands."""

import json
import re
import signal
import threading
import time

import httpx
import pytest
from tests.cli.conftest import WAIT_S, Cli

LOUD = ("sh", "-c", "echo out; echo oops >&2; exit 3")


def test_run_brings_its_own_worker_and_exits_with_the_command_s_code(cli: Cli) -> None:
    code, out, err = cli.program("run", "--", *LOUD)
    assert (code, out) == (3, "out\n")
    assert "oops\n" in err
    job = cli.json("jobs", "show", "1")
    assert (job["status"], job["exit_code"]) == ("FAILED", 3)
    assert len(cli.json("jobs", "list", "--all")["items"]) == 1, "it is not tried again"
    assert cli.text("jobs", "tail", "1") == "out\n"
    assert cli.text("jobs", "tail", "1", "--stderr") == "oops\n"
    run = cli.json("runs", "list", "--job", "1")["items"][0]
    assert cli.text("runs", "logs", run["run_id"]) == "out\n"
    assert "exited with code 3" in cli.text("runs", "show", run["run_id"])
    assert cli.json("runs", "retry", run["run_id"])["retry_of"] == job["job_id"]
    assert "headway jobs tail 1 --stderr" in cli.text("why", "1")


def test_run_takes_only_its_own_job_and_works_where_it_is_called(cli: Cli) -> None:
    cli.call("submit", "command", "--priority", "urgent", "--", "touch", "other")
    code, out, _ = cli.program("run", "--json", "--", "pwd")
    assert code == 0
    assert json.loads(out)["status"] == "SUCCEEDED"
    assert cli.text("jobs", "tail", "2").strip() == str(cli.folder.resolve())
    assert not (cli.folder / "other").exists()
    assert cli.text("jobs", "status", "1") == "queued\n"


def test_run_passes_on_what_is_piped(cli: Cli) -> None:
    assert cli.program("run", "--", "cat", piped="hi, Zoë\n")[:2] == (0, "hi, Zoë\n")
    assert cli.program("run", "--", "cat", piped="")[:2] == (0, "")
    assert cli.program("run", "--", "cat")[:2] == (0, "")
    (cli.folder / "headway.toml").write_text("largest_body = 1000")
    code, _, err = cli.program("run", "--", "cat", piped="x" * 1001)
    assert (code, "there are more than 1000 bytes; write it to a file" in err) == (2, True)
    assert len(cli.json("jobs", "list", "--all")["items"]) == 3


def test_run_waits_for_another_job_with_and_without_a_policy(cli: Cli) -> None:
    cli.call("run", "--", "false", code=1)
    assert cli.program("run", "--after", "1:failure", "--", "echo", "second")[:2] == (0, "second\n")
    code, _, err = cli.program("run", "--after", "1", "--", "echo", "third")
    assert (code, "dependency failed for job 1" in err) == (10, True)


def test_run_mends_what_a_server_that_crashed_has_left_behind(cli: Cli) -> None:
    with cli.start("serve", "--port", "0", "--json") as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        token = (cli.folder / ".headway" / "admin.token").read_text().strip()
        job = {"job_type": "command", "params": {"argv": ["sleep", "600"]}}
        with httpx.Client(base_url=url, headers={"authorization": f"Bearer {token}"}) as http:
            assert http.post("/api/jobs", json=job).status_code == 201
            assert http.post("/api/reservations", json={"reserved_by": "me"}).status_code == 201
        server.kill()
    code, out, _ = cli.program("run", "--", "echo", "done")
    assert (code, out) == (0, "done\n")


def test_every_command_knows_that_the_server_was_killed(cli: Cli) -> None:
    words = ("sh", "-c", "echo begun; exec sleep 600")
    with cli.start("serve", "--port", "0", "--json") as server:
        assert server.stdout is not None
        server.stdout.readline()
        cli.call("submit", "command", "--retries", "0", "--", *words)
        _until(cli, "running", "jobs", "status", "1")
        _until(cli, "begun", "jobs", "tail", "1")
        server.kill()
    gone = "the server that ran it is gone; start it again with `headway serve`"
    status = cli.text("jobs", "status")
    assert "no worker is alive" in status
    assert f"Job 1 does not go on: {gone}" in status
    assert f"It does not go on: {gone}" in cli.text("why", "1")
    assert "gone" in cli.text("workers", "list")
    assert f"Job 1: {gone}" in cli.text("workers", "list")
    code, out, err = cli.program("jobs", "attach", "1")
    assert (code, out) == (1, "begun\n")
    assert f"job 1 does not go on: {gone}" in err
    assert f"It does not go on: {gone}" in cli.text("jobs", "cancel", "1", "--force")


def test_a_killed_server_s_own_file_is_used_however_it_was_named(cli: Cli) -> None:
    named = f"sqlite:///{(cli.folder / '.headway' / 'headway.db').absolute()}"
    with cli.start("serve", "--port", "0", "--json", "--db", named) as server:
        assert server.stdout is not None
        server.stdout.readline()
        cli.call("submit", "work")
        server.kill()
    assert "work" in cli.text("jobs", "list")


def test_while_another_server_works_it_recovers_what_a_killed_one_ran(cli: Cli) -> None:
    with cli.start("serve", "--port", "0", "--json") as server:
        assert server.stdout is not None
        server.stdout.readline()
        cli.call("submit", "command", "--", "sleep", "600")
        _until(cli, "running", "jobs", "status", "1")
        with cli.start("serve", "--port", "0", "--json") as other:
            assert other.stdout is not None
            other.stdout.readline()
            server.kill()
            server.wait()
            gone = "the server that ran it is gone; another server recovers the job"
            assert f"Job 1: {gone} when its lease ends" in cli.text("workers", "list")


def test_ctrl_c_ends_the_command(cli: Cli) -> None:
    with cli.start("run", "--", "sh", "-c", "echo ready; exec sleep 600") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=WAIT_S)
    assert process.returncode == 130
    assert cli.json("jobs", "show", "1")["status"] == "CANCELLED"


def test_ctrl_c_ends_the_watching_and_not_the_job(served: Cli) -> None:
    served.call("submit", "command", "--", "sh", "-c", "echo ready; exec sleep 600")
    _until(served, "running", "jobs", "status", "1")
    with served.start("jobs", "attach", "1") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130
    assert "\njob 1 goes on without you watching; headway jobs attach 1" in err
    assert served.text("jobs", "status", "1") == "running\n"
    served.call("jobs", "cancel", "1", "--force")


def test_ctrl_c_may_come_before_the_output_is_read(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = threading.Thread.start
    interrupted: list[threading.Thread] = []

    def start(thread: threading.Thread) -> None:
        if "_copy" in thread.name and not interrupted:
            interrupted.append(thread)
            raise KeyboardInterrupt
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    assert "cancelling job 1" in cli.error("run", "--", "sleep", "600", code=130)
    assert cli.json("jobs", "show", "1")["status"] == "CANCELLED"


def test_a_command_that_can_never_start_exits_with_10(cli: Cli) -> None:
    code, _, err = cli.program("run", "--needs", "file:nowhere", "--", "true")
    assert (code, "missing file:nowhere" in err) == (10, True)


def test_with_a_server_jobs_are_followed_to_their_end(served: Cli) -> None:
    code, out, err = served.program("run", "--", *LOUD)
    assert (code, out, "oops\n" in err) == (3, "out\n", True)
    job = served.json("submit", "story", "genre=horror", "length=3")
    code, out, _ = served.program("jobs", "attach", str(job["number"]))
    assert (code, out) == (0, "a horror story of 3 words\n")
    assert "params do not fit" in served.error("submit", "story", "length=x", code=2)
    served.call("submit", "command", "--retries", "0", "--", *LOUD)
    served.call("submit", "story", "genre=crime", "--after", "3")
    code, _, err = served.program("jobs", "attach", "4")
    assert code == 10
    assert "dependency failed for job 3 (failed)" in err


def test_with_a_server_the_rest_of_the_command_line_works_the_same(served: Cli) -> None:
    hold = served.json("submit", "command", "--lock", "gpu", "--", "sleep", "600")["number"]
    line = served.json("submit", "command", "--lock", "gpu", "--", "true")["number"]
    assert f"job {hold} running  holds gpu (exclusive)" in _until(
        served, f"job {hold} running", "why", str(line)
    )
    assert "sleep 600" in served.text("top", "--once")
    assert "alive" in served.text("workers", "list")
    assert "answers, and a worker is alive" in served.text("doctor")
    assert served.error("jobs", "show", "99", code=3) == "error: there is no job 99\n"
    problem = json.loads(served.error("jobs", "show", "99", "--json", code=3))
    assert problem["code"] == "not_found"
    served.call("jobs", "cancel", str(hold), "--force")
    assert served.program("jobs", "attach", str(hold))[0] == 143
    assert served.program("jobs", "attach", str(line))[0] == 0
    token = served.json("tokens", "create", "reader", "--role", "read")["token"]
    assert "role" in served.error("pause", "--token", token, code=1)


def test_a_thread_cannot_be_forced_to_end_and_this_is_said(served: Cli) -> None:
    served.call("submit", "muse")
    _until(served, "running", "jobs", "status", "1")
    assert served.text("jobs", "cancel", "1") == "Job 1 running, asked to stop\n"
    assert served.text("jobs", "cancel", "1", "--force") == (
        "Job 1 running: it runs in a thread and cannot be forced; it was asked to stop\n"
    )
    assert re.search(r"cancel +requested\n", served.text("jobs", "show", "1"))
    (served.folder / "inspired").touch()
    assert "job 1 cancelled" in served.error("jobs", "attach", "1", code=1)


def test_a_worker_finds_the_server_and_does_what_only_it_can(served: Cli) -> None:
    words = ("worker", "--app", "shop:app", "--queue", "films", "--capability", "gpu")
    with served.start(*words) as worker:
        assert worker.stdout is not None
        assert "Worker for http://" in worker.stdout.readline()
        served.call("submit", "story", "genre=noir", "--queue", "films", "--requires", "gpu")
        assert served.program("jobs", "attach", "1")[0] == 0
        assert served.json("jobs", "show", "1")["worker_id"].startswith("worker-")
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=WAIT_S)


def test_tail_waits_for_a_job_to_start_and_shows_all_it_says(served: Cli) -> None:
    script = "i=0; while [ $i -lt 30 ]; do echo $i; i=$((i+1)); done"
    served.call("submit", "command", "--approval", "--", "sh", "-c", script)
    with served.start("jobs", "tail", "1", "--follow") as tail:
        assert tail.stderr is not None
        assert tail.stderr.readline() == "job 1 is waiting: awaiting human approval\n"
        served.call("jobs", "approve", "1")
        out, _ = tail.communicate(timeout=WAIT_S)
    assert (tail.returncode, out.split()) == (0, [str(n) for n in range(30)])
    assert served.text("jobs", "tail", "1", "--follow").split() == [str(n) for n in range(10, 30)]


def test_tail_of_a_job_that_ends_without_running_says_so(cli: Cli) -> None:
    cli.call("submit", "command", "--approval", "--", "true")
    with cli.start("jobs", "tail", "1", "--follow") as tail:
        assert tail.stderr is not None
        assert "job 1 is waiting" in tail.stderr.readline()
        cli.call("jobs", "cancel", "1", "--reason", "enough")
        out, err = tail.communicate(timeout=WAIT_S)
    assert (tail.returncode, out) == (143, "")
    assert err.startswith("job 1 cancelled")
    cli.call("submit", "command", "--needs", "file:nowhere", "--", "true")
    assert "missing file:nowhere" in cli.error("jobs", "tail", "2", "-f", code=10)
    nothing = {"run_id": None, "stream": "stdout", "text": ""}
    assert cli.json("jobs", "tail", "2", "--follow", code=10) == nothing


def test_ctrl_c_ends_a_tail_and_not_the_job(cli: Cli) -> None:
    cli.call("submit", "command", "--approval", "--", "true")
    with cli.start("jobs", "tail", "1", "--follow") as tail:
        assert tail.stderr is not None
        assert "job 1 is waiting" in tail.stderr.readline()
        tail.send_signal(signal.SIGINT)
        tail.communicate(timeout=WAIT_S)
    assert tail.returncode == 130
    assert cli.text("jobs", "status", "1") == "waiting_on_approval\n"


def _until(cli: Cli, wanted: str, *words: str) -> str:
    """Ask again until the answer has what is waited for."""
    give_up = time.monotonic() + WAIT_S
    while wanted not in (said := cli.text(*words)) and time.monotonic() < give_up:
        time.sleep(0.05)
    return said


def test_doctor_misses_the_file_of_a_running_server(served: Cli) -> None:
    database = served.folder / ".headway" / "headway.db"
    database.rename(database.with_suffix(".away"))
    (ill,) = [one for one in served.json("doctor", code=1)["findings"] if not one["ok"]]
    assert ill["detail"] == ".headway/headway.db is missing, and a server is using it"
    database.with_suffix(".away").rename(database)
    assert "No problems found" in served.text("doctor")


SAY_FOO = ("sh", "-c", 'echo "$FOO"')


def test_run_hands_the_environment_on(served: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOO", "two\nlines")
    monkeypatch.setenv("HEADWAY_SLOTS", "7")
    assert served.program("run", "--", *SAY_FOO)[:2] == (0, "two\nlines\n")
    assert served.program("run", "--no-env", "--", *SAY_FOO)[:2] == (0, "\n")
    kept = served.json("jobs", "show", "1")["params"]["secret_env"]
    assert (kept["FOO"], "HEADWAY_SLOTS" in kept) == ("two\nlines", False)
    assert "secret_env" not in served.json("jobs", "show", "2")["params"]
    monkeypatch.delenv("FOO")
    served.call("jobs", "retry", "1", "--force")
    served.call("jobs", "wait", "1")
    assert served.text("jobs", "tail", "1") == "two\nlines\n"


def test_a_large_environment_hides_no_command(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOO", "x" * 20_000)
    assert cli.program("run", "--", "echo", "on")[:2] == (0, "on\n")
    assert "  echo on  " in cli.text("jobs", "list", "--all")


def test_run_prints_no_environment(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOO", "hush-hush")
    code, out, err = cli.program("run", "--json", "--", "true")
    assert (code, json.loads(out)["params"]["secret_env"]) == (0, "***")
    run_id = json.loads(out)["run_id"]
    shown = cli.text("jobs", "show", "1") + cli.text("jobs", "list", "--all")
    shown += cli.text("runs", "show", run_id) + cli.text("jobs", "attach", "1", "--json")
    assert "hush" not in out + err + shown


def test_run_names_a_variable_that_is_not_text(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD", "\udcff")
    code, out, err = cli.program("run", "--", "echo", "on")
    assert (code, out) == (0, "on\n")
    assert "'ODD' is not handed on, it is not text in UTF-8\n" in err


def test_run_hands_nothing_on_to_a_server_by_url(
    served: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = json.loads((served.folder / ".headway" / "server.json").read_text())["url"]
    monkeypatch.setenv("FOO", "bar")
    assert served.program("run", "--url", url, "--", *SAY_FOO)[:2] == (0, "\n")
