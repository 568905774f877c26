"""What a handler declares is what it gets, and what comes back, near and far."""

import asyncio
import dataclasses
import enum
import importlib
import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import msgspec
import pydantic
import pytest
from tests.servers import Stage

import headway
from headway import testing


class Colour(enum.Enum):
    RED = "red"


class Size(enum.IntEnum):
    LARGE = 3


@dataclasses.dataclass
class Point:
    x: int
    at: datetime


class Words(TypedDict):
    price: Decimal
    tags: set[str]


class Pair(NamedTuple):
    left: Decimal
    right: date


class Chapter(msgspec.Struct):
    title: str
    pages: dict[int, Decimal]


class Order(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True, extra="forbid")

    number: int = pydantic.Field(gt=0, alias="orderNumber")
    price: Decimal
    due: date

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def label(self) -> str:
        return f"order {self.number}"


@dataclasses.dataclass
class Box:
    orders: list[Order]
    best: Order | None


NOON = datetime(2030, 1, 31, 12, tzinfo=UTC)
ORDER = Order(orderNumber=7, price=Decimal("1.10"), due=date(2030, 1, 31))

VALUES: dict[str, tuple[Any, Any]] = {
    "decimal": (Decimal, Decimal("1.10")),
    "date and time": (datetime, NOON),
    "date": (date, date(2030, 1, 31)),
    "time span": (timedelta, timedelta(minutes=5)),
    "uuid": (uuid.UUID, uuid.UUID(int=7)),
    "bytes": (bytes, b"\0\xff"),
    "path": (Path, Path("a/b")),
    "enum": (Colour, Colour.RED),
    "int enum": (Size, Size.LARGE),
    "dataclass": (Point, Point(1, NOON)),
    "typed dict": (Words, {"price": Decimal("2.50"), "tags": {"a"}}),
    "named tuple": (Pair, Pair(Decimal(1), date(2030, 1, 31))),
    "struct": (Chapter, Chapter("One", {3: Decimal("0.5")})),
    "model": (Order, ORDER),
    "models in a dataclass": (Box, Box([ORDER], None)),
    "list of models": (list[Order], [ORDER]),
    "optional": (Decimal | None, Decimal(3)),
    "nothing": (Decimal | None, None),
    "tuple": (tuple[int, Decimal], (1, Decimal(2))),
    "set": (frozenset[date], frozenset([date(2030, 1, 31)])),
    "number keys": (dict[int, list[Decimal]], {1: [Decimal(1)]}),
}


def echoing(app: headway.App, kind: Any) -> "headway.JobFunction[[Any], Any]":
    """A job that takes a value of this type, looks at it and returns it."""

    def echo(value: Any) -> Any:
        print(repr(value))
        return value

    echo.__annotations__ = {"value": kind, "return": kind}
    made: headway.JobFunction[[Any], Any] = app.job(echo)
    return made


@pytest.mark.parametrize(("kind", "value"), VALUES.values(), ids=VALUES)
def test_a_value_comes_back_as_the_type_that_is_declared(kind: Any, value: Any) -> None:
    app = headway.App()
    echo = echoing(app, kind)
    with testing.Harness(app) as harness:
        jobs = [echo.submit(value), app.submit("echo", {"value": value})]
        jobs += app.submit_many([echo.request(value)])
        with app.pipeline() as flow:
            flow.add(echo, value)
        jobs += flow.handles
        harness.run_until_idle()
        for job in jobs:
            assert job.result() == value
            assert type(job.result()) is type(value)
            assert asyncio.run(job.result_async()) == value


WRONG: dict[str, tuple[Any, Any, str]] = {
    "decimal": (Decimal, "much", "params.value"),
    "date": (date, "soon", "params.value"),
    "enum": (Colour, "blue", "params.value"),
    "dataclass": (Point, {"x": "1", "at": NOON}, "params.value.x"),
    "typed dict": (Words, {"price": "1"}, "params.value.tags"),
    "struct": (Chapter, {"title": "a", "pages": []}, "params.value.pages"),
    "model": (Order, {"orderNumber": 0, "price": "1", "due": "2030-01-31"}, "params.value"),
    "path": (Path, 7, "params.value"),
}


@pytest.mark.parametrize(("kind", "value", "field"), WRONG.values(), ids=WRONG)
def test_a_value_of_another_type_is_refused_at_submit(kind: Any, value: Any, field: str) -> None:
    app = headway.App()
    echo = echoing(app, kind)
    with testing.Harness(app):
        with pytest.raises(headway.InvalidParams) as typed:
            echo.submit(value)
        with pytest.raises(headway.InvalidParams) as named:
            app.submit("echo", {"value": value})
        assert list(typed.value.fields) == list(named.value.fields) == [field]


def test_a_model_names_its_field_and_keeps_what_was_given_to_itself() -> None:
    app = headway.App()
    echo = echoing(app, Order)
    with testing.Harness(app), pytest.raises(headway.InvalidParams) as caught:
        echo.submit({"orderNumber": -5123, "price": "1", "due": "2030-01-31"})
    assert "orderNumber: Input should be greater than 0" in caught.value.detail
    assert "5123" not in caught.value.detail


def test_a_value_that_json_cannot_say_is_refused_at_submit() -> None:
    app = headway.App()
    with testing.Harness(app), pytest.raises(headway.InvalidRequest, match="Event cannot be"):
        app.submit("anything", {"value": asyncio.Event()})


def test_a_result_of_another_type_is_kept_and_said() -> None:
    app = headway.App()

    @app.job
    def price() -> Decimal:
        return "much"  # type: ignore[return-value]

    @app.job
    def skips() -> Decimal:
        raise headway.Skip("not today")

    with testing.Harness(app) as harness:
        job, skipped = price.submit(), skips.submit()
        harness.run_until_idle()
        assert job.status == "SUCCEEDED"
        with pytest.raises(headway.InvalidResult, match="'price' returns: Invalid decimal"):
            job.result()
        assert app.send(headway.protocol.jobs.get_result, id=job.number).result_data == "much"
        assert skipped.result() is None


TYPED_JOBS = """
import dataclasses, datetime, decimal, pydantic, headway
app = headway.App()

@dataclasses.dataclass
class Bill:
    total: decimal.Decimal
    due: datetime.date

class Order(pydantic.BaseModel):
    price: decimal.Decimal
    count: int

@app.job
def bill(order: Order, due: datetime.date) -> Bill:
    return Bill(order.price * order.count, due)

@app.job(isolation="process")
def bill_apart(order: Order, due: datetime.date) -> Bill:
    return Bill(order.price * order.count, due)

@app.job
async def bill_later(order: Order, due: datetime.date) -> Bill:
    return Bill(order.price * order.count, due)
"""


def test_types_come_back_over_http_from_threads_processes_and_loops(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    (stage.folder / "typed_jobs.py").write_text(TYPED_JOBS, encoding="utf-8")
    monkeypatch.syspath_prepend(stage.folder)
    jobs = importlib.import_module("typed_jobs")
    server = stage.serve(app="typed_jobs:app")
    jobs.app.client = headway.connect(url=server.url, token=server.token)
    order = jobs.Order(price=Decimal("1.10"), count=3)
    wanted = jobs.Bill(Decimal("3.30"), date(2030, 1, 31))
    for job in (jobs.bill, jobs.bill_apart, jobs.bill_later):
        assert job.submit(order, due=wanted.due).result(timeout=60) == wanted
    assert jobs.bill.direct(order, wanted.due) == wanted

    async def main() -> None:
        submitted = await jobs.bill.submit_async(order, wanted.due)
        assert await submitted.result_async(timeout=60) == wanted
        await jobs.app.close_async()

    asyncio.run(main())
    answer = server.http.post(
        "/api/jobs", json={"job_type": "bill", "params": {"order": {"price": 1}, "due": "x"}}
    )
    assert answer.status_code == 422
