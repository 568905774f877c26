"""Time spans as people write them."""

import math

import pytest

from headway.domain.errors import InvalidDuration
from headway.domain.values import durations


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("10s", 10.0),
        ("15m", 900.0),
        ("1h30m", 5400.0),
        ("1h 30m", 5400.0),
        ("7d", 604800.0),
        ("1d2h3m4s", 93784.0),
        ("1.5h", 5400.0),
        ("0.25s", 0.25),
        (" 5m ", 300.0),
        ("0s", 0.0),
        (0, 0.0),
        (90, 90.0),
        (1.5, 1.5),
    ],
)
def test_a_time_span_is_read_as_seconds(written: str | float, seconds: float) -> None:
    assert durations.parse(written) == seconds


@pytest.mark.parametrize(
    "written",
    [
        "",
        " ",
        "90",
        "m",
        "1x",
        "5M",
        "1 h",
        "-5m",
        "1e3s",
        "1m1h",
        "1h1h",
        "1.s",
        "nan",
        "\0",
        "٣s",
        "1d" + " " * 10_000 + "x",
        "9" * 5000 + "s",
        "36501d",
        -1,
        -0.001,
        True,
        math.nan,
        math.inf,
        -math.inf,
        durations.LONGEST_S + 1,
        pytest.param(10**5000, id="an int too long to write out"),
    ],
)
def test_anything_else_is_refused(written: str | float) -> None:
    with pytest.raises(InvalidDuration):
        durations.parse(written)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0s"),
        (0.001, "0.001s"),
        (0.25, "0.25s"),
        (1.5, "1.5s"),
        (59.9999, "1m"),
        (90, "1m 30s"),
        (5400, "1h 30m"),
        (604800, "7d"),
        (90061.5, "1d 1h 1m 1.5s"),
    ],
)
def test_seconds_are_shown_in_the_largest_units(seconds: float, shown: str) -> None:
    assert durations.show(seconds) == shown


@pytest.mark.parametrize("seconds", [0.0, 0.001, 1.5, 61.0, 3599.999, 93784.0, 31536000.0])
def test_what_is_shown_can_be_read_back(seconds: float) -> None:
    assert durations.parse(durations.show(seconds)) == seconds
