"""When next: cron expressions, fixed intervals and single moments, all asked the same way."""

import heapq
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

import msgspec
from cronsim import CronSim, CronSimError

from headway.domain.errors import InvalidCron, InvalidDuration, InvalidTimezone
from headway.domain.values import durations

SHORTCUTS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_LONGEST_EXPRESSION = 1000
_MINUTE = timedelta(minutes=1)


class Cron(msgspec.Struct, frozen=True, kw_only=True):
    """Fires at the wall times of five fields in one timezone; made by `parse`."""

    fields: str
    timezone: str

    def next_after(self, moment: datetime) -> datetime | None:
        """The first fire later than the moment."""
        try:
            return next(_cron_fires(self, moment), None)
        except OverflowError:  # past the year 9999
            return None


class Every(msgspec.Struct, frozen=True, kw_only=True):
    """Fires at the anchor and at each whole period after it; made by `every`."""

    period: timedelta
    anchor: datetime

    def next_after(self, moment: datetime) -> datetime | None:
        """The first fire later than the moment."""
        try:
            return self.anchor + max(0, (moment - self.anchor) // self.period + 1) * self.period
        except OverflowError:  # past the year 9999
            return None


class At(msgspec.Struct, frozen=True, kw_only=True):
    """Fires once; made by `at`."""

    moment: datetime

    def next_after(self, moment: datetime) -> datetime | None:
        """The one fire, while it is still to come."""
        return self.moment if self.moment > moment else None


Timetable = Cron | Every | At


class Fire(msgspec.Struct, frozen=True, kw_only=True):
    """One fire as a person reads it."""

    at: datetime
    local: datetime
    weekday: str


def parse(expression: str, timezone: str = "UTC") -> Cron:
    """Read five cron fields or a name such as `@daily`."""
    zone(timezone)
    fields = _read_fields(expression)
    try:
        CronSim(fields, datetime(2000, 1, 1))
    except CronSimError:
        # Each field was checked before, so only the date itself can be wrong.
        _, _, day, month, _ = fields.split()
        problem = f"day of month: {day} never comes in month {month}"
        raise InvalidCron(expression, problem) from None
    return Cron(fields=fields, timezone=timezone)


def every(seconds: float, anchor: datetime) -> Every:
    """Fire each `seconds`, counted from the anchor."""
    period = timedelta(milliseconds=round(durations.parse(seconds) * 1000))
    if not period:
        raise InvalidDuration(str(seconds))
    return Every(period=period, anchor=_whole_millisecond(anchor))


def at(moment: datetime) -> At:
    """Fire once."""
    return At(moment=_whole_millisecond(moment))


def zone(name: str) -> ZoneInfo:
    """The IANA timezone of this name."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown, not a name at all, or a folder of names
        raise InvalidTimezone(name) from None


def missed(timetable: Timetable, after: datetime, until: datetime, limit: int) -> list[datetime]:
    """The newest `limit` fires later than `after` and not later than `until`, oldest first."""
    late = takewhile(lambda fire: fire > after, _backwards(timetable, until))
    return list(islice(late, limit))[::-1]


def preview(timetable: Timetable, after: datetime, n: int, timezone: str) -> list[Fire]:
    """The next `n` fires, or all that are left, with the local time of the timezone."""
    where = zone(timezone)
    fires: list[Fire] = []
    moment = timetable.next_after(after)
    while moment is not None and len(fires) < n:
        local = moment.astimezone(where)
        fires.append(Fire(at=moment, local=local, weekday=WEEKDAYS[local.weekday()]))
        moment = timetable.next_after(moment)
    return fires


def _backwards(timetable: Timetable, until: datetime) -> Iterator[datetime]:
    """Fires from `until` on into the past."""
    match timetable:
        case Cron():
            yield from _cron_fires(timetable, until, reverse=True)
        case Every(period=period, anchor=anchor):
            for count in range((until - anchor) // period, -1, -1):
                yield anchor + count * period
        case At(moment=moment):
            if moment <= until:
                yield moment


def _whole_millisecond(moment: datetime) -> datetime:
    # Stores keep milliseconds: a finer fire would lie after its own stored time, and fire again.
    return moment.astimezone(UTC).replace(microsecond=moment.microsecond // 1000 * 1000)


# Wall time and real time.
#
# cronsim walks naive wall times only; what the clock change does to them is decided here. A
# schedule that leaves hours out names wall times: one that does not exist fires at the next valid
# minute, one that happens twice fires the first time. A schedule for every hour (`*/5 * * * *`)
# means elapsed time: it goes on through the doubled hour and has nothing to make up for after a
# skipped one. Debian's cron, and cronsim with it, takes any star in the minute or the hour as
# elapsed time, which would lose `*/10 2 * * *` and `0 */2 * * *` in spring.


def _cron_fires(cron: Cron, moment: datetime, *, reverse: bool = False) -> Iterator[datetime]:
    """Fires later than the moment in order; in reverse, from the moment on into the past."""
    where = ZoneInfo(cron.timezone)
    start = _first_wall(moment.astimezone(where), reverse)
    walls = CronSim(cron.fields, start, reverse)
    if len(walls.hours) == 24:
        again = CronSim(cron.fields, start, reverse)
        passes = (_one_pass(walls, where, 0), _one_pass(again, where, 1))
        fires: Iterator[datetime] = iter(heapq.merge(*passes, reverse=reverse))
    else:
        fires = (_once(wall, where) for wall in walls)
    last = None
    for fire in fires:
        if fire != last and (fire <= moment if reverse else fire > moment):
            last = fire
            yield fire


def _first_wall(local: datetime, reverse: bool) -> datetime:
    """Where to start so that a doubled hour is walked whole, whichever time it is seen."""
    early, late = local.replace(fold=0), local.replace(fold=1)
    doubled = late.astimezone(UTC) - early.astimezone(UTC)
    wall = local.replace(tzinfo=None, fold=0)
    return wall + doubled + timedelta(seconds=1) if reverse else wall - doubled


def _one_pass(walls: CronSim, where: ZoneInfo, fold: int) -> Iterator[datetime]:
    """When the clock shows the wall times, the first (0) or the second (1) time that it does."""
    for wall in walls:
        moment = wall.replace(tzinfo=where, fold=fold).astimezone(UTC)
        if _shows(moment, wall, where):
            yield moment


def _once(wall: datetime, where: ZoneInfo) -> datetime:
    """When the clock first shows the wall time or, if it never does, the next minute that is."""
    moment = wall.replace(tzinfo=where).astimezone(UTC)
    while not _shows(moment, wall, where):
        wall += _MINUTE
        moment = wall.replace(tzinfo=where).astimezone(UTC)
    return moment


def _shows(moment: datetime, wall: datetime, where: ZoneInfo) -> bool:
    return moment.astimezone(where).replace(tzinfo=None) == wall


# Reading the fields: cronsim only says «Bad minute», and reads more than standard cron.


class _Field(msgspec.Struct, frozen=True):
    name: str
    low: int
    high: int
    words: tuple[str, ...] = ()


_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of week", 0, 7, _DAYS),
)


def _read_fields(expression: str) -> str:
    """The five fields with numbers for names."""
    if len(expression) > _LONGEST_EXPRESSION:
        problem = f"it is longer than {_LONGEST_EXPRESSION} characters"
        raise InvalidCron(f"{expression[:40]}…", problem)
    text = expression.strip()
    if text.startswith("@"):
        if text.lower() not in SHORTCUTS:
            raise InvalidCron(expression, f"the names are {', '.join(SHORTCUTS)}")
        return SHORTCUTS[text.lower()]
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise InvalidCron(expression, f"it has {len(parts)} fields instead of 5")
    try:
        return " ".join(map(_read_field, _FIELDS, parts))
    except _Problem as problem:
        raise InvalidCron(expression, str(problem)) from None


class _Problem(Exception):
    def __init__(self, field: _Field, problem: str) -> None:
        super().__init__(f"{field.name}: {problem}")


def _read_field(field: _Field, text: str) -> str:
    return ",".join(_read_term(field, term) for term in text.split(","))


def _read_term(field: _Field, term: str) -> str:
    """`*`, `5`, `1-5`, each with `/step` or without."""
    span, slash, step = term.partition("/")
    if slash and (not _is_number(step) or int(step) == 0):
        raise _Problem(field, f"the step {step!r} is not a number above 0")
    if span == "*":
        return term
    low, high = _read_span(field, span, to_the_end=bool(slash))
    # cronsim would read `5-5/2` as `5/2`, which goes on to the end of the field.
    return f"{low}-{high}{slash}{step}" if low < high else str(low)


def _read_span(field: _Field, span: str, *, to_the_end: bool) -> tuple[int, int]:
    first, dash, last = span.partition("-")
    low = _read_value(field, first)
    if not dash:
        return low, field.high if to_the_end else low
    high = _read_value(field, last)
    if high < low:
        raise _Problem(field, f"{span} runs backwards")
    return low, high


def _read_value(field: _Field, text: str) -> int:
    if text.upper() in field.words:
        return field.low + field.words.index(text.upper())
    if not _is_number(text):
        names = f" or a name such as {field.words[0]}" if field.words else ""
        raise _Problem(field, f"{text!r} is not a number{names}")
    if not field.low <= int(text) <= field.high:
        raise _Problem(field, f"{int(text)} is not between {field.low} and {field.high}")
    return int(text)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
