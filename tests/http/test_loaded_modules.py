"""What a client, a command and a remote worker load: nothing of what only a server needs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.servers import Server

SERVER_ONLY = ("headway.operations", "headway.scheduler", "headway.storage", "headway.http")
LOADED = "\nimport json, sys; print(json.dumps(sorted(sys.modules)))"

CLIENT = """
import headway
from headway import protocol
client = headway.connect(url={url!r}, token={token!r})
client.send(protocol.jobs.create_job, body=headway.JobRequest(job_type="nothing"))
list(client.pages(protocol.jobs.list_jobs))
client.close()
"""
WORKER = "import headway.cli.work"
PROGRAM = """
import atexit, json, sys
sys.argv = ["headway", *{words!r}]
atexit.register(lambda: print(json.dumps(sorted(sys.modules))))
from headway.cli import main
main.main()
"""


def loaded_by(code: str, folder: Path) -> set[str]:
    """The modules of headway that a program has loaded at its end."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
        env={**os.environ, "HEADWAY_DATA": str(folder / "none")},
    )
    assert done.returncode == 0, done.stderr
    modules: list[str] = json.loads(done.stdout.splitlines()[-1])
    return {name for name in modules if name.partition(".")[0] == "headway"}


def of_the_server(modules: set[str]) -> set[str]:
    """Those among the modules that only a server needs."""
    return {name for name in modules if name.startswith(SERVER_ONLY)}


def test_a_client_over_http_loads_no_scheduler_and_no_storage(
    server: Server, tmp_path: Path
) -> None:
    code = CLIENT.format(url=server.url, token=server.token) + LOADED
    loaded = loaded_by(code, tmp_path)
    assert "headway.client.over_http" in loaded
    assert not of_the_server(loaded)
    assert len(loaded) < 90


def test_a_remote_worker_loads_no_scheduler_and_no_storage(tmp_path: Path) -> None:
    loaded = loaded_by(WORKER + LOADED, tmp_path)
    assert {"headway.worker.loop", "headway.worker.remote"} <= loaded
    assert not of_the_server(loaded)
    assert len(loaded) < 130


def test_the_help_loads_almost_nothing(tmp_path: Path) -> None:
    assert len(loaded_by(PROGRAM.format(words=["--help"]), tmp_path)) < 12


@pytest.mark.parametrize("words", [["jobs", "list"], ["submit", "nothing"], ["limits", "list"]])
def test_a_command_for_a_server_loads_no_scheduler_and_no_storage(
    server: Server, tmp_path: Path, words: list[str]
) -> None:
    given = [*words, "--url", server.url, "--token", server.token]
    loaded = loaded_by(PROGRAM.format(words=given), tmp_path)
    assert "headway.client.over_http" in loaded
    assert not of_the_server(loaded)
