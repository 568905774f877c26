"""The harness that users test their jobs with."""

import pytest

import headway
from headway import testing
from headway.domain import states


def make_app() -> headway.App:
    return headway.App()


def test_a_job_runs_when_the_harness_says_so() -> None:
    app = make_app()

    @app.job
    def add(a: int, b: int = 1) -> int:
        return a + b

    with testing.Harness(app) as harness:
        job = add.submit(2)
        assert job.status is states.QUEUED
        assert harness.run_until_idle() == 1
        assert job.result(timeout=0.1) == 3


def test_retries_come_due_when_the_clock_is_moved() -> None:
    app = make_app()
    attempts: list[int] = []

    @app.job(retries=3)
    def flaky(ctx: headway.JobContext) -> str:
        attempts.append(ctx.attempt)
        if ctx.attempt < 2:
            raise RuntimeError("not yet")
        return "done"

    with testing.Harness(app) as harness:
        job = flaky.submit()
        assert harness.run_until_idle() == 1
        assert harness.advance("9s") == 0
        assert harness.advance("1s") == 1
        assert harness.advance("20s") == 1
        assert attempts == [0, 1, 2]
        assert job.result(timeout=0.1) == "done"


def test_the_options_of_a_function_hold_however_its_jobs_are_submitted() -> None:
    app = make_app()

    @app.job(retries=1, retry_delay="2s", locks=["gpu"], priority="LOW")
    def work() -> None: ...

    with testing.Harness(app):
        plain = app.submit("work").fetch()
        urgent = app.submit("work", priority="URGENT").fetch()
    assert (plain.retry_policy.max_attempts, plain.retry_policy.base_delay_s) == (1, 2.0)
    assert [lock.key for lock in plain.locks] == ["gpu"]
    assert (plain.priority, urgent.priority) == (-10, 20)


def test_a_job_that_fails_for_good_raises_where_its_result_is_asked_for() -> None:
    app = make_app()

    @app.job
    def broken() -> None:
        raise headway.Fail("no use", retry=False)

    with testing.Harness(app) as harness:
        job = broken.submit()
        harness.run_until_idle()
        with pytest.raises(headway.JobFailed, match="no use"):
            job.result(timeout=0.1)


def test_a_pipeline_is_submitted_in_one_go() -> None:
    app = make_app()
    order: list[str] = []

    @app.job
    def step(name: str) -> None:
        order.append(name)

    with testing.Harness(app) as harness:
        with app.pipeline() as flow:
            first = flow.add(step, name="first")
            left = flow.add(step.options(after=first), name="left")
            right = flow.add(step.options(after=first, priority="HIGH"), name="right")
            flow.add(step.options(after=[left, right]), name="last")
        assert harness.run_until_idle() == 4
        assert order == ["first", "right", "left", "last"]
        assert flow.handles[-1].status is states.SUCCEEDED


def test_params_that_do_not_fit_are_refused_at_submit() -> None:
    app = make_app()

    @app.job
    def add(a: int) -> int:
        return a

    with testing.Harness(app) as harness:
        with pytest.raises(headway.HeadwayError, match="a: Expected `int`, got `str`"):
            add.submit("x")  # type: ignore[arg-type]
        assert harness.run_until_idle() == 0
