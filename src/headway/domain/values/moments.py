"""Moments as text and as the integers that are stored."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec

Moment = Annotated[datetime, msgspec.Meta(tz=True)]
"""A moment in a request: with an offset, so that it cannot be misread."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def show(moment: datetime) -> str:
    """RFC 3339 with Z; milliseconds only where there are some."""
    precision = "milliseconds" if moment.microsecond >= 1000 else "seconds"
    return moment.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")


def to_millis(moment: datetime) -> int:
    """Milliseconds since 1970, as they are stored."""
    return round((moment - _EPOCH) / timedelta(milliseconds=1))


def from_millis(millis: int) -> datetime:
    """The moment that was stored."""
    return _EPOCH + timedelta(milliseconds=millis)


def maybe_to_millis(moment: datetime | None) -> int | None:
    """Like `to_millis`, for a moment that may be missing."""
    return None if moment is None else to_millis(moment)


def maybe_from_millis(millis: int | None) -> datetime | None:
    """Like `from_millis`, for a moment that may be missing."""
    return None if millis is None else from_millis(millis)


def cut(moment: datetime) -> datetime:
    """The moment as it comes back from storage: whole milliseconds."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
