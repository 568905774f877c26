"""Time spans as people write them."""

import re

from headway.domain.errors import InvalidDuration

LONGEST_S = 100 * 365 * 86400.0

_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_SPAN = re.compile(" ?".join(rf"(?:(\d+(?:\.\d+)?){unit})?" for unit in _UNITS), re.ASCII)


def parse(value: str | float) -> float:
    """Seconds of `15m`, `1h30m`, `10s`, `7d`, or of a number that is seconds already."""
    seconds = _read(value) if isinstance(value, str) else value
    # Written so that NaN, which compares with nothing, is refused too.
    if isinstance(value, bool) or not 0 <= seconds <= LONGEST_S:
        raise InvalidDuration(_shown(value))
    return float(seconds)


def show(seconds: float) -> str:
    """`1h 30m`, `1.5s`: what `parse` reads back, to the millisecond."""
    rest = round(seconds * 1000)
    parts = []
    for unit, size in _UNITS.items():
        count, rest = divmod(rest, size * 1000)
        if unit == "s" and rest:
            parts.append(f"{count}.{rest:03}".rstrip("0") + unit)
        elif count:
            parts.append(f"{count}{unit}")
    return " ".join(parts) or "0s"


def _read(text: str) -> float:
    found = _SPAN.fullmatch(text.strip())
    if not found or not any(found.groups()):
        raise InvalidDuration(_shown(text))
    return sum(
        float(count) * size
        for count, size in zip(found.groups(), _UNITS.values(), strict=True)
        if count
    )


def _shown(value: str | float) -> str:
    # Python refuses to write out an int of more than 4300 digits.
    if isinstance(value, int) and value.bit_length() > 64:
        return "a number of more than 64 bits"
    text = str(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
