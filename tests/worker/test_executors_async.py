"""Async handlers on the shared event loop."""

import asyncio
import threading
from pathlib import Path

from tests.worker.executor_helpers import PATIENCE_S, Outcomes, Start, make_work, run

from headway.domain.runs import RunStatus
from headway.worker.context import JobContext


def test_async_handlers_share_one_loop(executor_for: Start, tmp_path: Path) -> None:
    met: list[str] = []

    async def meet(ctx: JobContext, name: str) -> int:
        met.append(name)
        while len(met) < 2:
            await asyncio.sleep(0.001)
        return threading.get_ident()

    executor = executor_for(meet)
    outcomes = Outcomes()
    for name in ("a", "b"):
        work = make_work(tmp_path, "meet", {"name": name}, run_id=name)
        executor.start(work, JobContext(work), outcomes)
    first, second = outcomes.next(), outcomes.next()
    assert first.status is RunStatus.COMPLETED
    assert first.result == second.result


def test_a_late_async_handler_is_timed_out_and_cancelled(
    executor_for: Start, tmp_path: Path
) -> None:
    was_cancelled = threading.Event()

    async def stuck() -> None:
        try:
            await asyncio.sleep(PATIENCE_S)
        except asyncio.CancelledError:
            was_cancelled.set()
            raise

    outcome = run(executor_for(stuck), make_work(tmp_path, "stuck", timeout_s=0.05))
    assert outcome.timed_out
    assert was_cancelled.wait(PATIENCE_S)


def test_an_async_handler_can_be_stopped(executor_for: Start, tmp_path: Path) -> None:
    started = threading.Event()

    async def stuck() -> None:
        started.set()
        await asyncio.sleep(PATIENCE_S)

    work = make_work(tmp_path, "stuck")
    outcomes = Outcomes()
    running = executor_for(stuck).start(work, JobContext(work), outcomes)
    assert started.wait(PATIENCE_S)
    running.stop()
    outcome = outcomes.next()
    assert (outcome.status, outcome.exit_code) == (RunStatus.FAILED, 143)


def test_leaving_the_program_in_a_task_does_not_end_the_loop(
    executor_for: Start, tmp_path: Path
) -> None:
    async def leave() -> None:
        raise SystemExit(3)

    async def parent() -> str:
        child = asyncio.ensure_future(leave())
        await asyncio.wait([child])
        return type(child.exception()).__name__

    executor = executor_for(leave, parent)
    assert (run(executor, make_work(tmp_path, "leave")).error or "").startswith("SystemExit: 3")
    assert run(executor, make_work(tmp_path, "parent")).result == "SystemExit"
