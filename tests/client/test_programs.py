"""Programs that go on, in the harness that users test their jobs with."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

import headway
from headway import testing
from headway.domain import states
from headway.domain.errors import InvalidParams, InvalidRequest
from headway.domain.steps import StepKind


@pytest.fixture
def app() -> headway.App:
    return headway.App()


@pytest.fixture
def harness(app: headway.App) -> Iterator[testing.Harness]:
    with testing.Harness(app) as made:
        yield made


def order_program(app: headway.App, did: list[str]) -> headway.JobFunction[[int], str]:
    """The program of the documentation; `did` says what really happened."""

    def charge_card(order: int) -> str:
        did.append(f"charge {order}")
        return f"charge-{order}"

    def pack(order: int) -> None:
        did.append(f"pack {order}")

    @app.job
    def print_label(parcel: int) -> str:
        did.append(f"label {parcel}")
        return f"label-{parcel}"

    @app.job(retries=5)
    def order(ctx: headway.JobContext, order_id: int) -> str:
        charge = ctx.step(charge_card, order_id)
        ctx.sleep("3d")
        ctx.step(pack, order_id)
        answer = ctx.wait_for("approved", timeout="7d")
        labels = ctx.map(print_label, [{"parcel": n} for n in range(3)])
        return f"{charge} {answer['by']} {len(labels)}"

    return order


def test_a_program_lives_for_days_and_does_each_step_once(
    app: headway.App, harness: testing.Harness
) -> None:
    did: list[str] = []
    order = order_program(app, did)
    job = order.submit(7)
    assert harness.run_until_idle() == 1
    assert job.status is states.SUSPENDED
    assert harness.advance("2d") == 0
    assert harness.advance("1d") == 1
    job.signal("approved", by="ann")
    assert harness.run_until_idle() == 5  # the program, three children, the program
    assert job.result(timeout=0.1) == "charge-7 ann 3"
    assert did == ["charge 7", "pack 7", "label 0", "label 1", "label 2"]
    assert [(step.kind, step.name, step.index) for step in job.steps()] == [
        (StepKind.STEP, "charge_card", 0),
        (StepKind.SLEEP, "sleep", 0),
        (StepKind.STEP, "pack", 0),
        (StepKind.SIGNAL, "approved", 0),
        (StepKind.CHILDREN, "print_label", 0),
    ]


def test_a_failed_program_goes_on_after_the_last_step(
    app: headway.App, harness: testing.Harness
) -> None:
    did: list[str] = []

    def first() -> int:
        did.append("first")
        return 1

    def second(attempt: int) -> int:
        did.append("second")
        if attempt == 0:
            raise OSError("no net")
        return 2

    @app.job(retries=1)
    def work(ctx: headway.JobContext) -> int:
        return ctx.step(first) + ctx.step(second, ctx.attempt)

    job = work.submit()
    harness.run_until_idle()
    harness.advance("1h")
    assert job.result(timeout=0.1) == 3
    assert did == ["first", "second", "second"]


def test_steps_in_a_loop_are_counted_by_name(app: headway.App, harness: testing.Harness) -> None:
    calls: list[int] = []

    def turn(number: int) -> int:
        calls.append(number)
        return number * 2

    @app.job
    def agent(ctx: headway.JobContext) -> int:
        total = 0
        for number in range(200):
            total += ctx.step(turn, number)
            if number == 99:
                ctx.sleep("1m")
        return total

    job = agent.submit()
    harness.run_until_idle()
    harness.advance("1m")
    assert job.result(timeout=0.1) == sum(range(0, 400, 2))
    assert calls == list(range(200))


def test_the_retries_of_a_step_come_before_those_of_the_job(
    app: headway.App, harness: testing.Harness
) -> None:
    tries: list[int] = []

    def flaky() -> str:
        tries.append(len(tries))
        if len(tries) < 3:
            raise OSError("no net")
        return "there"

    @app.job
    def work(ctx: headway.JobContext) -> str:
        return ctx.step(flaky, retries=2)

    job = work.submit()
    assert harness.run_until_idle() == 1
    assert job.result(timeout=0.1) == "there"
    assert tries == [0, 1, 2]


def test_steps_that_the_code_no_longer_has_are_ignored(
    app: headway.App, harness: testing.Harness
) -> None:
    names = [["one", "gone", "one"], ["new", "one"]]

    @app.job
    def work(ctx: headway.JobContext) -> list[str]:
        done = [ctx.step(name.upper, name=name) for name in names[0]]
        ctx.sleep("1h")
        return done

    job = work.submit()
    harness.run_until_idle()
    del names[0]
    harness.advance("1h")
    assert job.result(timeout=0.1) == ["NEW", "ONE"]
    kept = [(one.name, one.index) for one in job.steps() if one.kind is StepKind.STEP]
    assert kept == [("one", 0), ("gone", 0), ("one", 1), ("new", 0)]


def test_retries_and_spans_that_cannot_be_meant_are_refused_at_the_call(
    app: headway.App, harness: testing.Harness
) -> None:
    refused: list[str] = []

    @app.job
    def work(ctx: headway.JobContext) -> None:
        calls = (
            lambda: ctx.step(print, retries=-1),
            lambda: ctx.sleep("11 y"),
            lambda: ctx.sleep("4000d"),
            lambda: ctx.sleep(-1),
            lambda: ctx.sleep(float("nan")),
            lambda: ctx.wait_for("never", timeout="4000d"),
            lambda: ctx.wait_for("two\nlines"),
        )
        for call in calls:
            try:
                call()
            except headway.HeadwayError as error:
                refused.append(str(error))

    job = work.submit()
    harness.run_until_idle()
    assert job.result(timeout=0.1) is None
    assert len(refused) == 7
    assert job.steps() == []


def test_results_of_steps_come_back_as_their_functions_declare_them(
    app: headway.App, harness: testing.Harness
) -> None:
    @dataclass
    class Charge:
        amount: Decimal

    def charge() -> Charge:
        return Charge(Decimal("1.10"))

    def pair() -> Any:
        return (1, 2)

    seen: list[Any] = []

    @app.job
    def work(ctx: headway.JobContext) -> None:
        seen.append((ctx.step(charge), ctx.step(pair)))
        ctx.sleep("1s")

    work.submit()
    harness.run_until_idle()
    harness.advance("1s")
    assert seen == [(Charge(Decimal("1.10")), [1, 2])] * 2


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (float("nan"), "cannot be written as JSON"),
        (object(), "cannot be written as JSON"),
        ("x" * 1_100_000, "the limit is 1048576"),
    ],
)
def test_a_result_that_is_no_json_fails_the_run_and_is_not_stored(
    app: headway.App, harness: testing.Harness, result: Any, problem: str
) -> None:
    def give() -> Any:
        return result

    @app.job(retries=0)
    def work(ctx: headway.JobContext) -> None:
        ctx.step(give, name="odd")

    job = work.submit()
    harness.run_until_idle()
    with pytest.raises(headway.JobFailed, match=problem) as failed:
        job.result(timeout=0.1)
    assert "the result of step 'odd'" in str(failed.value)
    assert job.steps() == []


def test_a_result_of_another_type_than_declared_is_stored_before_it_is_refused(
    app: headway.App, harness: testing.Harness
) -> None:
    did: list[str] = []

    def count() -> int:
        did.append("count")
        return "three"  # type: ignore[return-value]

    @app.job(retries=1)
    def work(ctx: headway.JobContext) -> None:
        ctx.step(count)

    job = work.submit()
    harness.run_until_idle()
    harness.advance("1h")
    with pytest.raises(headway.JobFailed, match="InvalidResult"):
        job.result(timeout=0.1)
    assert (did, [step.result for step in job.steps()]) == (["count"], ["three"])


def test_the_awaited_names_of_a_handle_do_the_same(
    app: headway.App, harness: testing.Harness
) -> None:
    @app.job
    def work(ctx: headway.JobContext) -> Any:
        return ctx.wait_for("go")

    job = work.submit()

    async def talk() -> list[str]:
        sent = await job.signal_async("go", when=Decimal("1.5"))
        assert (sent.job_id, sent.name) == (job.job_id, "go")
        harness.run_until_idle()
        return [step.name for step in await job.steps_async()]

    assert asyncio.run(talk()) == ["go"]
    assert job.result(timeout=0.1) == {"when": "1.5"}
    with pytest.raises(headway.Conflict, match="has ended"):
        job.signal("go")


def test_fail_and_skip_in_a_step_end_the_job_at_once(
    app: headway.App, harness: testing.Harness
) -> None:
    tries: list[str] = []

    def refuse() -> None:
        tries.append("refuse")
        raise headway.Fail("closed", retry=False)

    def leave() -> None:
        tries.append("leave")
        raise headway.Skip("nothing to do")

    @app.job
    def refused(ctx: headway.JobContext) -> None:
        ctx.step(refuse, retries=5)

    @app.job
    def left(ctx: headway.JobContext) -> None:
        ctx.step(leave, retries=5)

    first, second = refused.submit(), left.submit()
    harness.run_until_idle()
    assert (first.status, second.status) == (states.FAILED, states.SKIPPED)
    assert tries == ["refuse", "leave"]


def test_a_cancelled_program_cancels_its_children(
    app: headway.App, harness: testing.Harness
) -> None:
    @app.job(delay="1d")
    def later() -> None: ...

    @app.job
    def work(ctx: headway.JobContext) -> None:
        ctx.map(later, [{}, {}])

    job = work.submit()
    harness.run_until_idle()
    job.cancel()
    found = app.send(headway.protocol.jobs.list_jobs).items
    assert {one.status for one in found} == {states.CANCELLED}


def test_a_signal_that_has_come_is_taken_without_suspending(
    app: headway.App, harness: testing.Harness
) -> None:
    @app.job
    def work(ctx: headway.JobContext) -> list[Any]:
        return [ctx.wait_for("go"), ctx.wait_for("go")]

    job = work.submit()
    job.signal("go", turn=1)
    job.signal("go", turn=2)
    assert harness.run_until_idle() == 1
    assert job.result(timeout=0.1) == [{"turn": 1}, {"turn": 2}]


def test_a_signal_that_does_not_come_in_time_raises(
    app: headway.App, harness: testing.Harness
) -> None:
    @app.job
    def work(ctx: headway.JobContext) -> str:
        try:
            ctx.wait_for("go", timeout="1h")
        except headway.SignalTimeout:
            return "too late"
        return "came"

    job = work.submit()
    harness.run_until_idle()
    harness.advance("1h")
    assert job.result(timeout=0.1) == "too late"


def test_sleeps_take_spans_and_moments(app: headway.App, harness: testing.Harness) -> None:
    start = harness.clock.now()

    @app.job
    def work(ctx: headway.JobContext) -> str:
        ctx.sleep(60)
        ctx.sleep(timedelta(minutes=1))
        ctx.sleep(start + timedelta(minutes=3))
        ctx.sleep(start)
        ctx.sleep(0)
        return "awake"

    job = work.submit()
    harness.run_until_idle()
    for _ in range(3):
        assert job.status is states.SUSPENDED
        harness.advance("1m")
    assert job.result(timeout=0.1) == "awake"


def test_children_are_gathered_in_order_and_typed(
    app: headway.App, harness: testing.Harness
) -> None:
    @app.job
    def price(cents: int) -> Decimal:
        return Decimal(cents) / 100

    @app.job
    def word(text: str) -> str:
        return text.upper()

    seen: list[Any] = []

    @app.job
    def work(ctx: headway.JobContext) -> None:
        seen[:] = [
            ctx.call(price, cents=110),
            ctx.gather(word.request(text="a"), price.request(cents=5)),
            ctx.map(price, []),
        ]

    job = work.submit()
    harness.run_until_idle()
    job.result(timeout=0.1)
    assert seen == [Decimal("1.1"), ["A", Decimal("0.05")], []]


def test_a_failed_child_raises_unless_it_may_stand_in_the_list(
    app: headway.App, harness: testing.Harness
) -> None:
    @app.job(retries=0)
    def half(number: int) -> int:
        if number % 2:
            raise headway.Fail("odd")
        return number // 2

    @app.job(retries=0)
    def all_or_none(ctx: headway.JobContext) -> list[int]:
        return ctx.map(half, [{"number": 2}, {"number": 3}])

    @app.job(retries=0)
    def some(ctx: headway.JobContext) -> list[Any]:
        found = ctx.map(half, [{"number": 2}, {"number": 3}], return_exceptions=True)
        return [one if isinstance(one, int) else one.error for one in found]

    strict, lenient = all_or_none.submit(), some.submit()
    harness.run_until_idle()
    assert lenient.result(timeout=0.1) == [1, "odd"]
    with pytest.raises(headway.JobFailed, match=r"JobFailed: job .* ended FAILED: odd"):
        strict.result(timeout=0.1)


def test_params_of_children_are_checked_at_the_call(
    app: headway.App, harness: testing.Harness
) -> None:
    @app.job
    def half(number: int) -> int:
        return number // 2

    caught: list[Exception] = []

    @app.job
    def work(ctx: headway.JobContext) -> None:
        try:
            ctx.map(half, [{"number": "two"}])
        except InvalidParams as error:
            caught.append(error)

    work.submit()
    assert harness.run_until_idle() == 1
    assert len(caught) == 1


def test_a_handler_that_swallows_the_suspension_fails_with_advice(
    app: headway.App, harness: testing.Harness
) -> None:
    again: list[BaseException] = []

    @app.job(retries=0)
    def work(ctx: headway.JobContext) -> str:
        with contextlib.suppress(BaseException):
            ctx.sleep("1d")
        try:
            ctx.step(len, "x")
        except BaseException as error:
            again.append(error)
        return "done"

    job = work.submit()
    harness.run_until_idle()
    assert isinstance(again[0], headway.Suspended)
    with pytest.raises(headway.JobFailed, match=r"swallowed headway\.Suspended.*catch Exception"):
        job.result(timeout=0.1)


def test_finally_blocks_run_and_one_that_raises_is_told(
    app: headway.App, harness: testing.Harness
) -> None:
    closed: list[str] = []

    @app.job(retries=0)
    def good(ctx: headway.JobContext) -> None:
        try:
            ctx.sleep("1d")
        finally:
            closed.append("good")

    @app.job(retries=0)
    def bad(ctx: headway.JobContext) -> None:
        try:
            ctx.sleep("1d")
        finally:
            raise OSError("cannot close")

    well, ill = good.submit(), bad.submit()
    harness.run_until_idle()
    assert (well.status, closed) == (states.SUSPENDED, ["good"])
    with pytest.raises(headway.JobFailed, match="swallowed") as failed:
        ill.result(timeout=0.1)
    assert "cannot close" in str(failed.value)


def test_async_handlers_await_the_same_methods(app: headway.App, harness: testing.Harness) -> None:
    did: list[str] = []

    async def fetch(page: int) -> str:
        did.append(f"fetch {page}")
        await asyncio.sleep(0)
        return f"page {page}"

    def count(pages: list[str]) -> int:
        did.append("count")
        return len(pages)

    @app.job
    async def letter(text: str) -> str:
        return text[0]

    @app.job
    async def crawl(ctx: headway.AsyncJobContext, pages: int) -> list[Any]:
        found = await asyncio.gather(*(ctx.step(fetch, page) for page in range(pages)))
        total = await ctx.step(count, found)
        await ctx.sleep("1d")
        said = await ctx.wait_for("go")
        first = await ctx.call(letter, "abc")
        more = await ctx.map(letter, [{"text": "x"}, {"text": "y"}])
        both = await ctx.gather(letter.request("k"))
        return [total, said["word"], first, *more, *both, found[1], ctx.number]

    job = crawl.submit(3)
    harness.run_until_idle()
    harness.advance("1d")
    job.signal("go", word="now")
    harness.run_until_idle()
    assert job.result(timeout=0.1) == [3, "now", "a", "x", "y", "k", "page 1", job.number]
    assert did == ["fetch 0", "fetch 1", "fetch 2", "count"]


def test_tasks_that_are_suspended_together_suspend_the_run(
    app: headway.App, harness: testing.Harness
) -> None:
    @app.job
    async def work(ctx: headway.AsyncJobContext) -> str:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(ctx.sleep("1d"))
            tasks.create_task(ctx.sleep("2d"))
        return "rested"

    job = work.submit()
    harness.run_until_idle()
    assert job.status is states.SUSPENDED
    harness.advance("1d")
    harness.advance("2d")
    assert job.result(timeout=0.1) == "rested"


def test_an_async_function_is_no_step_of_a_plain_handler(
    app: headway.App, harness: testing.Harness
) -> None:
    async def later() -> None: ...

    @app.job(retries=0)
    def work(ctx: headway.JobContext) -> None:
        ctx.step(later)  # type: ignore[unused-coroutine]

    job = work.submit()
    harness.run_until_idle()
    with pytest.raises(headway.JobFailed, match="make the handler async"):
        job.result(timeout=0.1)


def test_a_moment_without_an_offset_is_refused(app: headway.App, harness: testing.Harness) -> None:
    @app.job
    def work(ctx: headway.JobContext) -> None:
        with pytest.raises(InvalidRequest, match="UTC offset"):
            ctx.sleep(harness.clock.now().replace(tzinfo=None))
        with pytest.raises(headway.errors.InvalidDuration):
            ctx.sleep(-1)

    job = work.submit()
    harness.run_until_idle()
    job.result(timeout=0.1)


def test_a_step_is_committed_with_what_it_writes(
    app: headway.App, harness: testing.Harness
) -> None:
    def connect() -> sqlite3.Connection:
        return sqlite3.connect(harness.database)

    with connect() as setup:
        setup.execute("CREATE TABLE balances (account TEXT, amount INT)")

    def book(connection: sqlite3.Connection, *, fails: bool) -> int:
        connection.execute("INSERT INTO balances VALUES ('ann', 5)")
        if fails:
            raise OSError("no net")
        return 5

    @app.job(retries=1)
    def pay(ctx: headway.JobContext) -> int:
        connection = connect()
        try:
            booked = ctx.step_on(connection, book, connection, fails=ctx.attempt == 0)
        finally:
            connection.close()
        ctx.sleep("1s")
        return booked

    job = pay.submit()
    harness.run_until_idle()
    harness.advance("1h")
    harness.advance("1s")
    assert job.result(timeout=0.1) == 5
    with connect() as check:
        assert check.execute("SELECT count(*) FROM balances").fetchone() == (1,)
