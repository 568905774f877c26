"""Telling processes apart, and ending groups of them."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.worker.executor_helpers import eventually, read_when_there

from headway.worker import process_groups

Spawn = Callable[..., "subprocess.Popen[bytes]"]
GRACE_S = 10.0


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Starts processes in groups of their own, which end with the test."""
    spawned: list[subprocess.Popen[bytes]] = []

    def start(*argv: str, mark: str | None = None) -> "subprocess.Popen[bytes]":
        env = {name: value for name, value in os.environ.items() if name != "HEADWAY_RUN_ID"}
        if mark is not None:
            env["HEADWAY_RUN_ID"] = mark
        spawned.append(subprocess.Popen(argv, start_new_session=True, env=env))
        environment = Path(f"/proc/{spawned[-1].pid}/environ")
        if mark is not None and environment.exists():  # it looks empty while a program is loaded
            eventually(lambda: bool(environment.read_bytes()))
        return spawned[-1]

    yield start
    for process in spawned:
        process_groups.send(process.pid, signal.SIGKILL)
        process.wait()


def began(pid: int) -> str:
    time = process_groups.start_time(pid)
    assert time is not None
    return time


def leaderless(spawn: Spawn, directory: Path, mark: str | None) -> tuple[int, str, int]:
    """A group whose leader is gone and reaped: its number, its start time, and the one left."""
    script = f"sleep 60 & echo $! > {directory}/left; read wait < {directory}/go"
    os.mkfifo(directory / "go")
    leader = spawn("sh", "-c", script, mark=mark)
    time = began(leader.pid)
    left = int(read_when_there(directory / "left"))
    (directory / "go").write_text("go\n")
    leader.wait()
    return leader.pid, time, left


def test_the_start_time_of_a_process_does_not_change(spawn: Spawn) -> None:
    process = spawn("sleep", "60")
    assert process_groups.start_time(process.pid) == process_groups.start_time(process.pid)


def test_a_process_that_is_not_there_has_no_start_time(spawn: Spawn) -> None:
    process = spawn("true")
    process.wait()
    assert process_groups.start_time(process.pid) is None
    with pytest.raises(ProcessLookupError):
        process_groups.identify(process.pid)


def test_a_process_name_cannot_confuse(spawn: Spawn, tmp_path: Path) -> None:
    odd = tmp_path / "a) R 1 (b"
    odd.symlink_to("/bin/sleep")
    process = spawn(str(odd), "60")
    assert began(process.pid).isdigit() == began(os.getpid()).isdigit()
    assert not process_groups.is_gone(process.pid)


def test_this_process_is_alive() -> None:
    assert process_groups.is_alive(process_groups.identify(os.getpid()))


def test_a_killed_process_is_not_alive_even_before_it_is_reaped(spawn: Spawn) -> None:
    process = spawn("sleep", "60")
    identity = process_groups.identify(process.pid)
    process.kill()
    eventually(lambda: not process_groups.is_alive(identity))
    assert process_groups.start_time(process.pid) == identity.start_time
    process.wait()
    assert not process_groups.is_alive(identity)


def test_another_process_with_the_same_number_is_not_the_same() -> None:
    identity = process_groups.identify(os.getpid())
    assert not process_groups.is_alive(dataclasses.replace(identity, start_time="1"))
    assert not process_groups.is_alive(dataclasses.replace(identity, boot_id="before"))


def test_a_process_on_another_host_counts_as_alive() -> None:
    identity = process_groups.identify(os.getpid())
    elsewhere = dataclasses.replace(identity, host="elsewhere", start_time="1")
    assert process_groups.is_alive(elsewhere)


def test_a_group_is_ended_with_all_its_members(spawn: Spawn, tmp_path: Path) -> None:
    process = spawn("sh", "-c", f"sleep 60 & echo $! > {tmp_path}/member; wait")
    read_when_there(tmp_path / "member")
    assert process_groups.end_group(process.pid, began(process.pid), GRACE_S)
    assert process_groups.is_gone(process.pid)


def test_a_member_that_ignores_the_request_is_killed(spawn: Spawn, tmp_path: Path) -> None:
    script = f"trap '' TERM; echo > {tmp_path}/deaf; while true; do sleep 0.05; done"
    process = spawn("sh", "-c", script)
    read_when_there(tmp_path / "deaf")
    assert process_groups.end_group(process.pid, began(process.pid), 0.1)
    assert process.wait() == -signal.SIGKILL


def test_a_group_of_zombies_is_gone(spawn: Spawn) -> None:
    process = spawn("true")
    eventually(lambda: process_groups.is_gone(process.pid))
    assert process_groups.start_time(process.pid) is not None


def test_a_stranger_with_the_same_number_is_left_alone(spawn: Spawn) -> None:
    process = spawn("sleep", "60")
    assert process_groups.end_group(process.pid, "1", GRACE_S)
    assert not process_groups.is_gone(process.pid)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_what_a_gone_leader_left_is_ended_when_it_is_ours(spawn: Spawn, tmp_path: Path) -> None:
    pgid, time, _ = leaderless(spawn, tmp_path, mark="run-1")
    assert process_groups.end_group(pgid, time, GRACE_S)
    assert process_groups.is_gone(pgid)


def test_what_a_gone_leader_left_is_left_alone_when_nothing_proves_it_ours(
    spawn: Spawn, tmp_path: Path
) -> None:
    pgid, time, left = leaderless(spawn, tmp_path, mark=None)
    assert process_groups.end_group(pgid, time, GRACE_S)
    assert process_groups.start_time(left) is not None
    assert not process_groups.is_gone(pgid)


def test_a_noted_group_is_ended(spawn: Spawn, tmp_path: Path) -> None:
    process = spawn("sleep", "60")
    process_groups.record(tmp_path, process.pid)
    assert process_groups.end_recorded({"run-1": tmp_path}, GRACE_S)
    assert process_groups.is_gone(process.pid)


def test_a_note_from_before_the_last_boot_means_nothing(spawn: Spawn, tmp_path: Path) -> None:
    process = spawn("sleep", "60")
    process_groups.record(tmp_path, process.pid)
    note = json.loads((tmp_path / "process.json").read_text())
    (tmp_path / "process.json").write_text(json.dumps(note | {"boot_id": "before"}))
    assert process_groups.end_recorded({"run-1": tmp_path}, GRACE_S)
    assert not process_groups.is_gone(process.pid)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_a_group_that_was_never_noted_is_found_by_its_run(spawn: Spawn, tmp_path: Path) -> None:
    ours = spawn("sleep", "60", mark=f"run-{os.getpid()}-1")
    other = spawn("sleep", "60", mark=f"run-{os.getpid()}-12")
    assert process_groups.end_recorded({f"run-{os.getpid()}-1": tmp_path}, GRACE_S)
    assert process_groups.is_gone(ours.pid)
    assert not process_groups.is_gone(other.pid)


@pytest.mark.skipif(shutil.which("ps") is None, reason="needs ps")
def test_without_proc_processes_are_read_from_ps(
    spawn: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_groups, "_HAS_PROC", False)
    process = spawn("sleep", "60")
    assert process_groups.start_time(process.pid) is not None
    assert not process_groups.is_gone(process.pid)
    assert process_groups.end_members(process.pid, GRACE_S)
    assert process_groups.is_gone(process.pid)
    process.wait()
    assert process_groups.start_time(process.pid) is None
