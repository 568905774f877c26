"""`headway jobs steps` and `headway jobs signal`."""

import pytest
from tests.cli.conftest import Cli
from tests.worker.executor_helpers import eventually

PROGRAM = """
import headway

app = headway.App()


def charge(order: int) -> str:
    return f"charge-{order}"


@app.job
def label(parcel: int) -> int:
    return parcel


@app.job
def order(ctx: headway.JobContext, number: int) -> list[object]:
    ctx.step(charge, number)
    ctx.step(charge, number + 1)
    answer = ctx.wait_for("approved")
    ctx.map(label, [{"parcel": 1}, {"parcel": 2}])
    return [answer]
"""
"""A program that waits for a signal and has children."""


@pytest.fixture
def shop(cli: Cli) -> Cli:
    (cli.folder / "shop.py").write_text(PROGRAM)
    return cli


def test_the_journal_of_a_program_is_a_table(shop: Cli) -> None:
    shop.call("submit", "order", "number=7")
    assert shop.text("jobs", "steps", "1") == "No steps\n"
    with shop.serving():
        eventually(lambda: "waiting" in shop.text("jobs", "steps", "1"))
        shown = shop.text("jobs", "steps", "1").splitlines()
        assert [line.split()[:2] for line in shown] == [
            ["NAME", "KIND"],
            ["charge", "step"],
            ["charge", "#2"],
            ["approved", "signal"],
        ]
        assert shown[1].endswith('"charge-7"')
        assert shop.text("jobs", "signal", "1", "approved", "by=ann", "n=3") == (
            "Sent approved to job 1\n"
        )
        shop.call("jobs", "wait", "1")
    told = shop.text("jobs", "steps", "1").splitlines()
    assert told[3].endswith('{"by":"ann","n":3}')
    assert told[4].endswith("2 succeeded")
    kinds = [one["kind"] for one in shop.json("jobs", "steps", "1")["items"]]
    assert kinds == ["step", "step", "signal", "children"]


def test_a_signal_is_kept_until_it_is_waited_for(shop: Cli) -> None:
    shop.call("submit", "order", "number=7")
    sent = shop.json("jobs", "signal", "1", "approved", "--payload", "[1, 2]")
    assert sent["name"] == "approved"
    with shop.serving():
        shop.call("jobs", "wait", "1")
    assert shop.json("jobs", "result", "1")["result_data"] == [[1, 2]]


def test_a_signal_that_no_job_can_get_is_refused(shop: Cli) -> None:
    shop.call("submit", "order", "number=7")
    assert "not JSON" in shop.error("jobs", "signal", "1", "go", "--payload", "{", code=2)
    assert "KEY=VALUE" in shop.error("jobs", "signal", "1", "go", "word", code=2)
    shop.call("jobs", "cancel", "1")
    assert "has ended" in shop.error("jobs", "signal", "1", "go", code=4)


def test_why_says_how_a_program_goes_on(shop: Cli) -> None:
    shop.call("submit", "order", "number=7")
    with shop.serving():
        eventually(lambda: "awaiting signal" in shop.text("why", "1"))
        told = shop.text("why", "1")
    assert "signal approved" in told
    assert "headway jobs signal 1 approved" in told
    assert "headway jobs approve" not in told


def test_a_retry_from_a_step_keeps_what_came_before_it(shop: Cli) -> None:
    shop.call("submit", "order", "number=7")
    with shop.serving():
        shop.text("jobs", "signal", "1", "approved", "by=ann")
        shop.call("jobs", "wait", "1")
        before = shop.json("jobs", "steps", "1")["items"]
        assert "no pay 0 in the journal" in shop.error(
            "jobs", "retry", "1", "--force", "--from", "pay", code=2
        )
        shop.call("jobs", "retry", "1", "--force", "--from", "charge#2")
        eventually(lambda: "awaiting signal" in shop.text("why", "1"))
        after = shop.json("jobs", "steps", "1")["items"]
    assert after[0]["started_at"] == before[0]["started_at"]
    assert [one["name"] for one in after] == ["charge", "charge", "approved"]
    assert after[1]["started_at"] > before[1]["started_at"]
