"""Commands, as real processes."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.worker.executor_helpers import Outcomes, eventually, make_work, read_when_there, run

from headway.domain.runs import Outcome, RunStatus
from headway.worker import process_groups
from headway.worker.context import JobContext, Work
from headway.worker.executors.children import Nursery
from headway.worker.executors.commands import CommandExecutor
from headway.worker.executors.interface import Running
from headway.worker.guard import Guard
from headway.workspace.workspace import Workspace

IGNORES_SIGTERM = "trap '' TERM; echo ready; while true; do sleep 0.05; done"
OBEYS_SIGTERM = "trap 'exit 0' TERM; echo ready; while true; do sleep 0.05; done"


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    """A guard and timers, with a short grace period."""
    guard = Guard()
    yield Nursery(guard, grace=0.2)
    guard.close()


@pytest.fixture
def executor(nursery: Nursery, tmp_path: Path) -> CommandExecutor:
    """An executor whose workspace is the test's folder."""
    return CommandExecutor(nursery, Workspace(tmp_path).resolve)


def command(directory: Path, *argv: str, timeout_s: float | None = None, **more: Any) -> Work:
    return make_work(directory, "command", {"argv": list(argv), **more}, timeout_s=timeout_s)


def shell(directory: Path, script: str, **more: Any) -> Work:
    return command(directory, "sh", "-c", script, **more)


def start(executor: CommandExecutor, work: Work) -> tuple[Running, Outcomes]:
    """Start a command and wait for its first line."""
    outcomes = Outcomes()
    running = executor.start(work, JobContext(work), outcomes)
    read_when_there(work.log_dir / "stdout.log")
    return running, outcomes


def test_exit_code_0_completes(executor: CommandExecutor, tmp_path: Path) -> None:
    work = shell(tmp_path, "echo out; echo err >&2")
    assert run(executor, work) == Outcome(status=RunStatus.COMPLETED, exit_code=0)
    assert (work.log_dir / "stdout.log").read_text() == "out\n"
    assert (work.log_dir / "stderr.log").read_text() == "err\n"


def test_any_other_exit_code_fails(executor: CommandExecutor, tmp_path: Path) -> None:
    outcome = run(executor, shell(tmp_path, "exit 3"))
    assert outcome == Outcome(status=RunStatus.FAILED, exit_code=3, error="exited with code 3")


def test_a_command_killed_by_a_signal_names_it(executor: CommandExecutor, tmp_path: Path) -> None:
    outcome = run(executor, shell(tmp_path, "kill -KILL $$"))
    assert (outcome.exit_code, outcome.error) == (137, "killed by SIGKILL")


@pytest.mark.parametrize("params", [{}, {"argv": []}, {"argv": None}])
def test_a_command_without_arguments_fails(
    executor: CommandExecutor, tmp_path: Path, params: dict[str, Any]
) -> None:
    outcome = run(executor, make_work(tmp_path, "command", params))
    assert outcome == Outcome(status=RunStatus.FAILED, exit_code=1, error="missing child args")


def test_a_program_that_is_not_there_fails_with_127(
    executor: CommandExecutor, tmp_path: Path
) -> None:
    outcome = run(executor, command(tmp_path, "no-such-program"))
    assert (outcome.exit_code, outcome.error) == (127, "program not found: no-such-program")


def test_a_file_that_is_no_program_fails_with_126(
    executor: CommandExecutor, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("not a program")
    outcome = run(executor, command(tmp_path, "./notes.txt"))
    assert outcome.exit_code == 126
    assert "cannot start ./notes.txt" in (outcome.error or "")


def test_an_argument_with_a_nul_fails(executor: CommandExecutor, tmp_path: Path) -> None:
    outcome = run(executor, command(tmp_path, "echo", "a\0b"))
    assert (outcome.status, outcome.exit_code) == (RunStatus.FAILED, 126)


def test_params_of_the_wrong_type_fail(executor: CommandExecutor, tmp_path: Path) -> None:
    outcome = run(executor, make_work(tmp_path, "command", {"argv": "ls"}))
    assert "argv: Expected `array | null`, got `str`" in (outcome.error or "")


def test_cwd_is_relative_to_the_workspace(executor: CommandExecutor, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    work = shell(tmp_path, "pwd", cwd="sub")
    run(executor, work)
    assert (work.log_dir / "stdout.log").read_text() == f"{tmp_path.resolve() / 'sub'}\n"


@pytest.mark.parametrize(
    ("cwd", "problem"),
    [("..", "outside the workspace"), ("missing", "there is no folder 'missing'")],
)
def test_a_cwd_that_cannot_be_used_fails(
    executor: CommandExecutor, tmp_path: Path, cwd: str, problem: str
) -> None:
    outcome = run(executor, shell(tmp_path, "pwd", cwd=cwd))
    assert outcome.exit_code == 1
    assert problem in (outcome.error or "")


def test_env_adds_to_the_environment_and_secrets_stay_here(
    executor: CommandExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HEADWAY_TOKEN", "HEADWAY_OTHER_SECRET", "PGPASSWORD", "PGPASSFILE"):
        monkeypatch.setenv(name, "hush")
    monkeypatch.setenv("HEADWAY_DB", "postgresql://me:hush@host/db")
    monkeypatch.setenv("HEADWAY_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("INHERITED", "yes")
    work = command(tmp_path, "env", env={"ADDED": "too"})
    run(executor, work)
    seen = (work.log_dir / "stdout.log").read_text().splitlines()
    assert {"INHERITED=yes", "ADDED=too", "HEADWAY_URL=http://127.0.0.1:1"} <= set(seen)
    marks = {"HEADWAY_JOB_ID=job-1", f"HEADWAY_RUN_ID={work.run_id}", "HEADWAY_ATTEMPT=0"}
    assert marks <= set(seen)
    assert "hush" not in "".join(seen)


def test_stdin_is_fed_whether_it_is_read_or_not(executor: CommandExecutor, tmp_path: Path) -> None:
    text = "line\n" * 100_000
    work = shell(tmp_path, "wc -c", stdin=text)
    run(executor, work)
    assert (work.log_dir / "stdout.log").read_text().strip() == str(len(text))
    assert run(executor, shell(tmp_path, "exit 0", stdin=text)).status is RunStatus.COMPLETED


@pytest.mark.parametrize("script", [OBEYS_SIGTERM, IGNORES_SIGTERM])
def test_a_late_command_is_ended_without_grace(
    nursery: Nursery, executor: CommandExecutor, tmp_path: Path, script: str
) -> None:
    nursery.grace = 3600
    outcome = run(executor, command(tmp_path, "sh", "-c", script, timeout_s=0.1))
    assert outcome == Outcome(
        status=RunStatus.FAILED, error="timed out after 0.1 s", exit_code=137, timed_out=True
    )


@pytest.mark.parametrize("script", [OBEYS_SIGTERM, IGNORES_SIGTERM])
def test_a_command_stopped_by_force_has_exit_code_143(
    executor: CommandExecutor, tmp_path: Path, script: str
) -> None:
    running, outcomes = start(executor, shell(tmp_path, script))
    running.stop()
    assert outcomes.next() == Outcome(
        status=RunStatus.FAILED, exit_code=143, error="stopped by force"
    )


def test_a_command_stopped_at_once_ends_too(executor: CommandExecutor, tmp_path: Path) -> None:
    work = command(tmp_path, "sleep", "60")
    outcomes = Outcomes()
    executor.start(work, JobContext(work), outcomes).stop()
    assert outcomes.next().exit_code == 143


def test_a_frozen_command_can_be_stopped(executor: CommandExecutor, tmp_path: Path) -> None:
    running, outcomes = start(executor, shell(tmp_path, "echo ready; kill -STOP $$; sleep 60"))
    running.stop()
    assert outcomes.next().exit_code == 143


def test_being_asked_to_cancel_does_not_interrupt(
    executor: CommandExecutor, tmp_path: Path
) -> None:
    work = shell(tmp_path, "echo ready; while [ ! -e go ]; do sleep 0.05; done; exit 7")
    ctx = JobContext(work)
    outcomes = Outcomes()
    executor.start(work, ctx, outcomes)
    read_when_there(work.log_dir / "stdout.log")
    ctx.cancel()
    (tmp_path / "go").touch()
    assert outcomes.next().exit_code == 7


def test_nothing_outlives_the_run(executor: CommandExecutor, tmp_path: Path) -> None:
    stubborn = "(trap '' TERM; touch deaf; while true; do sleep 0.05; done) &"
    work = shell(tmp_path, f"{stubborn} while [ ! -e deaf ]; do sleep 0.05; done; echo $$")
    assert run(executor, work).status is RunStatus.COMPLETED
    group = int((work.log_dir / "stdout.log").read_text())
    assert process_groups.is_gone(group)


LEAVES_ITS_GROUP = "setsid sh -c 'echo $$ > left; exec sleep 600' & "
DOUBLE_FORKS = "setsid sh -c 'sleep 600 & echo $! > left'; "
UNTIL_LEFT = "while [ ! -s left ]; do sleep 0.05; done; echo ready; "


def is_over(directory: Path) -> bool:
    """Whether the process that left its group has ended; a zombie that init has yet to reap has."""
    pid = int((directory / "left").read_text())
    began = process_groups.start_time(pid)
    return began is None or not process_groups.is_running(pid, began)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.parametrize("leaves", [LEAVES_ITS_GROUP, DOUBLE_FORKS])
def test_a_child_in_a_session_of_its_own_ends_with_the_run(
    executor: CommandExecutor, tmp_path: Path, leaves: str
) -> None:
    work = shell(tmp_path, leaves + UNTIL_LEFT)
    assert run(executor, work).status is RunStatus.COMPLETED
    eventually(lambda: is_over(tmp_path))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_a_child_in_a_session_of_its_own_ends_with_the_time_out(
    executor: CommandExecutor, tmp_path: Path
) -> None:
    outcome = run(executor, shell(tmp_path, LEAVES_ITS_GROUP + "sleep 600", timeout_s=1.0))
    assert outcome.timed_out
    eventually(lambda: is_over(tmp_path))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.parametrize("by_guard", [False, True])
def test_a_child_in_a_session_of_its_own_ends_by_force_and_by_the_guard(
    executor: CommandExecutor, tmp_path: Path, by_guard: bool
) -> None:
    work = shell(tmp_path, LEAVES_ITS_GROUP + UNTIL_LEFT + "sleep 600")
    running, outcomes = start(executor, work)
    if by_guard:
        running.renew(0.0)
    else:
        running.stop()
    outcomes.next()
    eventually(lambda: is_over(tmp_path))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_the_recovery_ends_a_child_in_a_session_of_its_own(
    executor: CommandExecutor, tmp_path: Path
) -> None:
    work = shell(tmp_path, LEAVES_ITS_GROUP + UNTIL_LEFT + "sleep 600")
    _, outcomes = start(executor, work)
    eventually((work.log_dir / "process.json").exists)
    assert process_groups.end_recorded({work.run_id: work.log_dir}, grace=10)
    assert is_over(tmp_path)
    outcomes.next()


def test_the_process_is_noted_for_the_recovery(executor: CommandExecutor, tmp_path: Path) -> None:
    work = shell(tmp_path, "echo $$; sleep 60")
    running, outcomes = start(executor, work)
    pid = int((work.log_dir / "stdout.log").read_text())
    eventually((work.log_dir / "process.json").exists)
    note = json.loads((work.log_dir / "process.json").read_text())
    assert note == {
        "pid": pid,
        "start_time": process_groups.start_time(pid),
        "boot_id": process_groups.boot_id(),
    }
    assert os.getpgid(pid) == pid
    running.stop()
    outcomes.next()


def test_the_recovery_ends_a_noted_process(executor: CommandExecutor, tmp_path: Path) -> None:
    work = shell(tmp_path, "echo ready; sleep 60")
    _, outcomes = start(executor, work)
    eventually((work.log_dir / "process.json").exists)
    assert process_groups.end_recorded({work.run_id: work.log_dir}, grace=10)
    assert outcomes.next().error == "killed by SIGTERM"


def test_much_output_goes_to_the_file(executor: CommandExecutor, tmp_path: Path) -> None:
    work = command(tmp_path, sys.executable, "-c", "print('x' * 20_000_000)")
    assert run(executor, work).status is RunStatus.COMPLETED
    assert (work.log_dir / "stdout.log").stat().st_size == 20_000_001


def test_a_command_past_the_deadline_of_its_lease_is_ended_by_the_guard(
    executor: CommandExecutor, tmp_path: Path
) -> None:
    running, outcomes = start(executor, shell(tmp_path, "echo ready; exec sleep 60"))
    running.renew(0.0)
    outcome = outcomes.next()
    assert (outcome.status, outcome.exit_code) == (RunStatus.FAILED, 128 + signal.SIGTERM)
