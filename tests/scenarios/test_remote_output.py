"""The output of a worker elsewhere is followed as if it ran here."""

import sys
import threading

from tests.servers import Server, Stage, wait_for

REPEAT = "import sys; sys.stdout.write('0123456789abcdef' * 200_000); sys.exit(3)"


def test_output_is_followed_while_the_job_runs_elsewhere(stage: Stage) -> None:
    server = stage.serve(app=None)
    stage.work(server)
    job = server.submit("talk", "a")
    run = wait_for(lambda: server.job(job)["run_id"], "the run")
    parts: list[str] = []

    def follow() -> None:
        path = f"/api/job-runs/{run}/logs/stdout"
        with server.http.stream("GET", path, params={"follow": "true"}) as answer:
            parts.extend(answer.iter_text())

    reader = threading.Thread(target=follow)
    reader.start()
    wait_for(lambda: "hello a\n" in "".join(parts), "the first line")
    assert server.job(job)["status"] == "RUNNING"
    stage.let_go("a")
    reader.join()
    assert "".join(parts) == "hello a\nbye a\n"
    server.wait(job, "SUCCEEDED")
    wait_for(lambda: not kept(stage), "the worker to keep nothing of it")


def test_all_that_a_command_said_is_there_when_it_has_ended(stage: Stage) -> None:
    server = stage.serve(app=None)
    stage.work(server, capabilities=["far"])
    params = {"argv": [sys.executable, "-c", REPEAT]}
    job = server.submit("command", params=params, requires=["far"])
    assert server.wait(job, "FAILED")["exit_code"] == 3
    said = server.http.get(f"/api/job-runs/{server.runs(job)[0]['run_id']}/logs/stdout").text
    assert said == "0123456789abcdef" * 200_000
    wait_for(lambda: not kept(stage), "the worker to keep nothing of it")


def test_output_is_not_lost_while_the_server_is_away(stage: Stage) -> None:
    server = stage.serve(app=None, lease_ttl_s=20)
    worker = stage.work(server)
    job = server.submit("talk", "a")
    wait_for(lambda: server.job(job)["status"] == "RUNNING", "the run")
    wait_for(lambda: log(server, job), "the first words: the worker knows of the run")
    server.kill()
    stage.let_go("a")
    wait_for(lambda: "outcomes wait" in worker.log, "the worker to report in vain")
    server = stage.serve(app=None, lease_ttl_s=20, port=int(server.url.rpartition(":")[2]))
    server.wait(job, "SUCCEEDED")
    assert log(server, job) == "hello a\nbye a\n"


def log(server: Server, job: dict[str, str]) -> str:
    return server.http.get(f"/api/job-runs/{server.runs(job)[0]['run_id']}/logs/stdout").text


def kept(stage: Stage) -> list[str]:
    """The files that the worker still keeps."""
    return [str(path) for path in (stage.folder / "worker").rglob("*.log")]
