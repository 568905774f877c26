"""Steps and waits of a handler, wherever it runs, with a journal that a test holds."""

import asyncio
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.worker.executor_helpers import PATIENCE_S, Outcomes, Start, make_work

from headway.domain import errors
from headway.domain.runs import Outcome, RunStatus
from headway.domain.signals import LeaseLost
from headway.domain.steps import Step, StepKind, Wait
from headway.protocol.work_values import StepAnswer, StepReport
from headway.settings import Settings
from headway.worker.context import JobContext, Work
from headway.worker.executors.children import Nursery
from headway.worker.executors.interface import Executor
from headway.worker.executors.processes import ProcessExecutor
from headway.worker.guard import Guard
from headway.worker.pool.messages import Setup
from headway.worker.pool.pool import HandlerPool
from headway.worker.programs.recorder import StepRecorder

START = datetime(2026, 1, 1, tzinfo=UTC)


class Shelf:
    """Keeps one journal, and says how it was called."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.signals: list[tuple[str, Any]] = []
        self.calls: list[int] = []
        self.error: errors.HeadwayError | None = None
        self.away = 0
        self.hold: threading.Event | None = None

    def journal(self, lease_id: str) -> Sequence[Step]:
        return tuple(self.steps)

    def record_steps(self, done: Sequence[StepReport]) -> list[StepAnswer]:
        self.calls.append(len(done))
        if self.hold is not None:
            assert self.hold.wait(PATIENCE_S)
        if self.away:
            self.away -= 1
            raise errors.Unavailable("not now")
        if self.error is None:
            for one in done:
                self.add(StepKind.STEP, one.name, one.index, one.result)
        return [StepAnswer(lease_id=one.lease_id, error=self.error) for one in done]

    def take_signal(self, lease_id: str, name: str, index: int) -> Step | None:
        if self.signals and self.signals[0][0] == name:
            return self.add(StepKind.SIGNAL, name, index, self.signals.pop(0)[1])
        return None

    def add(self, kind: StepKind, name: str, index: int, result: Any = None) -> Step:
        step = Step(
            kind=kind,
            name=name,
            index=index,
            attempt=0,
            run_id=None,
            started_at=START,
            finished_at=START,
            duration_ms=0,
            result=result,
        )
        self.steps.append(step)
        return step


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def recorder(shelf: Shelf) -> Iterator[StepRecorder]:
    made = StepRecorder(shelf)
    yield made
    made.close()


SHOP = """
import os

import headway

app = headway.App()


def pid() -> int:
    return os.getpid()


def twice(number: int) -> int:
    return number * 2


@app.job(isolation={isolation!r})
def program(ctx: headway.JobContext) -> list[object]:
    where = ctx.step(pid)
    total = sum(ctx.step(twice, number) for number in range(20))
    said = ctx.wait_for("go")
    ctx.sleep("1h")
    return [where == os.getpid(), total, said]


@app.job(isolation={isolation!r})
async def awaiting(ctx: headway.AsyncJobContext) -> list[object]:
    where = await ctx.step(pid)
    total = await ctx.step(twice, 3)
    said = await ctx.wait_for("go")
    await ctx.sleep("1h")
    return [where == os.getpid(), total, said]
"""


@pytest.fixture(params=["threads", "processes", "pool"])
def executor(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Executor]:
    """The same handlers in this process, in one of their own, and in the server's pool."""
    isolation = "process" if request.param == "processes" else "thread"
    name = f"shop_{request.param}"
    (tmp_path / f"{name}.py").write_text(SHOP.format(isolation=isolation))
    monkeypatch.syspath_prepend(tmp_path)
    if request.param == "pool":
        settings = Settings(data=str(tmp_path / "data"), app=f"{name}:app", slots=4)
        setup = Setup(
            settings=settings, path=sys.path, data=tmp_path, slots=4, result_limit=1 << 20
        )
        pool = HandlerPool(setup, 1)
        pool.open()
        pool.wait_until_ready()
        yield pool
        pool.close()
        return
    app = __import__(name).app
    if request.param == "processes":
        guard = Guard()
        yield ProcessExecutor(app.handlers, Nursery(guard))
        guard.close()
        return
    start: Start = request.getfixturevalue("executor_for")
    made = start()
    made._handlers = app.handlers
    yield made


def go_through(executor: Executor, recorder: StepRecorder, work: Work) -> Outcome:
    outcomes = Outcomes()
    executor.start(work, JobContext(work, None, recorder), outcomes)
    return outcomes.next()


@pytest.mark.parametrize(("job_type", "total"), [("program", 380), ("awaiting", 6)])
def test_a_program_goes_on_wherever_it_runs(
    executor: Executor,
    recorder: StepRecorder,
    shelf: Shelf,
    tmp_path: Path,
    job_type: str,
    total: int,
) -> None:
    first = go_through(executor, recorder, make_work(tmp_path, job_type))
    assert first.status is RunStatus.SUSPENDED
    assert first.wait == Wait(kind=StepKind.SIGNAL, name="go", index=0)
    shelf.signals.append(("go", {"by": "ann"}))
    work = make_work(tmp_path, job_type)
    second = go_through(executor, recorder, msgspec.structs.replace(work, steps=tuple(shelf.steps)))
    assert second.wait == Wait(kind=StepKind.SLEEP, name="sleep", index=0, delay_s=3600.0)
    shelf.add(StepKind.SLEEP, "sleep", 0)
    read = msgspec.structs.replace(make_work(tmp_path, job_type), steps=None)  # by the lease
    last = go_through(executor, recorder, read)
    assert last.error is None
    assert last.result[1:] == [total, {"by": "ann"}]


def test_a_refused_step_leaves_the_handler(
    executor: Executor, recorder: StepRecorder, shelf: Shelf, tmp_path: Path
) -> None:
    shelf.error = errors.LeaseEnded("lease-1", "EXPIRED")
    outcome = go_through(executor, recorder, make_work(tmp_path, "program"))
    assert outcome.status is RunStatus.FAILED
    assert outcome.error is not None
    assert outcome.error.startswith("headway.domain.signals.LeaseLost: lease lease-1 is EXPIRED")


def test_a_handler_cannot_go_on_without_its_lease(
    executor_for: Start, recorder: StepRecorder, shelf: Shelf, tmp_path: Path
) -> None:
    left: list[str] = []

    def stubborn(ctx: JobContext) -> None:
        for _ in range(2):
            try:
                ctx.step(len, "abc", name="count")
            except LeaseLost:
                left.append("lost")
            except Exception:
                left.append("caught")

    shelf.error = errors.LeaseEnded("lease-1", "EXPIRED")
    go_through(executor_for(stubborn), recorder, make_work(tmp_path, "stubborn"))
    assert left == ["lost", "lost"]
    assert shelf.calls == [1]


def test_other_refusals_are_errors_of_the_handler(
    executor_for: Start, recorder: StepRecorder, shelf: Shelf, tmp_path: Path
) -> None:
    def careful(ctx: JobContext) -> str:
        try:
            ctx.step(len, "abc", name="count")
        except errors.Conflict as error:
            return error.code
        return "recorded"

    shelf.error = errors.StepDiffers("count", 0)
    outcome = go_through(executor_for(careful), recorder, make_work(tmp_path, "careful"))
    assert outcome.result == "step_differs"


def test_steps_that_come_together_are_recorded_together(
    executor_for: Start, recorder: StepRecorder, shelf: Shelf, tmp_path: Path
) -> None:
    async def step(number: int) -> int:
        if number == 1:
            waiting.set()
        return number

    async def many(ctx: Any) -> list[int]:
        return list(await asyncio.gather(*(ctx.step(step, number) for number in range(100))))

    waiting = threading.Event()
    shelf.hold = threading.Event()
    outcomes = Outcomes()
    work = make_work(tmp_path, "many")
    executor_for(many).start(work, JobContext(work, None, recorder), outcomes)
    assert waiting.wait(PATIENCE_S)
    while len(recorder._waiting) + sum(shelf.calls) < 100:
        time.sleep(0.001)
    shelf.hold.set()
    assert outcomes.next().result == list(range(100))
    assert sum(shelf.calls) == 100
    assert len(shelf.calls) <= 3


def test_a_scheduler_that_is_away_is_asked_again(
    executor_for: Start, recorder: StepRecorder, shelf: Shelf, tmp_path: Path
) -> None:
    def work(ctx: JobContext) -> int:
        return ctx.step(len, "abc", name="count")

    shelf.away = 1
    outcome = go_through(executor_for(work), recorder, make_work(tmp_path, "work"))
    assert outcome.result == 3
    assert shelf.calls == [1, 1]


def test_without_its_lease_nothing_is_asked_again(
    executor_for: Start, shelf: Shelf, tmp_path: Path
) -> None:
    def work(ctx: JobContext) -> int:
        return ctx.step(len, "abc", name="count")

    shelf.away = 5
    recorder = StepRecorder(shelf, is_held=lambda _: False)
    outcome = go_through(executor_for(work), recorder, make_work(tmp_path, "work"))
    assert outcome.error is not None
    assert "LeaseLost" in outcome.error
    assert shelf.calls == [1]
    recorder.close()


def test_a_step_that_is_not_answered_fails_alone(
    executor_for: Start, recorder: StepRecorder, shelf: Shelf, tmp_path: Path
) -> None:
    def work(ctx: JobContext) -> int:
        return ctx.step(len, "abc", name="count")

    shelf.record_steps = lambda done: []  # type: ignore[method-assign]
    executor = executor_for(work)
    told = go_through(executor, recorder, make_work(tmp_path, "work")).error
    assert told is not None
    assert "LeaseLost" not in told
    del shelf.record_steps
    assert go_through(executor, recorder, make_work(tmp_path, "work")).result == 3


def test_a_worker_that_has_stopped_refuses_steps(
    executor_for: Start, shelf: Shelf, tmp_path: Path
) -> None:
    def work(ctx: JobContext) -> int:
        return ctx.step(len, "abc", name="count")

    recorder = StepRecorder(shelf)
    recorder.close()
    told = go_through(executor_for(work), recorder, make_work(tmp_path, "work")).error
    assert told is not None
    assert "LeaseLost" in told


def test_a_direct_request_runs_its_steps_and_cannot_wait(
    executor_for: Start, recorder: StepRecorder, shelf: Shelf, tmp_path: Path
) -> None:
    def work(ctx: JobContext, waits: bool) -> int:
        if waits:
            ctx.sleep("1h")
        return ctx.step(len, "abc", name="count")

    executor = executor_for(work)
    quick = msgspec.structs.replace(make_work(tmp_path, "work", {"waits": False}), number=0)
    assert go_through(executor, recorder, quick).result == 3
    slow = msgspec.structs.replace(make_work(tmp_path, "work", {"waits": True}), number=0)
    told = go_through(executor, recorder, slow).error
    assert told is not None
    assert "a direct request is no job and cannot wait" in told
    assert shelf.calls == []


def test_a_plain_handler_needs_no_journal(executor_for: Start, tmp_path: Path) -> None:
    def work(ctx: JobContext) -> int:
        return ctx.number

    given = make_work(tmp_path, "work")
    ctx = JobContext(given)
    outcomes = Outcomes()
    executor_for(work).start(given, ctx, outcomes)
    assert outcomes.next().result == 1
    assert ctx._program is None
