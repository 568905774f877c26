"""What is tried again every second is logged once."""

import threading

import pytest

from headway.domain import errors
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import timekeeper

ROUNDS = 3


def test_due_work_that_is_delayed_is_logged_once(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rounds: list[int] = []
    enough = threading.Event()
    keeper = timekeeper.Timekeeper(scheduler)

    def fail(*_: object) -> float:
        rounds.append(1)
        if len(rounds) > ROUNDS:
            enough.set()
        keeper._poke.set()
        raise errors.Unavailable("the disk is full")

    monkeypatch.setattr(timekeeper, "run_due", fail)
    keeper.start()
    assert enough.wait(30)
    keeper.stop()
    assert [one.message for one in caplog.records] == ["due work is delayed: the disk is full"]
