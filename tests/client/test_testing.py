"""The harness that users test their jobs with."""

from collections.abc import Generator

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


def test_exceptions_that_are_not_worth_a_retry_end_a_job_at_once() -> None:
    app = make_app()

    @app.job(retry_on=OSError, give_up_on=(FileNotFoundError,), retry_delay="1s", backoff="fixed")
    def read(kind: str) -> None:
        raise {"value": ValueError, "missing": FileNotFoundError, "broken": OSError}[kind]

    with testing.Harness(app) as harness:
        made = {kind: read.submit(kind) for kind in ("value", "missing", "broken")}
        harness.run_until_idle()
        assert made["value"].fetch().retry_state == "suppressed"
        assert made["missing"].fetch().retry_state == "suppressed"
        assert made["broken"].fetch().retry_state == "scheduled"
        assert [harness.advance("1s") for _ in range(4)] == [1, 1, 1, 0]


def test_a_function_says_how_long_to_wait_before_the_next_attempt() -> None:
    app = make_app()

    @app.job(backoff=lambda attempt: 5 + attempt)
    def flaky() -> None:
        raise OSError

    with testing.Harness(app) as harness:
        flaky.submit()
        assert harness.run_until_idle() == 1
        assert [harness.advance("5s"), harness.advance("5s"), harness.advance("1s")] == [1, 0, 1]


def test_a_job_that_wants_to_be_called_later_has_not_failed() -> None:
    app = make_app()
    calls: list[int] = []

    @app.job(retries=0)
    def poll(ctx: headway.JobContext) -> str:
        calls.append(ctx.attempt)
        if len(calls) < 3:
            raise headway.RetryAfter("5m", "the other side is asleep")
        return "done"

    with testing.Harness(app) as harness:
        job = poll.submit()
        harness.run_until_idle()
        assert job.status is headway.JobStatus.SUSPENDED
        assert [harness.advance("5m"), harness.advance("5m")] == [1, 1]
        assert job.result(timeout=0.1) == "done"
    assert calls == [0, 0, 0]


def test_retry_rules_that_no_job_could_follow_are_refused_at_the_decorator() -> None:
    app = make_app()
    with pytest.raises(TypeError, match="not a class of exceptions"):
        app.job(retry_on="OSError")  # type: ignore[call-overload]
    with pytest.raises(headway.InvalidRequest, match="can only be given to"):
        app.submit("x", backoff=lambda attempt: 1)


def test_schedules_in_code_fire_when_the_clock_is_moved() -> None:
    app = make_app()
    ran: list[str] = []

    @app.job(cron=["0 3 * * *", "0 15 * * *"], timezone="Europe/Berlin")
    def report() -> None:
        ran.append("report")

    @app.job(every="6h")
    def clean(depth: int = 1) -> None:
        ran.append("clean")

    with testing.Harness(app) as harness:
        harness.advance("1d")
    assert sorted(ran) == ["clean"] * 4 + ["report"] * 2


def test_a_schedule_that_could_never_make_a_job_is_refused_at_the_decorator() -> None:
    app = make_app()
    with pytest.raises(headway.Invalid, match="cron"):
        app.job(cron="every day")(lambda: None)
    with pytest.raises(headway.Invalid, match="less than a second"):
        app.job(every=0.5)(lambda: None)

    def needs_a_name(name: str) -> None: ...

    with pytest.raises(TypeError, match="give each parameter a default"):
        app.job(every="5m")(needs_a_name)


def test_a_program_that_goes_on_has_started_in_time() -> None:
    app = make_app()

    @app.job(start_within="1m")
    def nap(ctx: headway.JobContext) -> str:
        ctx.sleep("1h")
        return "rested"

    with testing.Harness(app) as harness:
        job = nap.submit()
        harness.run_until_idle()
        harness.advance("1h")
        assert job.result(timeout=0.1) == "rested"


def test_what_is_around_a_program_is_around_each_stretch_of_it() -> None:
    app = make_app()
    seen: list[str] = []

    @app.around
    def told(ctx: headway.JobContext) -> Generator[None, str, None]:
        try:
            seen.append((yield))
        except headway.Suspended:
            seen.append("waits")
            raise

    @app.job
    def nap(ctx: headway.JobContext) -> str:
        ctx.sleep("1h")
        return "rested"

    with testing.Harness(app) as harness:
        job = nap.submit()
        harness.run_until_idle()
        harness.advance("1h")
        assert job.result(timeout=0.1) == "rested"
    assert seen == ["waits", "rested"]
