"""A worker that does only what the page on the worker protocol says gets what the page shows."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.docs.fences import ROOT, blocks
from tests.servers import WAIT_S, Server, Stage

PAGE = ROOT / "docs" / "worker-protocol.md"

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="the page uses curl")


def type_in(text: str, **variables: str) -> str:
    """What the terminal shows for a block of the page."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        env={**os.environ, "PATH": path, **variables},
        check=True,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )
    return done.stdout


def shape(value: Any) -> Any:
    """Which fields there are, and of which kind; a number may be whole or not."""
    if isinstance(value, dict):
        return {name: shape(item) for name, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return "number" if isinstance(value, int | float) else type(value).__name__


def cut(value: Any, like: Any) -> Any:
    """Only those fields that the page shows, too."""
    if isinstance(value, dict) and isinstance(like, dict):
        return {name: cut(item, like[name]) for name, item in value.items() if name in like}
    if isinstance(value, list) and isinstance(like, list):
        return [cut(item, one) for item, one in zip(value, like, strict=True)]
    return value


def check_shown(answer: str, shown: str) -> Any:
    """The answer has the form that the page shows."""
    got, like = json.loads(answer), json.loads(shown)
    assert shape(cut(got, like)) == shape(like)
    return got


def work_token(server: Server, command: str) -> str:
    return type_in(command, HEADWAY_URL=server.url, HEADWAY_TOKEN=server.token).strip()


def test_a_job_is_claimed_kept_alive_and_released_as_the_page_says(stage: Stage) -> None:
    server = stage.serve()
    made = server.submit("render", requires=["gpu"])
    commands = [one.text for one in blocks(PAGE) if one.info == "bash"]
    shown = [one.text for one in blocks(PAGE) if one.info == "json"]
    door = {"URL": server.url, "TOKEN": work_token(server, commands[0])}

    lease = check_shown(type_in(commands[1], **door), shown[0])["jobs"][0]["lease"]["lease_id"]
    check_shown(type_in(commands[2], **door, LEASE=lease), shown[1])
    for _ in range(2):
        check_shown(type_in(commands[3], **door, LEASE=lease), shown[2])
    assert server.job(made)["status"] == "SUCCEEDED"


def test_output_is_sent_as_the_page_says(stage: Stage) -> None:
    server = stage.serve()
    server.submit("render", requires=["gpu"])
    commands = [one.text for one in blocks(PAGE) if one.info == "bash"]
    shown = [one.text for one in blocks(PAGE) if one.info == "json"]
    door = {"URL": server.url, "TOKEN": work_token(server, commands[0])}
    lease = json.loads(type_in(commands[1], **door))["jobs"][0]["lease"]["lease_id"]
    for _ in range(2):
        assert json.loads(type_in(commands[5], **door, LEASE=lease)) == json.loads(shown[4])
    assert server.http.get(f"/api/job-runs/{lease}/logs/stdout").text == "hello\n"
    assert json.loads(type_in(commands[8], **door)) == {"worker_id": "w1"}


def test_a_lease_is_denied_and_granted_in_two_steps_as_the_page_says(stage: Stage) -> None:
    server = stage.serve()
    made = server.submit("render", requires=["gpu"])
    commands = [one.text for one in blocks(PAGE) if one.info == "bash"]
    denied = [one.text for one in blocks(PAGE) if one.info == "json"][3]
    door = {"URL": server.url, "TOKEN": work_token(server, commands[0]), "JOB": made["job_id"]}
    prepare, _, ask = commands[4].partition("\n")

    type_in(commands[1].replace('"lease": true', '"lease": false'), **door)
    for _ in range(2):
        assert json.loads(type_in(prepare, **door))["status"] == "PREPARING"
    server.http.put("/api/limits/capacity", json={"size": 0})
    check_shown(type_in(ask, **door), denied)
    server.http.put("/api/limits/capacity", json={"size": 100})
    assert json.loads(type_in(ask, **door))["approved"] is True
    assert server.job(made)["status"] == "RUNNING"


def test_a_step_is_recorded_and_the_job_suspended_as_the_page_says(stage: Stage) -> None:
    server = stage.serve()
    made = server.submit("render", requires=["gpu"])
    commands = [one.text for one in blocks(PAGE) if one.info == "bash"]
    shown = [one.text for one in blocks(PAGE) if one.info == "json"]
    door = {"URL": server.url, "TOKEN": work_token(server, commands[0])}
    lease = json.loads(type_in(commands[1], **door))["jobs"][0]["lease"]["lease_id"]
    for _ in range(2):
        check_shown(type_in(commands[6], **door, LEASE=lease), shown[5])
    assert json.loads(type_in(commands[7], **door, LEASE=lease)) == json.loads(shown[6])
    assert server.job(made)["status"] == "SUSPENDED"
    server.http.post(f"/api/jobs/{made['number']}/signals/approved", json={"payload": "yes"})
    (again,) = json.loads(type_in(commands[1], **door))["jobs"]
    assert [(one["kind"], one["name"], one["result"]) for one in again["steps"]] == [
        ("step", "fetch", {"pages": 3}),
        ("signal", "approved", "yes"),
    ]
