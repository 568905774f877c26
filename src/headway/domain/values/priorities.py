"""Priorities: higher goes first; four of them have names."""

from headway.domain import errors

NAMES = {"LOW": -10, "NORMAL": 0, "HIGH": 10, "URGENT": 20}
LOWEST, HIGHEST = -1000, 1000
BEFORE_ALL = (HIGHEST + 1, 0, 0)
"""Priority, position and number of a place before every other: no priority is that high."""


def read(value: int | str, field: str = "priority") -> int:
    """A priority given as a number or by name."""
    if isinstance(value, str):
        if value.upper() in NAMES:
            return NAMES[value.upper()]
        if not value.lstrip("-").isdecimal() or len(value) > 6:
            known = ", ".join(NAMES)
            raise errors.InvalidRequest(field, f"{value!r} is neither a number nor one of {known}")
        value = int(value)
    if not LOWEST <= value <= HIGHEST:
        raise errors.InvalidRequest(field, f"{value} is not between {LOWEST} and {HIGHEST}")
    return value
