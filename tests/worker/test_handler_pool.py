"""The pool of handler processes, with real processes and without a scheduler."""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.worker.executor_helpers import PATIENCE_S, Outcomes, make_work

from headway.domain import errors
from headway.domain.runs import Outcome, RunStatus
from headway.settings import Settings
from headway.worker.context import JobContext
from headway.worker.executors.interface import Running
from headway.worker.pool.messages import Setup
from headway.worker.pool.pool import HandlerPool

APP = """
import os
import threading
import time
from pathlib import Path

import headway

app = headway.App()
prepared = []
hooks = []


@app.job
def pid() -> int:
    return os.getpid()


@app.job
def echo(text: str) -> str:
    return text


@app.job
async def nap() -> str:
    return "rested"


@app.job
def report(ctx: headway.JobContext) -> None:
    for step in range(1000):
        ctx.progress(step / 1000, f"step {step}")
    print("said")
    while not ctx.cancelled:
        time.sleep(0.01)


@app.job
def stuck(flag: str) -> int:
    Path(flag).touch()
    while True:
        time.sleep(0.01)


@app.job
def hold(flag: str) -> int:
    Path(flag).touch()
    while not Path(flag + ".go").exists():
        time.sleep(0.01)
    return os.getpid()


@app.job
def leave() -> None:
    os._exit(3)


@app.on_startup
async def started() -> None:
    hooks.append("started")


@app.on_shutdown
def ended() -> None:
    Path(__file__).with_name("ended").touch()


@app.around
def noted(ctx: headway.JobContext):
    hooks.append((yield))


@app.job
def hooked() -> list[object]:
    return list(hooks)


@app.job(prepare=lambda: prepared.append(os.getpid()))
def model() -> list[int]:
    return prepared
"""

Start = Callable[..., tuple[Running, JobContext, Outcomes]]


def make_pool(folder: Path, processes: int = 1, app: str = "pooled:app") -> HandlerPool:
    (folder / "pooled.py").write_text(APP)
    settings = Settings(data=str(folder / "data"), app=app, slots=4)
    path = [str(folder), *sys.path]
    setup = Setup(settings=settings, path=path, data=folder, slots=4, result_limit=1 << 21)
    return HandlerPool(setup, processes, grace_s=0.1)


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[HandlerPool]:
    made = make_pool(tmp_path)
    made.open()
    made.wait_until_ready()
    yield made
    made.close()


@pytest.fixture
def start(pool: HandlerPool, tmp_path: Path) -> Start:
    def begin(job_type: str, **params: object) -> tuple[Running, JobContext, Outcomes]:
        outcomes = Outcomes()
        work = make_work(tmp_path, job_type, params)
        ctx = JobContext(work)
        return pool.start(work, ctx, outcomes), ctx, outcomes

    return begin


def eventually(look: Callable[[], object]) -> None:
    give_up = time.monotonic() + PATIENCE_S
    while not look():
        assert time.monotonic() < give_up
        time.sleep(0.01)


def test_a_result_of_any_size_comes_back(start: Start) -> None:
    text = "ü" * 500_000
    outcomes = [start("echo", text=text)[2] for _ in range(4)]
    assert [one.next().result for one in outcomes] == [text] * 4


def test_runs_that_are_started_together_all_run(pool: HandlerPool, start: Start) -> None:
    with pool.together():
        outcomes = [start("echo", text=str(number))[2] for number in range(100)]
    assert [one.next().result for one in outcomes] == [str(number) for number in range(100)]
    assert start("nap")[2].next().result == "rested"


def test_progress_output_and_cancel_go_through(start: Start, tmp_path: Path) -> None:
    _, ctx, outcomes = start("report")
    eventually(lambda: (said := ctx.take_progress()) is not None and said.message == "step 999")
    ctx.cancel()
    assert outcomes.next().status is RunStatus.COMPLETED
    (log,) = tmp_path.rglob("stdout.log")
    assert log.read_text() == "said\n"


def test_a_run_waits_for_a_process_that_is_not_ready(pool: HandlerPool, start: Start) -> None:
    crashed = start("leave")[2].next()
    assert (crashed.status, crashed.exit_code) == (RunStatus.FAILED, 3)
    assert start("echo", text="after")[2].next().result == "after"


def test_a_waiting_run_can_be_stopped(tmp_path: Path) -> None:
    pool = make_pool(tmp_path)
    outcomes = Outcomes()
    work = make_work(tmp_path, "echo", {"text": "never"})
    pool.start(work, JobContext(work), outcomes).stop()
    assert outcomes.next().error == "stopped by force"
    assert pool.live.late() == []


def test_a_thread_that_does_not_stop_is_ended_with_its_process(
    pool: HandlerPool, start: Start, tmp_path: Path
) -> None:
    flag = tmp_path / "stuck"
    running, _, outcomes = start("stuck", flag=str(flag))
    eventually(flag.exists)
    before = start("pid")[2].next().result
    running.stop()
    assert outcomes.next() == Outcome(
        status=RunStatus.FAILED, error="stopped by force", exit_code=143
    )
    assert pool.live.late() == []
    assert start("pid")[2].next().result != before


def test_runs_beside_a_thread_that_does_not_stop_may_end(
    pool: HandlerPool, start: Start, tmp_path: Path
) -> None:
    flags = [tmp_path / "stuck", tmp_path / "hold"]
    running, _, stuck = start("stuck", flag=str(flags[0]))
    _, _, held = start("hold", flag=str(flags[1]))
    eventually(lambda: all(flag.exists() for flag in flags))
    running.stop()
    eventually(lambda: len(pool._processes) == 2)
    elsewhere = start("pid")[2].next().result
    assert stuck.is_empty()
    assert pool.live.late() == [1]
    (tmp_path / "hold.go").touch()
    assert held.next().result != elsewhere
    assert stuck.next().error == "stopped by force"
    eventually(lambda: len(pool._processes) == 1)


def test_a_hook_prepares_every_process_also_one_that_comes_later(
    tmp_path: Path, start: Start, pool: HandlerPool
) -> None:
    pool.prepare("model")
    (first,) = start("model")[2].next().result
    start("leave")[2].next()
    (second,) = start("model")[2].next().result
    assert first != second


def test_a_hook_that_fails_says_so(pool: HandlerPool) -> None:
    with pytest.raises(RuntimeError, match="KeyError"):
        pool.prepare("echo")
    assert pool.prepared_types() == []


def test_an_app_that_cannot_be_imported_is_told_of(tmp_path: Path) -> None:
    pool = make_pool(tmp_path, app="absent:app")
    pool.open()
    try:
        with pytest.raises(errors.Unavailable, match="absent"):
            pool.wait_until_ready()
    finally:
        pool.close()


def test_runs_are_spread_over_the_processes(tmp_path: Path) -> None:
    pool = make_pool(tmp_path, processes=2)
    pool.open()
    pool.wait_until_ready()
    try:
        outcomes = []
        for name in ("a", "b"):
            work = make_work(tmp_path, "hold", {"flag": str(tmp_path / name)})
            outcomes.append(Outcomes())
            pool.start(work, JobContext(work), outcomes[-1])
            (tmp_path / f"{name}.go").touch() if name == "b" else None
        (tmp_path / "a.go").touch()
        assert len({one.next().result for one in outcomes}) == 2
    finally:
        pool.close()


def test_hooks_of_the_app_run_in_each_process(
    pool: HandlerPool, start: Start, tmp_path: Path
) -> None:
    results = [start("hooked")[2].next().result for _ in range(2)]
    assert results == [["started"], ["started", ["started"]]]
    pool.close()
    assert (tmp_path / "ended").exists()
