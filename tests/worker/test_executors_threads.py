"""Handlers inside the worker's own process."""

import asyncio
import contextvars
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.worker.executor_helpers import PATIENCE_S, Outcomes, Start, make_work, run

from headway.domain.leases import LONGEST_MESSAGE, check_beat
from headway.domain.runs import Outcome, RunStatus
from headway.domain.signals import Fail, Skip
from headway.files import log_files
from headway.worker import run_logs
from headway.worker.context import JobContext, Progress
from headway.worker.executors import calls, tracebacks

SHELF: dict[str, str] = {}


def test_what_a_handler_returns_is_the_result(executor_for: Start, tmp_path: Path) -> None:
    def add(a: int, b: int = 1) -> dict[str, int]:
        return {"sum": a + b}

    outcome = run(executor_for(add), make_work(tmp_path, "add", {"a": 2}))
    assert outcome == Outcome(status=RunStatus.COMPLETED, result={"sum": 3})


def test_a_handler_that_wants_the_context_gets_it(executor_for: Start, tmp_path: Path) -> None:
    def who(ctx: JobContext, name: str) -> list[Any]:
        ctx.progress(0.5, "half")
        ctx.log("hello")
        return [ctx.job_id, ctx.number, ctx.run_id, ctx.attempt, ctx.params, ctx.cancelled]

    work = make_work(tmp_path, "who", {"name": "x"})
    ctx = JobContext(work)
    outcomes = Outcomes()
    executor_for(who).start(work, ctx, outcomes)
    assert outcomes.next().result == ["job-1", 1, work.run_id, 0, {"name": "x"}, False]
    assert ctx.take_progress() == Progress(0.5, "half")
    assert ctx.take_progress() is None
    assert (work.log_dir / "stdout.log").read_text() == "hello\n"


def test_a_long_message_is_cut_so_that_heartbeats_get_through(tmp_path: Path) -> None:
    ctx = JobContext(make_work(tmp_path, "any"))
    ctx.progress(0.5, "é" * 2000)
    assert ctx.take_progress() == Progress(0.5, "é" * LONGEST_MESSAGE)


def test_a_message_that_was_cut_is_never_refused(tmp_path: Path) -> None:
    ctx = JobContext(make_work(tmp_path, "any"))
    for message in ("\U0001f600" * 2000, "half \ud800 a character"):
        ctx.progress(0.5, message)
        told = ctx.take_progress()
        assert told is not None
        check_beat(told.fraction, told.message)


@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan")])
def test_progress_is_a_number_from_0_to_1(tmp_path: Path, fraction: float) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        JobContext(make_work(tmp_path, "any")).progress(fraction)


def test_an_exception_is_told_with_its_traceback(executor_for: Start, tmp_path: Path) -> None:
    def deeper() -> None:
        raise ValueError("no ink")

    def write() -> None:
        deeper()

    outcome = run(executor_for(write), make_work(tmp_path, "write"))
    assert outcome.status is RunStatus.FAILED
    assert outcome.retry
    assert outcome.error is not None
    assert outcome.error.startswith("ValueError: no ink\n")
    assert "in write\n" in outcome.error
    assert "in deeper\n" in outcome.error
    assert "headway/worker" not in outcome.error


def test_a_deep_failure_is_cut_in_the_middle(executor_for: Start, tmp_path: Path) -> None:
    def begin(depth: int) -> None:
        dig(depth)

    def dig(depth: int) -> None:
        if depth == 0:
            raise ValueError("rock\0bottom")
        push(depth)

    def push(depth: int) -> None:
        dig(depth - 1)

    outcome = run(executor_for(begin), make_work(tmp_path, "begin", {"depth": 420}))
    assert outcome.error is not None
    assert outcome.error.startswith("ValueError: rock\\x00bottom")
    assert "in begin\n" in outcome.error
    assert " characters left out]\n" in outcome.error
    assert outcome.error.endswith("ValueError: rock\\x00bottom")
    assert len(outcome.error) < tracebacks.LONGEST + 200


def test_causes_and_contexts_are_kept(executor_for: Start, tmp_path: Path) -> None:
    def look() -> None:
        try:
            SHELF["ink"]
        except KeyError as error:
            raise OSError("no shelf") from error

    def write() -> None:
        try:
            look()
        except OSError:
            raise ValueError("no page")  # noqa: B904  (what Python does by itself)

    error = run(executor_for(write), make_work(tmp_path, "write")).error or ""
    assert error.startswith("ValueError: no page\n\nTraceback (most recent call last):\n")
    first, second, last = (
        error.index("\nKeyError: 'ink'\n\nThe above exception was the direct cause"),
        error.index("\nOSError: no shelf\n\nDuring handling of the above exception"),
        error.rindex("\nValueError: no page"),
    )
    assert first < second < last
    assert error.count("in look\n") == 2
    assert calls.without_traceback(error) == "ValueError: no page"


def test_a_cause_that_is_to_be_hidden_is_hidden(executor_for: Start, tmp_path: Path) -> None:
    def write() -> None:
        try:
            SHELF["ink"]
        except KeyError:
            raise ValueError("no page") from None

    assert "ink'" not in (run(executor_for(write), make_work(tmp_path, "write")).error or "ink'")


def test_a_fail_of_the_handlers_own_keeps_its_cause(executor_for: Start, tmp_path: Path) -> None:
    def write() -> None:
        try:
            SHELF["ink"]
        except KeyError as error:
            raise Fail("no page", retry=False) from error

    outcome = run(executor_for(write), make_work(tmp_path, "write"))
    assert outcome.retry is False
    assert calls.without_traceback(outcome.error or "") == "no page"
    assert "KeyError: 'ink'\n\nThe above" in (outcome.error or "")


def test_causes_of_any_number_and_size_are_bounded() -> None:
    error: BaseException = ValueError("root" + "x" * 100_000)
    for number in range(1000):
        following = ValueError(f"link {number} " + "y" * 100_000)
        following.__cause__ = error
        error = following
    nested: BaseException = error
    for _ in range(500):
        nested = BaseExceptionGroup("deep", [nested])
    for one in (error, nested):
        assert len(tracebacks.describe(one)) < 2 * tracebacks.LONGEST
    text = tracebacks.describe(error)
    assert "ValueError: root" in text
    assert "ValueError: link 999" in text
    error.__cause__ = error  # a circle ends
    assert tracebacks.describe(error).count("link 999") == 2


def test_the_parts_of_a_group_are_told(executor_for: Start, tmp_path: Path) -> None:
    def write() -> None:
        raise ExceptionGroup("two", [ValueError("left"), OSError("right")])

    error = run(executor_for(write), make_work(tmp_path, "write")).error or ""
    assert "\n  | ValueError: left\n" in error
    assert "\n  | OSError: right\n" in error


def test_a_skip_ends_skipped_with_its_reason(executor_for: Start, tmp_path: Path) -> None:
    def skip() -> None:
        raise Skip("nothing new")

    outcome = run(executor_for(skip), make_work(tmp_path, "skip"))
    assert outcome == Outcome(status=RunStatus.SKIPPED, error="nothing new")


def test_a_fail_without_retry_is_not_tried_again(executor_for: Start, tmp_path: Path) -> None:
    def fail() -> None:
        raise Fail("bad order", retry=False)

    outcome = run(executor_for(fail), make_work(tmp_path, "fail"))
    assert outcome == Outcome(status=RunStatus.FAILED, error="bad order", retry=False)


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_leaving_the_program_fails_the_job_and_not_the_worker(
    executor_for: Start, tmp_path: Path, kind: type[BaseException]
) -> None:
    def leave() -> None:
        raise kind(3)

    def stay() -> str:
        return "here"

    executor = executor_for(leave, stay)
    outcome = run(executor, make_work(tmp_path, "leave"))
    assert outcome.status is RunStatus.FAILED
    assert outcome.error is not None
    assert outcome.error.startswith(f"{kind.__name__}: 3")
    assert run(executor, make_work(tmp_path, "stay")).result == "here"


def test_a_result_that_is_no_json_fails(executor_for: Start, tmp_path: Path) -> None:
    def strange() -> object:
        return object()

    outcome = run(executor_for(strange), make_work(tmp_path, "strange"))
    assert outcome.status is RunStatus.FAILED
    assert outcome.error is not None
    assert "(of type object) cannot be written as JSON" in outcome.error


def test_a_result_above_the_limit_fails(executor_for: Start, tmp_path: Path) -> None:
    def long() -> str:
        return "x" * 99

    outcome = run(executor_for(long, result_limit=100), make_work(tmp_path, "long"))
    assert outcome.error == "the result has 101 bytes as JSON, the limit is 100"


def test_params_that_do_not_fit_fail_and_name_the_field(
    executor_for: Start, tmp_path: Path
) -> None:
    def add(a: int) -> int:
        return a

    outcome = run(executor_for(add), make_work(tmp_path, "add", {"a": "one"}))
    assert outcome.status is RunStatus.FAILED
    assert "a: Expected `int`, got `str`" in (outcome.error or "")


def test_a_job_type_without_handler_fails(executor_for: Start, tmp_path: Path) -> None:
    outcome = run(executor_for(), make_work(tmp_path, "unknown"))
    assert outcome.error == "this worker has no handler for 'unknown'"


def test_a_number_that_is_none_is_no_result(executor_for: Start, tmp_path: Path) -> None:
    def loss() -> dict[str, float]:
        return {"loss": float("nan")}

    outcome = run(executor_for(loss), make_work(tmp_path, "loss"))
    assert outcome.status is RunStatus.FAILED
    assert outcome.error is not None
    assert "cannot be written as JSON" in outcome.error


def test_a_late_handler_is_timed_out_and_its_slot_goes_on(
    executor_for: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cancelled, ended = threading.Event(), threading.Event()

    def stuck(ctx: JobContext) -> str:
        while not ctx.cancelled:
            ended.wait(0.01)
        cancelled.set()
        ended.wait(PATIENCE_S)
        return "too late"

    def quick() -> str:
        return "next"

    executor = executor_for(stuck, quick)
    work = make_work(tmp_path, "stuck", timeout_s=0.05)
    outcomes = Outcomes()
    executor.start(work, JobContext(work), outcomes)
    assert outcomes.next() == Outcome(
        status=RunStatus.FAILED, error="timed out after 0.05 s", timed_out=True
    )
    assert cancelled.wait(PATIENCE_S)
    assert "job 1 timed out, but its handler runs in a thread" in caplog.text
    assert run(executor, make_work(tmp_path, "quick")).result == "next"
    ended.set()
    assert run(executor, make_work(tmp_path, "quick")).result == "next"
    assert outcomes.is_empty()


def test_a_handler_in_time_is_not_timed_out(executor_for: Start, tmp_path: Path) -> None:
    def quick() -> str:
        return "in time"

    outcome = run(executor_for(quick), make_work(tmp_path, "quick", timeout_s=600))
    assert outcome.result == "in time"


def test_stopping_a_thread_only_asks_it(executor_for: Start, tmp_path: Path) -> None:
    started = threading.Event()

    def patient(ctx: JobContext) -> str:
        started.set()
        while not ctx.cancelled:
            threading.Event().wait(0.01)
        return "stopped by myself"

    work = make_work(tmp_path, "patient")
    outcomes = Outcomes()
    running = executor_for(patient).start(work, JobContext(work), outcomes)
    assert started.wait(PATIENCE_S)
    running.stop()
    assert outcomes.next().result == "stopped by myself"


def test_as_many_handlers_run_at_once_as_there_are_slots(
    executor_for: Start, tmp_path: Path
) -> None:
    together = threading.Barrier(3)

    def meet() -> None:
        together.wait(PATIENCE_S)

    executor = executor_for(meet, slots=3)
    outcomes = Outcomes()
    for number in range(3):
        work = make_work(tmp_path, "meet", run_id=f"run-{number}")
        executor.start(work, JobContext(work), outcomes)
    assert [outcomes.next().status for _ in range(3)] == [RunStatus.COMPLETED] * 3


def test_a_receiver_that_raises_does_not_stop_the_slot(executor_for: Start, tmp_path: Path) -> None:
    def quick() -> str:
        return "fine"

    def broken(outcome: Outcome) -> None:
        raise RuntimeError("cannot take it")

    executor = executor_for(quick)
    work = make_work(tmp_path, "quick")
    executor.start(work, JobContext(work), broken)
    assert run(executor, work).result == "fine"


def test_a_context_variable_does_not_reach_the_next_job(
    executor_for: Start, tmp_path: Path
) -> None:
    colour: contextvars.ContextVar[str] = contextvars.ContextVar("colour", default="white")

    def paint() -> str:
        before = colour.get()
        colour.set("red")
        return before

    executor = executor_for(paint)
    assert run(executor, make_work(tmp_path, "paint")).result == "white"
    assert run(executor, make_work(tmp_path, "paint")).result == "white"


def test_prints_of_runs_at_the_same_time_do_not_mix(
    executor_for: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", sys.__stdout__)
    run_logs.capture()
    together = threading.Barrier(2)

    def speak(word: str) -> None:
        for _ in range(100):
            print(word)
            together.wait(PATIENCE_S)

    async def whisper(word: str) -> None:
        for _ in range(100):
            print(word)
            await asyncio.sleep(0)

    executor = executor_for(speak, whisper, slots=2)
    outcomes = Outcomes()
    for job_type, word in [("speak", "a"), ("speak", "b"), ("whisper", "c"), ("whisper", "d")]:
        work = make_work(tmp_path, job_type, {"word": word}, run_id=word)
        executor.start(work, JobContext(work), outcomes)
    assert {outcomes.next().status for _ in range(4)} == {RunStatus.COMPLETED}
    for word in "abcd":
        log = tmp_path / log_files.folder(word) / "stdout.log"
        assert log.read_text() == f"{word}\n" * 100


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("kind", ["plain", "on_the_loop"])
def test_a_full_disk_costs_the_last_words_of_a_run_and_not_its_outcome(
    executor_for: Start, tmp_path: Path, kind: str
) -> None:
    def plain() -> int:
        print("no line end, so it is written when the run is over", end="")
        return 1

    async def on_the_loop() -> int:
        return plain()

    run_logs.capture()
    executor = executor_for(plain, on_the_loop)
    for run_id in ("run-1", "run-2"):
        work = make_work(tmp_path, kind, run_id=run_id)
        work.log_dir.mkdir(parents=True)
        log_files.path(work.log_dir, "stdout").symlink_to("/dev/full")
        assert run(executor, work) == Outcome(status=RunStatus.COMPLETED, result=1)
