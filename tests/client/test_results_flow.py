"""Results that are passed from job to job, as code says it."""

import dataclasses
from datetime import date
from decimal import Decimal
from typing import Any, assert_type

import msgspec
import pydantic
import pytest

import headway
from headway import testing

app = headway.App()


@dataclasses.dataclass
class Page:
    title: str
    lines: list[str]


class Price(pydantic.BaseModel):
    amount: Decimal = pydantic.Field(alias="theAmount")
    due: date


class Bill(msgspec.Struct, rename="camel"):
    total_sum: Decimal


@app.job(retries=0)
def fetch(url: str) -> Page:
    """Returns a page."""
    if url == "skip":
        raise headway.Skip("nothing there")
    return Page(url.upper(), ["a", "b"])


@app.job(retries=0)
def count(page: Page | None, more: int = 0) -> int:
    """Takes what `fetch` returns."""
    return len(page.lines) + more if page else -1


@app.job(retries=0)
def resize(image: int, title: str = "", tags: list[str] | None = None) -> str:
    """Is one of many."""
    return f"{title}{image}{'+'.join(tags or [])}"


@app.job
def join(images: list[str]) -> str:
    """Takes what many come to."""
    return ",".join(images)


@app.job
def price(of: str) -> Price:
    """Returns a pydantic model with an alias."""
    return Price(theAmount=Decimal("1.10"), due=date(2026, 1, 2))


@app.job
def bill(price: Price, total: Decimal) -> Bill:
    """Takes the model, and a part of it."""
    return Bill(total_sum=price.amount + total)


@pytest.fixture
def harness() -> Any:
    """Runs the jobs above."""
    with testing.Harness(app) as harness:
        yield harness


def test_a_value_makes_its_job_the_predecessor_and_comes_as_its_type(harness: Any) -> None:
    with app.pipeline() as flow:
        page = flow.add(fetch, url="x")
        assert_type(page.value, Page)
        counted = flow.add(count, page=page.value, more=1)
        assert_type(counted, headway.Step[int])
        flow.add(count, page=page.value, more=page.value)  # type: ignore[arg-type]
    first, second, _ = flow.handles
    assert [one.job for one in second.fetch().after] == [first.job_id]
    assert harness.run_until_idle() == 3
    assert second.result() == 3


def test_the_value_of_a_handle_goes_into_a_submit(harness: Any) -> None:
    page = fetch.submit("x")
    assert_type(page.value, Page)
    titled = resize.submit(1, title=page.value.title)
    last = resize.submit(2, title=page.value.lines[-1], tags=[page.value.title, "z"])
    harness.run_until_idle()
    assert (titled.result(), last.result()) == ("X1", "b2X+z")
    named = app.submit("count", {"page": page.value})
    harness.run_until_idle()
    assert named.result() == 2


def test_a_map_fans_out_and_its_values_fan_in(harness: Any) -> None:
    with app.pipeline() as flow:
        page = flow.add(fetch, url="x")
        thumbs = flow.map(resize, image=[1, 2, 3], title=page.value.title, tags=[["a", "b"]] * 3)
        assert_type(thumbs.values, list[str])
        flow.add(join, images=thumbs.values)
        flow.add(count.options(after=thumbs), page=None)
    harness.run_until_idle()
    assert flow.handles[-2].result() == "X1a+b,X2a+b,X3a+b"
    assert len(flow.handles[-1].fetch().after) == len(thumbs) == 3


def test_a_map_of_nothing_is_empty_and_other_lists_must_be_of_one_length(harness: Any) -> None:
    with app.pipeline() as flow:
        assert flow.map(resize, image=range(0)).values == []
        with pytest.raises(TypeError, match="image has 2, title has 1"):
            flow.map(resize, image=[1, 2], title=["a"])
        with pytest.raises(TypeError, match="none of the params is a list"):
            flow.map(resize, image=flow.add(count, page=None).value)


def test_a_skipped_job_passes_on_none(harness: Any) -> None:
    counted = count.submit(page=fetch.submit("skip").value)
    harness.run_until_idle()
    assert counted.result() == -1


def test_what_does_not_fit_the_signature_fails_when_the_job_starts(harness: Any) -> None:
    page: Any = fetch.submit("x")
    wrong = resize.submit(image=page.value.title)
    missing = resize.options(retries=3).submit(image=page.value.lines[2])
    good = resize.submit(image=1)
    harness.run_until_idle()
    assert good.result() == "1"
    with pytest.raises(headway.JobFailed, match="image: Expected `int`, got `str`"):
        wrong.result()
    with pytest.raises(headway.JobFailed, match=r"has no 'lines\.2'"):
        missing.result()


def test_the_other_params_are_checked_at_once(harness: Any) -> None:
    page: Any = fetch.submit("x")
    with pytest.raises(headway.InvalidParams, match="title: Expected `str`"):
        resize.submit(image=page.value, title=3)  # type: ignore[arg-type]
    with pytest.raises(headway.InvalidParams, match="missing required field `image`"):
        resize.submit(title=page.value.title)  # type: ignore[call-arg]


def test_models_come_whole_and_their_parts_under_their_own_names(harness: Any) -> None:
    cost = price.submit("x")
    paid = bill.submit(price=cost.value, total=cost.value.amount)
    harness.run_until_idle()
    assert paid.result() == Bill(total_sum=Decimal("2.20"))


def test_a_program_gets_a_result_in_its_arguments(harness: Any) -> None:
    with app.pipeline() as flow:
        page = flow.add(fetch, url="x")
        flow.add_command("echo", page.value.title)
    first, command = flow.handles
    title = {"$result": first.job_id, "path": "title"}
    assert command.fetch().params == {"argv": ["echo", title]}
    again = app.command("echo", first.value.title)
    assert again.fetch().params == {"argv": ["echo", title]}


@app.job(retries=0)
def slow_count(ctx: headway.JobContext, page: Page) -> int:
    """Suspends with a result among its params."""
    ctx.sleep("1d")
    return len(page.lines)


def test_a_program_that_was_suspended_has_its_results_again(harness: Any) -> None:
    counted = slow_count.submit(page=fetch.submit("x").value)
    harness.run_until_idle()
    assert counted.status == "SUSPENDED"
    harness.advance("1d")
    assert counted.result() == 2
