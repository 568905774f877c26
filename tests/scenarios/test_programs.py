"""An order that lives through a kill, on every store, in a server and in a worker elsewhere."""

import contextlib
import sqlite3
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from tests.servers import Process, Server, Stage, wait_for

ORDERS = """
import asyncio
import os
import time
from decimal import Decimal
from pathlib import Path

import headway

app = headway.App()


def write(line):
    handle = os.open("notes.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, f"{line}\\n".encode())
    os.close(handle)


def charge(name: str) -> str:
    write("charge")
    return f"charge of {name}"


def pack(name: str) -> None:
    write("pack")
    while not Path(f"{name}.go").exists():
        time.sleep(0.01)


def ship() -> None:
    write("ship")


def thank(said: dict[str, str]) -> str:
    write("thank")
    return f"thanks to {said['by']}"


@app.job
def label(parcel: int) -> int:
    write(f"label {parcel}")
    return parcel * 10


@app.job
def order(ctx: headway.JobContext, name: str) -> list[object]:
    charged = ctx.step(charge, name)
    ctx.step(pack, name)
    ctx.sleep(0.1)
    ctx.step(ship)
    said = ctx.wait_for("arrived", timeout="1h")
    labels = ctx.map(label, [{"parcel": number} for number in range(3)])
    return [charged, ctx.step(thank, said), labels]


@app.job(isolation="process")
def isolated(ctx: headway.JobContext, name: str) -> list[object]:
    return order(ctx, name)


@app.job
async def awaited(ctx: headway.AsyncJobContext, name: str) -> list[object]:
    charged = await ctx.step(charge, name)
    await ctx.step(pack, name)
    await ctx.sleep(0.1)
    await ctx.step(ship)
    said = await ctx.wait_for("arrived", timeout="1h")
    labels = await ctx.map(label, [{"parcel": number} for number in range(3)])
    return [charged, await ctx.step(thank, said), labels]


@app.job
def parent(ctx: headway.JobContext, name: str) -> list[str]:
    found = ctx.gather(label.request(parcel=1), price.request(cents=250))
    return [type(one).__name__ for one in found]


@app.job
def price(cents: int) -> Decimal:
    return Decimal(cents) / 100


def think(turn: int) -> int:
    return turn


@app.job
def agent(ctx: headway.JobContext, name: str) -> int:
    return sum(ctx.step(think, turn) for turn in range(200))
"""

BOOKS = """
import sqlite3

import headway

app = headway.App()


def connect(database: str) -> object:
    if database.startswith("postgresql"):
        import psycopg

        return psycopg.connect(database)
    return sqlite3.connect(database)


def book(connection, attempt: int, fails: int) -> str:
    connection.execute("INSERT INTO bookings VALUES (1)")
    if attempt < fails:
        raise OSError("no net")
    return "booked"


@app.job
def pay(ctx: headway.JobContext, database: str, fails: int) -> list[str]:
    connection = connect(database)
    try:
        first = ctx.step_on(connection, book, connection, ctx.attempt, fails)
        if ctx.attempt == fails:
            raise OSError("no net")
        return [first, ctx.step_on(connection, book, connection, ctx.attempt, fails)]
    finally:
        connection.close()


@app.job
async def pay_async(ctx: headway.AsyncJobContext, database: str, fails: int) -> list[str]:
    connection = connect(database)
    try:
        first = await ctx.step_on(connection, book, connection, ctx.attempt, fails)
        if ctx.attempt == fails:
            raise OSError("no net")
        return [first, await ctx.step_on(connection, book, connection, ctx.attempt, fails)]
    finally:
        connection.close()


@app.job(isolation="process")
def pay_apart(ctx: headway.JobContext, database: str, fails: int) -> list[str]:
    return pay(ctx, database, fails)
"""

PATIENT = {"max_attempts": 3, "base_delay_s": 0.1}


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings of a server on each store."""
    if request.param == "sqlite":
        return {}
    fresh: Callable[[], str] = request.getfixturevalue("fresh_database")
    return {"db": fresh()}


@pytest.fixture
def orders(stage: Stage) -> Stage:
    (stage.folder / "orders.py").write_text(ORDERS)
    return stage


def go_on(stage: Stage, server: Server, job: Any) -> None:
    """From the step that was killed to the end."""
    stage.let_go("a")
    path = f"/api/jobs/{job['job_id']}"
    told = server.http.post(f"{path}/signals/arrived", json={"payload": {"by": "ann"}})
    assert told.status_code == 202
    result = wait_for(lambda: result_of(server, job), "the end of the program")
    assert result["status"] == "SUCCEEDED", result["error"]
    assert result["result_data"] == ["charge of a", "thanks to ann", [0, 10, 20]]
    notes = stage.notes()
    assert [note for note in notes if not note.startswith("label")] == [
        "charge",
        "pack",
        "pack",
        "ship",
        "thank",
    ]
    assert sorted(note for note in notes if note.startswith("label")) == [
        "label 0",
        "label 1",
        "label 2",
    ]
    kinds = [one["kind"] for one in server.get(f"{path}/steps")["items"]]
    assert kinds == ["step", "step", "sleep", "step", "signal", "children", "step"]


def result_of(server: Server, job: Any) -> Any:
    answer = server.http.get(f"/api/jobs/{job['job_id']}/result")
    return answer.json() if answer.status_code == 200 else None


@pytest.mark.parametrize(
    ("database", "job_type"),
    [("sqlite", "order"), ("sqlite", "isolated"), ("postgres", "awaited")],
    indirect=["database"],
)
def test_a_killed_server_goes_on_after_the_last_step(
    orders: Stage, database: dict[str, str], job_type: str
) -> None:
    server = orders.serve(app="orders:app", slots=4, **database)
    job = server.submit(job_type, "a", retry_policy=PATIENT)
    orders.wait_for_note("pack")
    server.kill()
    again = orders.serve(app="orders:app", slots=4, **database)
    go_on(orders, again, job)


@pytest.mark.parametrize(
    ("database", "job_type"),
    [("sqlite", "awaited"), ("postgres", "order")],
    indirect=["database"],
)
def test_another_worker_goes_on_where_a_killed_one_was(
    orders: Stage, database: dict[str, str], job_type: str
) -> None:
    server = orders.serve(app=None, lease_ttl_s=2.0, **database)
    token = server.post("/api/tokens", name="w", role="work")["token"]

    def work(data: str) -> Process:
        return orders.work(server, app="orders:app", token=token, slots=4, data=data)

    first = work("one")
    job = server.submit(job_type, "a", retry_policy=PATIENT)
    orders.wait_for_note("pack")
    first.kill()
    work("two")
    go_on(orders, server, job)


def test_a_worker_elsewhere_restores_the_results_of_children(orders: Stage) -> None:
    server = orders.serve(app=None)
    token = server.post("/api/tokens", name="w", role="work")["token"]
    orders.work(server, app="orders:app", token=token, slots=4)
    job = server.submit("parent", "a")
    server.wait(job, "SUCCEEDED", "FAILED")
    assert result_of(server, job)["result_data"] == ["int", "Decimal"]


def test_a_loop_of_two_hundred_steps_is_a_journal_of_as_many(
    orders: Stage, database: dict[str, str]
) -> None:
    server = orders.serve(app="orders:app", slots=4, **database)
    job = server.submit("agent", "a")
    ended = server.wait(job, "SUCCEEDED", "FAILED")
    assert ended["status"] == "SUCCEEDED", ended["error"]
    result = server.get(f"/api/jobs/{job['job_id']}/result")["result_data"]
    assert result == sum(range(200))
    steps = server.get(f"/api/jobs/{job['job_id']}/steps")["items"]
    assert [one["index"] for one in steps] == list(range(200))


@pytest.mark.parametrize("job_type", ["pay", "pay_async", "pay_apart"])
def test_a_step_and_what_it_writes_are_committed_together(
    stage: Stage, database: dict[str, str], job_type: str
) -> None:
    (stage.folder / "books.py").write_text(BOOKS)
    server = stage.serve(app="books:app", slots=4, **database)
    where = database.get("db") or str(server.data / "headway.db")
    with contextlib.closing(connect(where)) as connection:
        connection.execute("CREATE TABLE bookings (number INT)")
        connection.commit()
        params = {"database": where, "fails": 1}
        job = server.submit(job_type, params=params, retry_policy=PATIENT)
        result = wait_for(lambda: result_of(server, job), "the end of the program")
        assert result["status"] == "SUCCEEDED", result["error"]
        assert result["result_data"] == ["booked", "booked"]
        assert connection.execute("SELECT count(*) FROM bookings").fetchone() == (2,)
    steps = server.get(f"/api/jobs/{job['job_id']}/steps")["items"]
    assert [(one["index"], one["attempt"]) for one in steps] == [(0, 1), (1, 2)]


def connect(database: str) -> Any:
    if database.startswith("postgresql"):
        return psycopg.connect(database)
    return sqlite3.connect(database)
