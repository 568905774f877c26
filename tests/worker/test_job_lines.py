"""The log lines of a worker: one for each start and end, and a count when there are too many."""

import logging

import msgspec
import pytest

from headway.domain.runs import Outcome, RunStatus
from headway.protocol.work_values import Started
from headway.worker.executors import calls
from headway.worker.job_lines import LONGEST, MOST_A_SECOND, JobLines

SUCCESS = Outcome(status=RunStatus.COMPLETED)


class Clock:
    """Seconds that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def job(number: int, attempt: int = 0, job_type: str = "story") -> Started:
    return Started(
        number=number,
        job_id="",
        job_type=job_type,
        attempt=attempt,
        params="{}",
        timeout_s=None,
        lease=None,
    )


def test_a_start_and_an_end_are_one_line_each(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    lines = JobLines(clock=clock)
    with caplog.at_level(logging.INFO, "headway.jobs"):
        lines.started(job(7))
        lines.ended(job(7), SUCCESS, 0.25, cancelled=False)
        lines.started(job(8, attempt=1))
        lines.ended(job(8), calls.failed("ValueError: bad\n\nTraceback …"), 2.0, cancelled=False)
        lines.ended(job(9), calls.timed_out(5), 5.0, cancelled=False)
        lines.ended(job(10), SUCCESS, 1.0, cancelled=True)
    assert caplog.messages == [
        "job 7 (story) started",
        "job 7 (story) succeeded after 250 ms",
        "job 8 (story) started, attempt 2",
        "job 8 (story) failed after 2.0 s: ValueError: bad",
        "job 9 (story) timed out after 5.0 s: timed out after 5 s",
        "job 10 (story) cancelled after 1.0 s",
    ]


def test_in_a_rush_one_line_says_how_many_were_left_out(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    lines = JobLines(clock=clock)
    with caplog.at_level(logging.INFO, "headway.jobs"):
        for number in range(1000):
            lines.started(job(number))
            lines.ended(job(number), SUCCESS, 0.0, cancelled=False)
        lines.ended(job(1000), calls.failed("bad"), 0.0, cancelled=False)
        assert len(caplog.messages) == MOST_A_SECOND + 1
        assert caplog.messages[-1] == "job 1000 (story) failed after 0 ms: bad"
        lines.flush()
        assert len(caplog.messages) == MOST_A_SECOND + 1
        clock.now += 1.0
        lines.flush()
        lines.flush()
    assert caplog.messages[MOST_A_SECOND + 1 :] == [
        "not shown one by one: 990 started, 990 succeeded"
    ]


def test_a_line_stays_one_line_and_short(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    lines = JobLines(clock=clock)
    with caplog.at_level(logging.INFO, "headway.jobs"):
        lines.ended(job(1), calls.failed("a\rb\x1b[2Jc" + "x" * 1000), 0.0, cancelled=False)
        lines.started(job(2, job_type="two\nlines"))
    assert "a?b?[2Jc" in caplog.messages[0]
    assert len(caplog.messages[0]) < LONGEST + 60
    assert caplog.messages[1] == "job 2 (two) started"


def test_they_can_be_turned_off(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    lines = JobLines(False, clock)
    with caplog.at_level(logging.INFO, "headway.jobs"):
        lines.started(job(1))
        lines.ended(job(1), SUCCESS, 0.0, cancelled=False)
    assert caplog.messages == []


def test_an_error_is_shown_without_the_secret_that_it_quotes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = msgspec.structs.replace(job(7), params='{"password": "hush"}')
    with caplog.at_level(logging.INFO, "headway.jobs"):
        JobLines().ended(told, calls.failed("cannot log in with hush"), 1.0, cancelled=False)
    assert caplog.messages == ["job 7 (story) failed after 1.0 s: cannot log in with ***"]
