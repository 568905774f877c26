"""What makes the schedules that are kept match those in the code."""

from datetime import UTC, datetime

import pytest

from headway.domain.manage.code_schedules import Change, Changes, Timing, changes
from headway.domain.manage.schedules import Schedule

NIGHT, NOON, OFTEN = Timing(cron="0 3 * * *"), Timing(cron="0 12 * * *"), Timing(every=900.0)


def kept(timing: Timing, name: str = "1") -> Schedule:
    return Schedule(
        schedule_id=name,
        template_id="t",
        cron=timing.cron,
        every=timing.every,
        timezone=timing.timezone,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("before", "wanted", "found"),
    [
        ([], [], Changes()),
        ([], [NIGHT], Changes(new=(("a", NIGHT),))),
        ([], [NIGHT, NIGHT], Changes(new=(("a", NIGHT),))),
        ([NIGHT], [NIGHT], Changes()),
        ([NIGHT, NOON], [NOON, NIGHT], Changes()),
        ([NIGHT], [], Changes(retired=(kept(NIGHT),))),
        ([NIGHT], [NOON], Changes(changed=(Change(kept(NIGHT), NOON),))),
        ([NIGHT], [NIGHT, OFTEN], Changes(new=(("a", OFTEN),))),
        ([NIGHT, NOON], [NOON], Changes(retired=(kept(NIGHT),))),
        ([NIGHT, NOON], [NOON, OFTEN], Changes(changed=(Change(kept(NIGHT), OFTEN),))),
        ([NIGHT, NIGHT], [NIGHT], Changes(retired=(kept(NIGHT),))),
    ],
)
def test_schedules_follow_the_code_with_as_few_changes_as_possible(
    before: list[Timing], wanted: list[Timing], found: Changes
) -> None:
    assert changes({"a": [kept(one) for one in before]}, {"a": wanted}) == found


def test_the_schedules_of_a_function_that_is_gone_are_retired() -> None:
    found = changes({"a": [kept(NIGHT)]}, {"b": [NIGHT]})
    assert found == Changes(new=(("b", NIGHT),), retired=(kept(NIGHT),))
