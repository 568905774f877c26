"""What a run leaves behind is found among the processes that are younger than its first one."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.worker.executor_helpers import eventually

from headway.worker import leftovers

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")

Start = Callable[..., int]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts processes in sessions of their own; those that end by themselves are not reaped."""
    started: list[subprocess.Popen[bytes]] = []

    def make(*argv: str, run_id: str = "none") -> int:
        env = {**os.environ, "HEADWAY_RUN_ID": run_id}
        started.append(subprocess.Popen(argv, env=env, start_new_session=True))
        environment = Path(f"/proc/{started[-1].pid}/environ")
        if argv[0] != "true":  # it looks empty while a program is loaded
            eventually(lambda: bool(environment.read_bytes()))
        return started[-1].pid

    yield make
    for one in started:
        one.kill()
        one.wait()


@pytest.fixture
def before() -> int:
    found = leftovers.forks_so_far()
    assert found is not None
    return found


def test_a_process_with_the_mark_of_the_run_is_found(start: Start, before: int) -> None:
    leader = start("true", run_id="mine")
    start("sleep", "600", run_id="mine")
    assert not leftovers.is_none(leader, "mine", before)
    # Not at once: a process of others that is just loading its program may belong to any run.
    eventually(lambda: leftovers.is_none(leader, "another", before))


def test_older_ones_are_none_of_it(start: Start, before: int) -> None:
    start("sleep", "600", run_id="mine")
    leader = start("true")
    eventually(lambda: leftovers.is_none(leader, "mine", before))


def test_it_is_found_when_the_numbers_have_begun_anew(
    start: Start, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = start("sleep", "600", run_id="mine")
    monkeypatch.setattr(leftovers, "_last_number", lambda: last)
    assert not leftovers.is_none(last + 1000, "mine", before)


def test_one_that_is_started_while_this_looks_is_found(
    start: Start, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader = start("true")
    start("true")
    real = leftovers._numbers_between
    calls: list[int] = []

    def between(after: int, last: int) -> list[int]:
        found = real(after, last)
        if not calls:
            calls.append(start("sleep", "600", run_id="mine"))
        return found

    monkeypatch.setattr(leftovers, "_numbers_between", between)
    assert not leftovers.is_none(leader, "mine", before)


def test_after_too_many_starts_the_numbers_say_nothing(start: Start, before: int) -> None:
    leader = start("true")
    start("true")
    assert not leftovers.is_none(leader, "mine", before - leftovers.FORKS_IN_ORDER - 1)
