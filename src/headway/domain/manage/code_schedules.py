"""Schedules that an app's code asks for, and what makes those that are kept match them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from headway.domain.manage.schedules import Schedule


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """When the jobs of a function are made: by cron in a timezone, or every so many seconds."""

    cron: str | None = None
    every: float | None = None
    timezone: str = "UTC"

    @classmethod
    def of(cls, schedule: Schedule) -> "Timing":
        """The timing of a schedule that is kept."""
        return cls(cron=schedule.cron, every=schedule.every, timezone=schedule.timezone)


class Change(NamedTuple):
    """A schedule that gets another timing."""

    schedule: Schedule
    timing: Timing


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What makes the schedules of one app match its code."""

    new: tuple[tuple[str, Timing], ...] = ()
    """Timings without a schedule, by job type."""
    changed: tuple[Change, ...] = ()
    retired: tuple[Schedule, ...] = ()


def changes(
    kept: Mapping[str, Sequence[Schedule]], wanted: Mapping[str, Sequence[Timing]]
) -> Changes:
    """From what is kept to what is wanted, both by job type.

    A schedule whose timing is not wanted any more takes over one that is new: so it stays paused.
    """
    new: list[tuple[str, Timing]] = []
    changed: list[Change] = []
    retired: list[Schedule] = []
    for job_type in sorted({*kept, *wanted}):
        missing = list(dict.fromkeys(wanted.get(job_type, ())))
        left = []
        for schedule in kept.get(job_type, ()):
            if (timing := Timing.of(schedule)) in missing:
                missing.remove(timing)
            else:
                left.append(schedule)
        changed += map(Change, left, missing)
        retired += left[len(missing) :]
        new += [(job_type, timing) for timing in missing[len(left) :]]
    return Changes(new=tuple(new), changed=tuple(changed), retired=tuple(retired))
