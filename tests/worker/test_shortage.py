"""What the machine lacks is waited for: it is no failure of the job."""

import errno
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.worker.executor_helpers import Outcomes, eventually, make_work

from headway.domain.handlers import Handler
from headway.domain.runs import RunStatus
from headway.worker.context import JobContext, Work
from headway.worker.executors import shortage, slot_threads
from headway.worker.executors.children import Nursery
from headway.worker.executors.commands import CommandExecutor
from headway.worker.executors.processes import ProcessExecutor
from headway.worker.executors.threads import ThreadExecutor
from headway.worker.guard import Guard


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    guard = Guard()
    guard.start()
    yield Nursery(guard)
    guard.close()


class Shortage:
    """Fails calls while it lasts."""

    def __init__(self, number: int, real: Any) -> None:
        self.number = number
        self.lasts = True
        self.real = real

    def __call__(self, *args: Any, **options: Any) -> Any:
        if self.lasts:
            raise OSError(self.number, os.strerror(self.number))
        return self.real(*args, **options)


def handler() -> str:
    return "done"


def started(executor: Any, work: Work) -> tuple[Any, JobContext, Outcomes]:
    outcomes, ctx = Outcomes(), JobContext(work)
    return executor.start(work, ctx, outcomes), ctx, outcomes


def wait_until_told(ctx: JobContext, words: str) -> None:
    said: list[str] = []

    def is_told() -> bool:
        progress = ctx.take_progress()
        said.append(str(progress and progress.message))
        return words in said[-1]

    eventually(is_told)


@pytest.mark.parametrize(
    "number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC]
)
def test_a_command_that_cannot_be_started_for_want_of_something_waits_for_it(
    nursery: Nursery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    lack = Shortage(number, subprocess.Popen)
    monkeypatch.setattr(subprocess, "Popen", lack)
    work = make_work(tmp_path, "command", {"argv": ["true"]})
    _, ctx, outcomes = started(CommandExecutor(nursery, lambda _: tmp_path), work)
    wait_until_told(ctx, f"not started yet: {os.strerror(number)}")
    assert outcomes.is_empty()
    lack.lasts = False
    assert outcomes.next().status is RunStatus.COMPLETED
    wait_until_told(ctx, "started late")


def test_so_does_a_handler_in_a_process_and_leaves_nothing_open(
    nursery: Nursery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lack = Shortage(errno.EAGAIN, subprocess.Popen)
    monkeypatch.setattr(subprocess, "Popen", lack)
    executor = ProcessExecutor({"work": Handler.of(handler, "work")}, nursery)
    before = len(os.listdir("/proc/self/fd"))
    _, ctx, outcomes = started(executor, make_work(tmp_path, "work"))
    wait_until_told(ctx, "not started yet")
    lack.lasts = False
    assert outcomes.next().result == "done"
    eventually(lambda: len(os.listdir("/proc/self/fd")) <= before)


def test_a_run_that_waits_can_be_stopped(
    nursery: Nursery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "pipe", Shortage(errno.EMFILE, os.pipe))
    work = make_work(tmp_path, "command", {"argv": ["true"]})
    running, ctx, outcomes = started(CommandExecutor(nursery, lambda _: tmp_path), work)
    wait_until_told(ctx, "not started yet")
    running.stop()
    assert outcomes.next().exit_code == 143


def test_what_will_never_work_fails_at_once(
    nursery: Nursery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", Shortage(errno.EACCES, None))
    work = make_work(tmp_path, "command", {"argv": ["true"]})
    _, _, outcomes = started(CommandExecutor(nursery, lambda _: tmp_path), work)
    assert outcomes.next().exit_code == 126


class NoThread:
    """Stands in for a thread that the system does not allow."""

    def __init__(self, **_: Any) -> None:
        pass

    def start(self) -> None:
        raise RuntimeError("can't start new thread")


def test_a_handler_that_finds_no_thread_waits_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slot_threads, "NO_THREAD_S", 0.01)
    executor = ThreadExecutor({"work": Handler.of(handler, "work")}, 2)
    executor.timers.after(0, lambda: None)  # its own thread is there before
    with monkeypatch.context() as patch:
        patch.setattr(threading, "Thread", NoThread)
        _, _, outcomes = started(executor, make_work(tmp_path, "work"))
        assert outcomes.is_empty()
    assert outcomes.next().result == "done"
    executor.close()


def test_many_runs_that_lack_the_same_are_told_of_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(shortage, "notices", shortage.Notices())

    def lacking() -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    for number in range(3):
        shortage.outlast(lacking, what=f"job {number} could not start", pause=lambda _: True)
    assert [one.getMessage() for one in caplog.records] == [
        "job 0 could not start: Too many open files; this and others are tried again"
    ]
