"""Things to do later."""

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.worker.executor_helpers import PATIENCE_S

from headway.worker.executors.timers import Timers


@contextmanager
def held(timers: Timers) -> Iterator[None]:
    """Keep the thread of the timers busy, so that nothing goes off yet."""
    release = threading.Event()

    def hold() -> None:
        release.wait(PATIENCE_S)

    timers.after(0, hold)
    yield
    release.set()


def test_timers_go_off_in_the_order_they_are_due() -> None:
    timers = Timers()
    seen: queue.Queue[str] = queue.Queue()
    with held(timers):
        timers.after(-1, lambda: seen.put("second"))
        timers.after(-3600, lambda: seen.put("first"))
    assert [seen.get(timeout=PATIENCE_S) for _ in range(2)] == ["first", "second"]


def test_a_sooner_timer_wakes_the_thread_that_sleeps_for_a_later_one() -> None:
    timers = Timers()
    rang = threading.Event()
    timers.after(3600, lambda: None)
    timers.after(0, rang.set)
    assert rang.wait(PATIENCE_S)


def test_a_cancelled_timer_does_not_go_off() -> None:
    timers = Timers()
    seen: queue.Queue[str] = queue.Queue()
    with held(timers):
        timers.after(-3600, lambda: seen.put("cancelled")).cancel()
        timers.after(-1, lambda: seen.put("kept"))
    assert seen.get(timeout=PATIENCE_S) == "kept"


def test_a_timer_that_fails_does_not_stop_the_others() -> None:
    timers = Timers()
    rang = threading.Event()

    def fail() -> None:
        raise RuntimeError("broken spring")

    with held(timers):
        timers.after(-3600, fail)
        timers.after(-1, rang.set)
    assert rang.wait(PATIENCE_S)


def test_thousands_of_cancelled_timers_are_dropped_and_the_next_one_goes_off() -> None:
    timers = Timers()
    rang = threading.Event()
    with held(timers):
        for _ in range(Timers.LONG_LINE * 5):
            timers.after(3600, lambda: None).cancel()
        timers.after(-1, rang.set)
    assert rang.wait(PATIENCE_S)
    assert timers.waiting() < Timers.LONG_LINE
