"""Limits: what fits, and what is said when it does not."""

import pytest

from headway.domain import errors
from headway.domain.jobs import Lane
from headway.domain.manage import limits
from headway.domain.manage.limits import Rate, Room, StandardPolicy


@pytest.mark.parametrize(("amount", "fits"), [(9, True), (10, True), (11, False)])
def test_a_limit_is_full_when_used_and_wanted_exceed_its_size(amount: int, fits: bool) -> None:
    assert Room(name="capacity", size=70, used=60).fits(amount) is fits


def test_the_sentence_names_used_wanted_and_size() -> None:
    room = Room(name="capacity", size=70, used=60)
    assert room.sentence(30) == "capacity: used 60 + 30 > 70"


def test_what_a_starved_job_keeps_back_is_not_free() -> None:
    room = Room(name="gpu", size=4, used=1, reserved=3)
    assert not room.fits(1)
    assert "kept for a starved job" in room.sentence(1)


def test_a_rate_counts_what_was_started_in_its_window() -> None:
    assert Room(name="api", size=None, rate=Rate(2, 60), started=1).fits(1)
    full = Room(name="api", size=None, rate=Rate(2, 60), started=2)
    assert not full.fits(1)
    assert full.sentence(1) == "api: 2 of 2 started in 60 s"


def test_every_job_uses_the_implied_limits() -> None:
    lane = Lane(queue="q", job_type="t", cost_units=7, limits={"gpu": 2})
    uses = StandardPolicy().uses(lane)
    assert {"global": 1, "type:t": 1, "capacity": 7, "gpu": 2}.items() <= uses.items()


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("60/min", Rate(60, 60)),
        ("5/s", Rate(5, 1)),
        ("100/10m", Rate(100, 600)),
        ("1 / h", Rate(1, 3600)),
    ],
)
def test_rates_are_read(text: str, rate: Rate) -> None:
    assert limits.read_rate(text) == rate


@pytest.mark.parametrize("text", ["", "60", "0/min", "5/0s", "5/year", "-1/s", "x/s"])
def test_nonsense_is_no_rate(text: str) -> None:
    with pytest.raises(errors.InvalidRequest):
        limits.read_rate(text)
