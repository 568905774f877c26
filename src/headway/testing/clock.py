"""A clock that only moves when a test moves it."""

from datetime import UTC, datetime, timedelta

from headway.domain.values import durations


class MovableClock:
    """Time in the hands of a test."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = start

    def now(self) -> datetime:
        """The moment it shows."""
        return self._now

    def advance(self, span: float | str) -> datetime:
        """Move it on by seconds, or by a span such as "10m"."""
        self._now += timedelta(seconds=durations.parse(span))
        return self._now

    def set(self, moment: datetime) -> None:
        """Move it to a moment, forward or back."""
        self._now = moment
