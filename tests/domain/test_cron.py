"""When schedules fire, above all on the days when the clock is changed."""

import math
from datetime import UTC, datetime, timedelta

import pytest

from headway.domain.errors import InvalidCron, InvalidDuration, InvalidTimezone
from headway.domain.manage import cron

BERLIN = "Europe/Berlin"
NEW_YORK = "America/New_York"
LORD_HOWE = "Australia/Lord_Howe"  # its clock changes by half an hour


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def local_fires(expression: str, timezone: str, start: str, end: str) -> str:
    """Fires in (start, end] as local `HH:MM+offset`, walked one by one; start and end are UTC."""
    timetable = cron.parse(expression, timezone)
    fires: list[str] = []
    moment = timetable.next_after(utc(start))
    while moment is not None and moment <= utc(end):
        fires.append(moment.astimezone(cron.zone(timezone)).strftime("%H:%M%z"))
        moment = timetable.next_after(moment)
    return " ".join(fires)


@pytest.mark.parametrize(
    ("expression", "after", "fire"),
    [
        ("* * * * *", "2026-01-01T00:00", "2026-01-01T00:01"),
        ("* * * * *", "2026-01-01T00:00:59.999", "2026-01-01T00:01"),
        ("*/15 9-17 * * *", "2026-01-01T17:45", "2026-01-02T09:00"),
        ("5/20 * * * *", "2026-01-01T00:25", "2026-01-01T00:45"),
        ("5-5/2 * * * *", "2026-01-01T00:05", "2026-01-01T01:05"),
        ("0 0 1,15 * *", "2026-01-01T00:00", "2026-01-15T00:00"),
        ("0 0 * JAN-mar Mon", "2026-01-01T00:00", "2026-01-05T00:00"),
        ("0 0 * * 0", "2026-01-01T00:00", "2026-01-04T00:00"),
        ("0 0 * * 7", "2026-01-01T00:00", "2026-01-04T00:00"),
        ("0 0 * * 5-7", "2026-01-03T00:00", "2026-01-04T00:00"),
        ("0 0 29 2 *", "2026-01-01T00:00", "2028-02-29T00:00"),
        ("@hourly", "2026-01-01T00:30", "2026-01-01T01:00"),
        ("@daily", "2026-01-01T00:30", "2026-01-02T00:00"),
        ("@midnight", "2026-01-01T00:30", "2026-01-02T00:00"),
        ("@weekly", "2026-01-01T00:30", "2026-01-04T00:00"),
        ("@Monthly", "2026-01-01T00:30", "2026-02-01T00:00"),
        ("@yearly", "2026-01-01T00:30", "2027-01-01T00:00"),
        ("@annually", "2026-01-01T00:30", "2027-01-01T00:00"),
    ],
)
def test_a_cron_expression_fires_next_at(expression: str, after: str, fire: str) -> None:
    assert cron.parse(expression).next_after(utc(after)) == utc(fire)


@pytest.mark.parametrize(
    ("expression", "days"),
    [
        ("0 0 13 * 5", [2, 9, 13, 16, 23, 30]),  # neither is a star: the 13th or a Friday
        ("0 0 13 * *", [13]),
        ("0 0 * * 5", [2, 9, 16, 23, 30]),
        ("0 0 */2 * 5", [9, 23]),  # a star with a step still is a star: odd days and Fridays
        ("0 0 1-7 * */5", [2, 4]),  # the first week and (Sunday or Friday)
    ],
)
def test_days_of_month_and_week_combine_as_in_debian(expression: str, days: list[int]) -> None:
    october = cron.missed(
        cron.parse(expression), utc("2026-09-30T12:00"), utc("2026-10-31T12:00"), 31
    )
    assert [fire.day for fire in october] == days


@pytest.mark.parametrize(
    ("timezone", "expression", "start", "end", "fires"),
    [
        # 29 March 2026, Berlin: 02:00 +0100 becomes 03:00 +0200.
        (BERLIN, "30 2 * * *", "2026-03-28T12:00", "2026-03-29T12:00", "03:00+0200"),
        (BERLIN, "0 2,3 * * *", "2026-03-28T12:00", "2026-03-29T12:00", "03:00+0200"),
        (BERLIN, "*/10 2 * * *", "2026-03-28T12:00", "2026-03-29T12:00", "03:00+0200"),
        (BERLIN, "30 2,3 * * *", "2026-03-28T12:00", "2026-03-29T12:00", "03:00+0200 03:30+0200"),
        (
            BERLIN,
            "0 */2 * * *",
            "2026-03-28T22:30",
            "2026-03-29T03:00",
            "00:00+0100 03:00+0200 04:00+0200",
        ),
        # 8 March 2026, New York: 02:00 -0500 becomes 03:00 -0400.
        (NEW_YORK, "15 2 * * *", "2026-03-08T00:00", "2026-03-08T23:00", "03:00-0400"),
        # 4 October 2026, Lord Howe: 02:00 +1030 becomes 02:30 +1100.
        (LORD_HOWE, "15 2 * * *", "2026-10-03T12:00", "2026-10-03T20:00", "02:30+1100"),
        (LORD_HOWE, "45 2 * * *", "2026-10-03T12:00", "2026-10-03T20:00", "02:45+1100"),
    ],
)
def test_a_wall_time_that_does_not_exist_fires_once_at_the_next_valid_minute(
    timezone: str, expression: str, start: str, end: str, fires: str
) -> None:
    assert local_fires(expression, timezone, start, end) == fires


@pytest.mark.parametrize(
    ("timezone", "expression", "start", "end", "fires"),
    [
        # 25 October 2026, Berlin: 03:00 +0200 becomes 02:00 +0100.
        (BERLIN, "30 2 * * *", "2026-10-24T12:00", "2026-10-25T12:00", "02:30+0200"),
        (BERLIN, "30 2 * * *", "2026-10-25T01:10", "2026-10-25T12:00", ""),
        (BERLIN, "*/30 2 * * *", "2026-10-24T12:00", "2026-10-25T12:00", "02:00+0200 02:30+0200"),
        # 1 November 2026, New York: 02:00 -0400 becomes 01:00 -0500.
        (NEW_YORK, "15 1 * * *", "2026-11-01T00:00", "2026-11-01T23:00", "01:15-0400"),
        # 5 April 2026, Lord Howe: 02:00 +1100 becomes 01:30 +1030.
        (LORD_HOWE, "45 1 * * *", "2026-04-04T12:00", "2026-04-04T20:00", "01:45+1100"),
        (LORD_HOWE, "15 1 * * *", "2026-04-04T12:00", "2026-04-04T20:00", "01:15+1100"),
        (LORD_HOWE, "0 */2 * * *", "2026-04-04T14:00", "2026-04-04T16:00", "02:00+1030"),
    ],
)
def test_a_wall_time_that_happens_twice_fires_once(
    timezone: str, expression: str, start: str, end: str, fires: str
) -> None:
    assert local_fires(expression, timezone, start, end) == fires


@pytest.mark.parametrize(
    ("timezone", "expression", "start", "end", "fires"),
    [
        (
            BERLIN,
            "*/30 * * * *",
            "2026-10-24T23:59",
            "2026-10-25T02:00",
            "02:00+0200 02:30+0200 02:00+0100 02:30+0100 03:00+0100",
        ),
        (BERLIN, "30 * * * *", "2026-03-28T23:59", "2026-03-29T02:00", "01:30+0100 03:30+0200"),
        (NEW_YORK, "@hourly", "2026-11-01T04:59", "2026-11-01T06:00", "01:00-0400 01:00-0500"),
        (
            LORD_HOWE,
            "*/15 * * * *",
            "2026-04-04T14:29",
            "2026-04-04T15:30",
            "01:30+1100 01:45+1100 01:30+1030 01:45+1030 02:00+1030",
        ),
    ],
)
def test_a_schedule_for_every_hour_follows_elapsed_time(
    timezone: str, expression: str, start: str, end: str, fires: str
) -> None:
    assert local_fires(expression, timezone, start, end) == fires


@pytest.mark.parametrize(
    "day", ["2026-03-29", "2026-10-25", "2026-11-01", "2026-04-05", "2026-10-04"]
)
@pytest.mark.parametrize("timezone", [BERLIN, NEW_YORK, LORD_HOWE])
@pytest.mark.parametrize(
    "expression", ["*/20 * * * *", "*/20 1-3 * * *", "45 1,2 * * *", "0 */2 * * *"]
)
def test_walking_back_finds_the_same_fires_as_walking_on(
    expression: str, timezone: str, day: str
) -> None:
    timetable = cron.parse(expression, timezone)
    start, end = utc(day) - timedelta(hours=18), utc(day) + timedelta(hours=18)
    walked: list[datetime] = []
    moment = timetable.next_after(start)
    while moment is not None and moment <= end:
        walked.append(moment)
        moment = timetable.next_after(moment)
    assert cron.missed(timetable, start, end, 1000) == walked


@pytest.mark.parametrize("step", range(24))
def test_walking_back_works_from_any_moment_of_the_doubled_hours(step: int) -> None:
    end = utc("2026-10-24T22:07") + timedelta(minutes=10 * step)
    timetable = cron.parse("*/10 0-22 * * *", BERLIN)
    (newest,) = cron.missed(timetable, utc("2026-10-01"), end, 1)
    following = timetable.next_after(newest)
    assert newest <= end
    assert following is not None
    assert following > end


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("61 * * * *", "minute: 61 is not between 0 and 59"),
        ("9999999999 * * * *", "minute: 9999999999 is not between 0 and 59"),
        ("* 24 * * *", "hour: 24 is not between 0 and 23"),
        ("* * 0 * *", "day of month: 0 is not between 1 and 31"),
        ("* * * 13 *", "month: 13 is not between 1 and 12"),
        ("* * * * 8", "day of week: 8 is not between 0 and 7"),
        ("1,x * * * *", "minute: 'x' is not a number"),
        ("1, * * * *", "minute: '' is not a number"),
        ("\0 * * * *", r"minute: '\\x00' is not a number"),
        ("² * * * *", "minute: '²' is not a number"),
        ("* * * FOO *", "month: 'FOO' is not a number or a name such as JAN"),
        ("* * L * *", "day of month: 'L' is not a number"),
        ("* * * * MON#2", "day of week: 'MON#2' is not a number or a name such as SUN"),
        ("*/0 * * * *", "minute: the step '0' is not a number above 0"),
        ("*/x * * * *", "minute: the step 'x' is not a number above 0"),
        ("5-1 * * * *", "minute: 5-1 runs backwards"),
        ("0 0 30 2 *", "day of month: 30 never comes in month 2"),
        ("0 0 31 feb,apr *", "day of month: 31 never comes in month 2,4"),
        ("", "it has 0 fields instead of 5"),
        ("* * * *", "it has 4 fields instead of 5"),
        ("0 * * * * *", "it has 6 fields instead of 5"),
        ("@reboot", "the names are @hourly, @daily"),
        ("9" * 5000 + " * * * *", "it is longer than 1000 characters"),
    ],
)
def test_a_bad_expression_says_what_is_wrong_and_where(expression: str, problem: str) -> None:
    with pytest.raises(InvalidCron, match=problem):
        cron.parse(expression)


@pytest.mark.parametrize("name", ["", "Nope/City", "America", "../UTC", "a\0b", "x" * 5000])
def test_an_unknown_timezone_is_refused(name: str) -> None:
    with pytest.raises(InvalidTimezone):
        cron.parse("@daily", name)


@pytest.mark.parametrize(
    ("after", "fire"),
    [
        ("2026-01-01T00:00", "2026-01-01T00:10"),
        ("2026-01-01T00:09:59.999", "2026-01-01T00:10"),
        ("2026-01-01T00:10", "2026-01-01T00:20"),
        ("2031-06-01T12:34:56", "2031-06-01T12:40"),
        ("2025-12-31T12:00", "2026-01-01T00:00"),
    ],
)
def test_an_interval_fires_at_whole_periods_from_its_anchor(after: str, fire: str) -> None:
    assert cron.every(600, utc("2026-01-01")).next_after(utc(after)) == utc(fire)


@pytest.mark.parametrize("seconds", [0, 0.0001, -1, math.nan, math.inf, 1e18])
def test_an_interval_of_no_length_or_of_no_end_is_refused(seconds: float) -> None:
    with pytest.raises(InvalidDuration):
        cron.every(seconds, utc("2026-01-01"))


def test_a_single_moment_fires_once() -> None:
    timetable = cron.at(utc("2026-01-01T10:00"))
    assert timetable.next_after(utc("2026-01-01T09:00")) == utc("2026-01-01T10:00")
    assert timetable.next_after(utc("2026-01-01T10:00")) is None


def test_fires_are_whole_milliseconds_so_that_a_stored_one_equals_itself() -> None:
    fine = utc("2026-01-01T00:00:00.123456")
    assert cron.at(fine).moment == utc("2026-01-01T00:00:00.123")
    assert cron.every(1.0004, fine).next_after(fine) == utc("2026-01-01T00:00:01.123")


@pytest.mark.parametrize(
    "timetable",
    [cron.parse("@hourly", BERLIN), cron.parse("0 5 1 1 *"), cron.every(60, utc("2026-01-01"))],
)
def test_at_the_end_of_the_calendar_nothing_is_next(timetable: cron.Timetable) -> None:
    assert timetable.next_after(datetime.max.replace(tzinfo=UTC)) is None


@pytest.mark.parametrize(
    ("timetable", "limit", "fires"),
    [
        (cron.parse("0 12 * * *"), 2, ["2026-01-09T12:00", "2026-01-10T12:00"]),
        (cron.parse("* * * * *"), 2, ["2026-01-10T11:59", "2026-01-10T12:00"]),
        (cron.parse("0 12 1 * *"), 2, ["2025-12-01T12:00", "2026-01-01T12:00"]),
        (cron.parse("0 0 29 2 *"), 9, ["1996-02-29", "2000-02-29", "2004-02-29", "2008-02-29",
                                       "2012-02-29", "2016-02-29", "2020-02-29", "2024-02-29"]),
        (cron.every(0.5, utc("1999-01-01")), 2, ["2026-01-10T11:59:59.500", "2026-01-10T12:00"]),
        (cron.every(86400, utc("2026-01-09")), 9, ["2026-01-09", "2026-01-10"]),
        (cron.every(86400, utc("2026-01-11")), 9, []),
        (cron.at(utc("2026-01-10T12:00")), 9, ["2026-01-10T12:00"]),
        (cron.at(utc("2026-01-10T12:01")), 9, []),
        (cron.at(utc("1995-01-01")), 9, []),
        (cron.parse("* * * * *"), 0, []),
    ],
)  # fmt: skip
def test_only_the_newest_missed_fires_are_kept_oldest_first(
    timetable: cron.Timetable, limit: int, fires: list[str]
) -> None:
    missed = cron.missed(timetable, utc("1995-01-01"), utc("2026-01-10T12:00"), limit)
    assert missed == [utc(fire) for fire in fires]


def test_a_preview_tells_local_times_and_weekdays() -> None:
    timetable = cron.parse("30 2 * * *", BERLIN)
    fires = cron.preview(timetable, utc("2026-03-28T00:00"), 3, BERLIN)
    assert [(fire.at, fire.local.isoformat(), fire.weekday) for fire in fires] == [
        (utc("2026-03-28T01:30"), "2026-03-28T02:30:00+01:00", "Saturday"),
        (utc("2026-03-29T01:00"), "2026-03-29T03:00:00+02:00", "Sunday"),
        (utc("2026-03-30T00:30"), "2026-03-30T02:30:00+02:00", "Monday"),
    ]


def test_a_preview_ends_where_the_fires_end() -> None:
    timetable = cron.at(utc("2026-01-01T10:00"))
    assert len(cron.preview(timetable, utc("2026-01-01"), 10, "UTC")) == 1
    assert cron.preview(timetable, utc("2026-01-01T10:00"), 10, "UTC") == []
