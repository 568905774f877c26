"""The guard ends groups when the worker cannot."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.worker.executor_helpers import eventually, read_when_there

from headway.worker import process_groups
from headway.worker.guard import Guard

WORKER = """
import os, subprocess, sys, threading, time
from headway.worker.guard import Guard

guard = Guard()
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
guard.watch(child.pid)
fork = os.fork() if sys.argv[1] == "forks" else None
if fork == 0:
    os.setsid()
    time.sleep(600)
    os._exit(0)
if sys.argv[1] == "renews":
    def renew():
        while True:
            guard.renew(child.pid, time.monotonic() + 1.0)
            time.sleep(0.05)
    threading.Thread(target=renew, daemon=True).start()
print(child.pid, guard.pid, *([fork] if fork else []), flush=True)
time.sleep(600)
"""

Spawn = Callable[[], int]


@pytest.fixture
def guard() -> Iterator[Guard]:
    """A guard of the test's own process."""
    made = Guard()
    yield made
    made.close()


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Starts groups that would live long, and ends them with the test."""
    spawned: list[subprocess.Popen[bytes]] = []

    def start() -> int:
        spawned.append(subprocess.Popen(["sleep", "600"], start_new_session=True))
        return spawned[-1].pid

    yield start
    for process in spawned:
        process_groups.send(process.pid, signal.SIGKILL)
        process.wait()


class Worker:
    """A worker process with one watched child."""

    def __init__(self, directory: Path, how: str) -> None:
        self._out = directory / "worker.out"
        with self._out.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-c", WORKER, how], stdout=out, start_new_session=True
            )
        pids = [int(pid) for pid in read_when_there(self._out).split()]
        self.child, self.guard, *self._forks = pids

    def end(self) -> None:
        """Leave nothing behind, whatever the test came to."""
        self.process.kill()
        self.process.wait()
        for pid in (self.child, *self._forks):
            process_groups.send(pid, signal.SIGKILL)


@pytest.fixture
def worker(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Worker]:
    """A worker; the parameter says how it behaves."""
    made = Worker(tmp_path, getattr(request, "param", "waits"))
    yield made
    made.end()


def is_over(pid: int) -> bool:
    try:
        return not process_groups.is_alive(process_groups.identify(pid))
    except ProcessLookupError:
        return True


def test_a_killed_worker_takes_its_children_along(worker: Worker) -> None:
    worker.process.kill()
    eventually(lambda: process_groups.is_gone(worker.child))
    eventually(lambda: is_over(worker.guard))


@pytest.mark.parametrize("worker", ["forks"], indirect=True)
def test_a_fork_of_the_worker_does_not_hold_the_guard_back(worker: Worker) -> None:
    worker.process.kill()
    eventually(lambda: process_groups.is_gone(worker.child))


@pytest.mark.parametrize("worker", ["renews"], indirect=True)
def test_a_frozen_worker_loses_its_children_at_their_deadline(worker: Worker) -> None:
    worker.process.send_signal(signal.SIGSTOP)
    eventually(lambda: process_groups.is_gone(worker.child))
    assert not is_over(worker.guard)


def test_a_signal_for_the_terminal_does_not_end_the_guard(worker: Worker) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(worker.guard, number)
    worker.process.kill()
    eventually(lambda: process_groups.is_gone(worker.child))


def test_a_group_past_its_deadline_is_ended(guard: Guard, spawn: Spawn) -> None:
    late, early = spawn(), spawn()
    guard.watch(early, time.monotonic() + 3600)
    guard.watch(late, time.monotonic() - 1)
    eventually(lambda: process_groups.is_gone(late))
    assert not process_groups.is_gone(early)


def test_a_deadline_can_be_moved(guard: Guard, spawn: Spawn) -> None:
    first, second = spawn(), spawn()
    guard.watch(first, time.monotonic() + 3600)
    guard.watch(second)
    guard.renew(first, time.monotonic() - 1)
    guard.renew(second, time.monotonic() - 1)
    eventually(lambda: process_groups.is_gone(first) and process_groups.is_gone(second))


def test_a_forgotten_group_is_left_alone(guard: Guard, spawn: Spawn) -> None:
    forgotten, watched = spawn(), spawn()
    guard.watch(forgotten)
    guard.watch(watched)
    guard.forget(forgotten)
    guard.renew(forgotten, time.monotonic() - 1)
    guard.close()
    assert process_groups.is_gone(watched)
    assert not process_groups.is_gone(forgotten)


def test_a_guard_that_was_killed_is_replaced_and_told_everything(
    guard: Guard, spawn: Spawn
) -> None:
    first, second = spawn(), spawn()
    guard.watch(first)
    before = guard.pid
    assert before is not None
    os.kill(before, signal.SIGKILL)
    eventually(lambda: is_over(before))
    guard.watch(second)
    assert guard.pid != before
    guard.close()
    assert process_groups.is_gone(first)
    assert process_groups.is_gone(second)


def test_no_guard_is_started_before_there_is_something_to_watch(guard: Guard) -> None:
    assert guard.pid is None
