"""Handlers in a Python process of their own."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.worker import around_app
from tests.worker.executor_helpers import Outcomes, eventually, make_work, read_when_there, run

from headway.domain.handlers import Handler
from headway.domain.runs import Outcome, RunStatus
from headway.domain.signals import Fail, Skip
from headway.worker import process_groups
from headway.worker.context import JobContext, Progress
from headway.worker.executors.children import Nursery
from headway.worker.executors.processes import ProcessExecutor
from headway.worker.guard import Guard


def add(a: int, b: int = 1) -> dict[str, int]:
    return {"sum": a + b, "pid": os.getpid()}


async def add_later(a: int) -> int:
    await asyncio.sleep(0)
    return a + 1


def echo(text: str) -> str:
    return text


def environment() -> dict[str, str]:
    return dict(os.environ)


def speak() -> None:
    print("out")
    print("err", file=sys.stderr)


def raise_error() -> None:
    raise ValueError("no ink")


def skip() -> None:
    raise Skip("nothing new")


def fail() -> None:
    raise Fail("bad order", retry=False)


def leave() -> None:
    sys.exit(3)


def leave_at_once(code: int) -> None:
    os._exit(code)


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def stuck() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print(os.getpid(), flush=True)
    time.sleep(60)


def with_helper() -> int:
    subprocess.Popen(["sleep", "60"])
    return os.getpid()


def advance(ctx: JobContext) -> None:
    ctx.progress(0.25, "begun")
    print("told", flush=True)
    while not ctx.cancelled:
        time.sleep(0.01)
    ctx.log("cancelled")


class Decorated:
    """What a decorator may leave at the name of a function."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler


def shout(text: str) -> str:
    return text.upper()


shout_handler = Handler.of(shout, isolation="process")
shout = Decorated(shout_handler)  # type: ignore[assignment]

FUNCTIONS: list[Callable[..., Any]] = [
    add,
    add_later,
    echo,
    environment,
    speak,
    raise_error,
    skip,
    fail,
    leave,
    leave_at_once,
    crash,
    stuck,
    with_helper,
    advance,
]


@pytest.fixture
def executor() -> Iterator[ProcessExecutor]:
    """An executor for the functions above, with a short grace period."""
    guard = Guard()
    handlers = {
        function.__name__: Handler.of(function, isolation="process") for function in FUNCTIONS
    }
    handlers["shout"] = shout_handler
    yield ProcessExecutor(handlers, Nursery(guard, grace=0.2), result_limit=1_000_000)
    guard.close()


@pytest.fixture
def with_hooks() -> Iterator[ProcessExecutor]:
    """An executor for an app with something around its handlers."""
    guard = Guard()
    yield ProcessExecutor(around_app.app.handlers, Nursery(guard, grace=0.2))
    guard.close()


def test_what_an_app_has_around_its_handlers_is_in_their_process(
    with_hooks: ProcessExecutor, tmp_path: Path
) -> None:
    work = make_work(tmp_path, "apart")
    assert run(with_hooks, work).result == "apart"
    printed = (work.log_dir / "stdout.log").read_text()
    logged = (work.log_dir / "stderr.log").read_text().splitlines()
    assert printed.split() == ["started", "ended"]
    assert [line.split(" ", 2)[2] for line in logged] == [
        "INFO shop: begins 1",
        "INFO shop: came to apart",
    ]


def test_the_retry_rules_of_a_handler_hold_in_its_process(
    with_hooks: ProcessExecutor, tmp_path: Path
) -> None:
    outcome = run(with_hooks, make_work(tmp_path, "apart", {"fails": True}))
    assert (outcome.status, outcome.retry) == (RunStatus.FAILED, False)


def test_a_handler_runs_in_a_process_of_its_own(executor: ProcessExecutor, tmp_path: Path) -> None:
    outcome = run(executor, make_work(tmp_path, "add", {"a": 2}))
    assert outcome.status is RunStatus.COMPLETED
    assert outcome.result["sum"] == 3
    assert outcome.result["pid"] != os.getpid()


def test_no_secret_of_ours_is_in_its_environment(
    executor: ProcessExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HEADWAY_TOKEN", "PGPASSWORD"):
        monkeypatch.setenv(name, "hush")
    monkeypatch.setenv("HEADWAY_DB", "postgresql://me:hush@host/db")
    seen = run(executor, make_work(tmp_path, "environment")).result
    assert seen["HEADWAY_JOB_ID"]
    assert "hush" not in str(seen)


def test_an_async_handler_runs_in_a_process_too(executor: ProcessExecutor, tmp_path: Path) -> None:
    assert run(executor, make_work(tmp_path, "add_later", {"a": 2})).result == 3


def test_a_decorated_function_is_found(executor: ProcessExecutor, tmp_path: Path) -> None:
    assert run(executor, make_work(tmp_path, "shout", {"text": "hi"})).result == "HI"


def test_large_params_and_results_pass(executor: ProcessExecutor, tmp_path: Path) -> None:
    text = "ä" * 300_000
    assert run(executor, make_work(tmp_path, "echo", {"text": text})).result == text


def test_a_result_above_the_limit_fails(executor: ProcessExecutor, tmp_path: Path) -> None:
    outcome = run(executor, make_work(tmp_path, "echo", {"text": "x" * 1_000_000}))
    assert outcome.error == "the result has 1000002 bytes as JSON, the limit is 1000000"


def test_prints_go_to_the_log_files(executor: ProcessExecutor, tmp_path: Path) -> None:
    work = make_work(tmp_path, "speak")
    assert run(executor, work) == Outcome(status=RunStatus.COMPLETED)
    assert (work.log_dir / "stdout.log").read_text() == "out\n"
    assert (work.log_dir / "stderr.log").read_text() == "err\n"


def test_an_exception_is_told_with_its_traceback(executor: ProcessExecutor, tmp_path: Path) -> None:
    outcome = run(executor, make_work(tmp_path, "raise_error"))
    assert outcome.status is RunStatus.FAILED
    assert outcome.error is not None
    assert outcome.error.startswith("ValueError: no ink\n")
    assert "in raise_error\n" in outcome.error
    assert "headway/worker" not in outcome.error


@pytest.mark.parametrize(
    ("job_type", "outcome"),
    [
        ("skip", Outcome(status=RunStatus.SKIPPED, error="nothing new")),
        ("fail", Outcome(status=RunStatus.FAILED, error="bad order", retry=False)),
    ],
)
def test_skip_and_fail_mean_the_same_as_in_a_thread(
    executor: ProcessExecutor, tmp_path: Path, job_type: str, outcome: Outcome
) -> None:
    assert run(executor, make_work(tmp_path, job_type)) == outcome


def test_leaving_the_program_fails(executor: ProcessExecutor, tmp_path: Path) -> None:
    outcome = run(executor, make_work(tmp_path, "leave"))
    assert outcome.status is RunStatus.FAILED
    assert (outcome.error or "").startswith("SystemExit: 3")


@pytest.mark.parametrize(
    ("job_type", "params", "exit_code", "ending"),
    [
        ("leave_at_once", {"code": 5}, 5, "exited with code 5"),
        ("leave_at_once", {"code": 0}, 0, "exited with code 0"),
        ("crash", {}, 139, "killed by SIGSEGV"),
    ],
)
def test_a_process_that_ends_without_a_word_fails(
    executor: ProcessExecutor,
    tmp_path: Path,
    job_type: str,
    params: dict[str, Any],
    exit_code: int,
    ending: str,
) -> None:
    outcome = run(executor, make_work(tmp_path, job_type, params))
    assert outcome == Outcome(
        status=RunStatus.FAILED,
        crashed=True,
        exit_code=exit_code,
        error=f"the process {ending} before the handler returned",
    )


def test_a_late_handler_is_killed(executor: ProcessExecutor, tmp_path: Path) -> None:
    work = make_work(tmp_path, "stuck", timeout_s=1)
    outcome = run(executor, work)
    assert outcome.timed_out
    assert outcome.error == "timed out after 1 s"


def test_a_handler_that_will_not_stop_is_stopped(executor: ProcessExecutor, tmp_path: Path) -> None:
    work = make_work(tmp_path, "stuck")
    outcomes = Outcomes()
    running = executor.start(work, JobContext(work), outcomes)
    pid = int(read_when_there(work.log_dir / "stdout.log"))
    running.stop()
    assert outcomes.next() == Outcome(
        status=RunStatus.FAILED, exit_code=143, error="stopped by force"
    )
    assert process_groups.is_gone(pid)


def test_progress_and_cancel_pass_between_the_processes(
    executor: ProcessExecutor, tmp_path: Path
) -> None:
    work = make_work(tmp_path, "advance")
    ctx = JobContext(work)
    outcomes = Outcomes()
    executor.start(work, ctx, outcomes)
    seen: list[Progress] = []

    def has_told() -> bool:
        seen.extend(filter(None, [ctx.take_progress()]))
        return bool(seen)

    eventually(has_told)
    assert seen == [Progress(0.25, "begun")]
    ctx.cancel()
    assert outcomes.next().status is RunStatus.COMPLETED
    assert (work.log_dir / "stdout.log").read_text() == "told\ncancelled\n"


def test_a_run_cancelled_before_it_began_knows_it(
    executor: ProcessExecutor, tmp_path: Path
) -> None:
    work = make_work(tmp_path, "advance")
    ctx = JobContext(work)
    ctx.cancel()
    outcomes = Outcomes()
    executor.start(work, ctx, outcomes)
    assert outcomes.next().status is RunStatus.COMPLETED


def test_a_helper_process_does_not_outlive_the_run(
    executor: ProcessExecutor, tmp_path: Path
) -> None:
    outcome = run(executor, make_work(tmp_path, "with_helper"))
    assert outcome.status is RunStatus.COMPLETED
    assert process_groups.is_gone(outcome.result)


def test_a_job_type_without_handler_fails(executor: ProcessExecutor, tmp_path: Path) -> None:
    outcome = run(executor, make_work(tmp_path, "unknown"))
    assert outcome.error == "this worker has no handler for 'unknown'"
